"""Which plane is broken, from who answers and who hears whom."""

from __future__ import annotations

from collections.abc import Mapping

DATA, CONTROL, HOST, PATH = "data plane", "control plane", "host", "data path"
Fault = tuple[str, str]  # plane, and what of it: a host's number, or `a>b` where b does not hear a


def faults(reports: Mapping[int, Mapping[int, float] | None], silence_s: float) -> list[Fault]:
    """Faults of a set of hosts. `reports`: of every host, how long ago (s) it heard each other over the data plane; None where
    the host itself did not answer over the control plane. A peer not heard for `silence_s` counts as unheard.

    A host that does not answer but is heard has lost its control plane; one that neither answers nor is heard is down. One
    that answers, hears nobody that is there and is heard by nobody has lost its data plane. What is left over are paths.
    """
    hears = {
        host: {peer for peer, age in heard.items() if age < silence_s}
        for host, heard in reports.items()
        if heard is not None
    }
    silent = [host for host, heard in reports.items() if heard is None]
    heard_of = {host: {other for other, peers in hears.items() if host in peers} for host in reports}
    down = {host for host in silent if not heard_of[host]}
    found: list[Fault] = [(HOST if host in down else CONTROL, str(host)) for host in silent]
    there = [host for host in reports if host not in down]
    alone = {
        host
        for host in hears
        if len(there) > 1 and not hears[host] & set(there) and not heard_of[host] - {host}
    }
    if len(alone) == len(there):  # everybody: the network between them, told of each
        return sorted([*found, *((DATA, str(host)) for host in alone)])
    found += [(DATA, str(host)) for host in alone]
    for host in sorted(set(hears) - alone):
        found += [
            (PATH, f"{peer}>{host}")
            for peer in there
            if peer != host and peer not in alone and peer not in hears[host]
        ]
    return sorted(found)
