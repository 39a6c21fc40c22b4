"""Writes what ibnetdiscover would print of a fabric given as a list of cables: the tests' own writer."""

from __future__ import annotations

from collections import defaultdict


def ibnetdiscover(cables, names=None, speeds=None, leave_out=()):
    """Text of `cables`: pairs of ((device, port), (device, port)); devices that begin with `h` are hosts' cards.

    `names`: device → description; `speeds`: cable's index → such as 4xEDR (else 4xNDR).
    """
    names, speeds = names or {}, speeds or {}
    ends = defaultdict(list)
    for index, (one, two) in enumerate(cables):
        for (device, port), far in ((one, two), (two, one)):
            ends[device].append((port, far, speeds.get(index, "4xNDR")))
    ids = {
        device: ("H-" if device[0] == "h" else "S-") + f"{n + 0xA00:016x}"
        for n, device in enumerate(sorted(ends))
    }
    lines = [
        "#",
        "# Topology file: generated on Mon Jan  5 10:00:00 2026",
        "#",
        "# Initiated from node 1 port 1",
    ]
    for device in sorted(ends, key=lambda name: (name[0] == "h", name)):
        if device in leave_out:
            continue
        host = device[0] == "h"
        count = 1 if host else 64
        lines += ["", "vendid=0x2c9", "devid=0xd2f2", f"sysimgguid=0x{ids[device][2:]}"]
        lines += [
            f"{'caguid' if host else 'switchguid'}=0x{ids[device][2:]}{'' if host else '(' + ids[device][2:] + ')'}"
        ]
        described = f'"{names.get(device, device)}"' + ("" if host else " base port 0 lid 3 lmc 0")
        lines += [f'{"Ca" if host else "Switch"}\t{count} "{ids[device]}"\t\t# {described}']
        for port, (far, far_port), speed in sorted(ends[device]):
            own, other = (f"({ids[name][2:]})" if name[0] == "h" else "" for name in (device, far))
            lines.append(
                f'[{port}]{own} \t"{ids[far]}"[{far_port}]{other} \t\t# "{names.get(far, far)}" lid 1 {speed}'
            )
    return "\n".join(lines) + "\n"
