"""A tree given to a real slurmctld, and the topology that it then reports, node by node."""

from __future__ import annotations

import getpass
import re
import secrets
import socket
from pathlib import Path

from infiniband import Clock, Report
from software import Background, Failure, run

from argosy.fabric import Design, build, exports
from argosy.fabric.exports.hostlist import compress, expand

SECONDS = 60.0
_SWITCH = re.compile(r"SwitchName=(\S+) Level=(\d+) LinkSpeed=\d+(?: Nodes=(\S+))?(?: Switches=(\S+))?")
CONFIG = """ClusterName=argosy
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
SlurmctldPort={port}
SlurmdPort={node_port}
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
ProctrackType=proctrack/linuxproc
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
TopologyPlugin=topology/tree
NodeName={nodes} NodeAddr=127.0.0.1 CPUs=8 State=FUTURE
PartitionName=all Nodes={nodes} Default=YES State=UP
"""


CASES = {
    "Slurm: rail-optimised, 1,024 hosts of 8 cards": Design("rail-optimized", 1024, 8, 64, 400e9),
    "Slurm: fat tree, 1,024 hosts, three tiers": Design("fat-tree", 1024, 1, 16, 400e9),
}


def check(name: str, folder: Path) -> Report:
    """Export a fabric of CASES as a tree, start slurmctld with it, and read it back."""
    report, clock = Report(name), Clock()
    topology = build(CASES[name])
    exports.write(topology, "slurm-tree", folder / "topology.conf")
    wanted = switches_of((folder / "topology.conf").read_text(encoding="utf-8"))
    nodes = sorted(node for own, _ in wanted.values() for node in own)
    (folder / "state").mkdir()
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(1024))
    key.chmod(0o400)
    (folder / "slurm.conf").write_text(
        CONFIG.format(
            host=socket.gethostname(),
            user=getpass.getuser(),
            folder=folder,
            port=free_port(),
            node_port=free_port(),
            nodes=compress(nodes),
        ),
        encoding="utf-8",
    )
    munged = ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={folder}/munge.socket"]
    munged += [f"--{name}-file={folder}/munge.{name}" for name in ("pid", "log", "seed")]
    environment = {"SLURM_CONF": str(folder / "slurm.conf")}
    with Background(folder, munged) as munge:
        munge.wait_for((folder / "munge.socket").exists, SECONDS)
        with Background(
            folder, ["slurmctld", "-D", "-f", str(folder / "slurm.conf")], environment
        ) as controller:
            text = ""

            def answers() -> bool:
                nonlocal text
                status, text = run(
                    "scontrol", "show", "topology", folder=folder, seconds=SECONDS, environment=environment
                )
                return status == 0 and "SwitchName=" in text

            controller.wait_for(answers, SECONDS)
    found = read_back(text)
    report.seconds["slurm"] = clock.lap()
    report.facts.append(
        f"slurmctld took {len(nodes):,} nodes on {len(wanted)} switches, and reports the same"
    )
    report.expect(
        set(found) == set(wanted), f"slurmctld knows {len(found)} switches, the file has {len(wanted)}"
    )
    for name, (own, below) in wanted.items():
        reach = set(own) or {node for child in below for node in reached(wanted, child)}
        if name in found and set(found[name]) != reach:
            report.expect(False, f"slurmctld gives {name} {len(found[name])} nodes, the file {len(reach)}")
    log = (folder / "slurmctld.log").read_text(encoding="utf-8", errors="replace")
    complaints = [
        line
        for line in log.splitlines()
        if "topology" in line.lower() and ("error" in line or "warning" in line)
    ]
    report.expect(not complaints, f"slurmctld complains: {complaints[:2]}")
    return report


def switches_of(text: str) -> dict[str, tuple[list[str], list[str]]]:
    """Nodes and child switches of every switch of a topology.conf."""
    found = {}
    for line in text.splitlines():
        if line.startswith("SwitchName="):
            words = dict(word.split("=", 1) for word in line.split())
            found[words["SwitchName"]] = (expand(words.get("Nodes", "")), expand(words.get("Switches", "")))
    return found


def reached(switches: dict[str, tuple[list[str], list[str]]], name: str) -> list[str]:
    """All nodes below a switch."""
    own, below = switches[name]
    return own + [node for child in below for node in reached(switches, child)]


def read_back(text: str) -> dict[str, list[str]]:
    """Nodes below every switch, as `scontrol show topology` tells them."""
    found = {name: expand(nodes or "") for name, _level, nodes, _below in _SWITCH.findall(text)}
    if not found:
        raise Failure(f"scontrol show topology: not understood: {text[:300]}")
    return found


def free_port() -> int:
    """A TCP port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
