"""Files that were damaged at random: every reader gives an answer or one message, never a traceback, never forever."""

from __future__ import annotations

import random

import pytest
from ibnet import ibnetdiscover
from test_machine import MATRIX, XML
from test_nccl_tests import as_json, table

from argosy.fabric import Design, build
from argosy.fabric.exports import lint, write
from argosy.fabric.imports import ReadError, read_cables, read_ibnetdiscover
from argosy.fabric.imports.machine import read_nccl_topology, read_nvidia_smi
from argosy.fabric.imports.nccl_tests import read_nccl_tests

DAMAGES = 200


def cable_list(folder) -> str:
    write(build(Design("fat-tree", 8, 1, 8, 400e9)), "cables-csv", folder / "x.csv")
    return (folder / "x.csv").read_text(encoding="utf-8")


FABRIC = [
    (("h1", 1), ("leaf1", 1)),
    (("h2", 1), ("leaf1", 2)),
    (("leaf1", 3), ("spine", 1)),
    (("leaf2", 3), ("spine", 2)),
]
READERS = {
    "ibnetdiscover": (read_ibnetdiscover, lambda folder: ibnetdiscover(FABRIC)),
    "ibnetdiscover, lenient": (
        lambda path: read_ibnetdiscover(path, lenient=True),
        lambda folder: ibnetdiscover(FABRIC),
    ),
    "cable list": (read_cables, cable_list),
    "nvidia-smi": (read_nvidia_smi, lambda folder: MATRIX),
    "NCCL's XML": (read_nccl_topology, lambda folder: XML),
    "nccl-tests": (read_nccl_tests, lambda folder: table(nodes=1)),
    "nccl-tests -J": (read_nccl_tests, lambda folder: as_json(table())),
}


def damaged(text: str, draw: random.Random) -> bytes:
    """The text with a few cuts, copies, swaps and strange bytes."""
    raw = bytearray(text.encode())
    for _ in range(draw.randint(1, 4)):
        if len(raw) < 4:
            break
        a, b = sorted(draw.sample(range(len(raw)), 2))
        kind = draw.randrange(6)
        if kind == 0:
            del raw[a : min(b, a + 40)]
        elif kind == 1:
            raw[a:a] = raw[a : min(b, a + 200)]
        elif kind == 2:
            del raw[a:]
        elif kind == 3:
            raw[a : a + 1] = bytes(draw.randrange(256) for _ in range(3))
        elif kind == 4:
            raw[a:a] = draw.choice(
                [b"-1", b"1e999", b"nan", b"99999999999999999999", b"\x00", b'"', b"<", b"\n"]
            )
        else:
            raw[a], raw[b] = raw[b], raw[a]
    return bytes(raw)


@pytest.mark.parametrize("name", READERS)
def test_damaged_files(name, tmp_path):
    reader, make = READERS[name]
    text, draw = make(tmp_path), random.Random(name)
    refused = 0
    for _ in range(DAMAGES):
        path = tmp_path / "file"
        path.write_bytes(damaged(text, draw))
        try:
            reader(path)
        except ReadError as error:
            refused += 1
            assert str(path) in str(error) and "\n" not in str(error)
    assert 0 < refused < DAMAGES


def test_damaged_topology_conf():
    draw = random.Random(1)
    good = "SwitchName=a Nodes=n[1-4]\nSwitchName=b Nodes=n[5-8]\nSwitchName=c Switches=a,b\n"
    assert lint(good.splitlines()) == []
    for _ in range(DAMAGES):
        text = damaged(good, draw).decode(errors="replace")
        assert all(line >= 0 and problem for line, problem in lint(text.splitlines()))
