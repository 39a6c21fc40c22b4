"""A node's inside: nvidia-smi's matrix and NCCL's XML, and files that would do harm."""

from __future__ import annotations

import json

import pytest

from argosy.cli.main import run
from argosy.fabric.imports import ReadError
from argosy.fabric.imports.machine import read_nccl_topology, read_nvidia_smi

MATRIX = """\
\t\x1b[4mGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m
GPU0\t X \tNV18\tSYS\tPIX\t0-47\t0\t\tN/A
GPU1\tNV18\t X \tPXB\tSYS\t48-95\t1\t\tN/A
NIC0\tSYS\tPXB\t X \tSYS
NIC1\tPIX\tSYS\tSYS\t X

Legend:

  X    = Self
NIC Legend:

  NIC0: mlx5_4
  NIC1: mlx5_0
"""
XML = """\
<system version="1">
  <cpu numaid="0" arch="x86_64">
    <pci busid="0000:00:01.0" class="0x060400">
      <pci busid="0000:0a:00.0" class="0x030200"><gpu dev="0" sm="90" rank="0" gdr="1">
        <nvlink target="0000:c0:00.0" count="18" tclass="0x068000"/></gpu></pci>
      <pci busid="0000:0b:00.0" class="0x020700"><nic><net name="mlx5_0" dev="0" speed="400000" port="1" gdr="1"/></nic></pci>
    </pci>
  </cpu>
  <cpu numaid="1" arch="x86_64">
    <pci busid="0000:80:01.0" class="0x060400">
      <pci busid="0000:8a:00.0" class="0x030200"><gpu dev="1" sm="90" rank="1" gdr="1">
        <nvlink target="0000:c0:00.0" count="18" tclass="0x068000"/></gpu></pci>
    </pci>
    <pci busid="0000:90:01.0" class="0x060400">
      <pci busid="0000:9b:00.0" class="0x020700"><nic><net name="mlx5_1" dev="1" speed="200000"/></nic></pci>
    </pci>
  </cpu>
</system>
"""


@pytest.fixture
def file(tmp_path):
    def of(text: str | bytes):
        path = tmp_path / "node"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return of


def test_the_matrix(file):
    found = read_nvidia_smi(file(MATRIX))
    assert found.gpus == ("GPU0", "GPU1") and found.nics == ("NIC0", "NIC1")
    assert found.card_of() == {"GPU0": "NIC1", "GPU1": "NIC0"}
    assert found.names == {"NIC0": "mlx5_4", "NIC1": "mlx5_0"} and found.nvlinks["GPU0", "GPU1"] == 18
    assert found.problems() == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            "GPU1\tNV18\t X \tPXB\tSYS",
            "GPU1\tNV18\t X \tNODE\tSYS",
            "GPU1 reaches its nearest free card mlx5_4 over NODE",
        ),
        ("NV18", "SYS", "no NVLinks"),
    ],
)
def test_what_costs_bandwidth(file, old, new, problem):
    assert any(problem in found for found in read_nvidia_smi(file(MATRIX.replace(old, new))).problems())


def test_fewer_links_between_some(file):
    text = "\tGPU0\tGPU1\tGPU2\nGPU0\tX\tNV18\tNV18\nGPU1\tNV18\tX\tNV12\nGPU2\tNV18\tNV12\tX\n"
    assert read_nvidia_smi(file(text)).problems() == [
        "1 of 3 pairs of accelerators have fewer than 18 NVLinks"
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "GPU1\tNV18\t X \tPXB\tSYS\t48-95\t1\t\tN/A",
            "GPU1\tNV18",
            "node:3: 1 of 4 columns: the row of GPU1 breaks off",
        ),
        ("GPU1\tNV18\t X \tPXB\tSYS\t48-95\t1\t\tN/A\n", "", "no row of GPU1"),
        ("\tPIX\t0-47", "\tNEAR\t0-47", "'NEAR' between"),
        ("GPU0", "CARD", "no header with GPU0"),
    ],
)
def test_a_matrix_with_a_fault(file, old, new, message):
    with pytest.raises(ReadError, match=message):
        read_nvidia_smi(file(MATRIX.replace(old, new)))


def test_the_xml(file):
    found = read_nccl_topology(file(XML))
    assert found.gpus == ("GPU0", "GPU1") and found.gbps == {"mlx5_0": 400.0, "mlx5_1": 200.0}
    assert found.near["GPU0"] == {"mlx5_0": "PIX", "mlx5_1": "SYS"} and found.near["GPU1"]["mlx5_1"] == "NODE"
    assert found.nvlinks["GPU0", "GPU1"] == 18  # over the switch at c0
    assert found.problems() == [
        "GPU1 reaches its nearest free card mlx5_1 over NODE: through the CPU, not GPUDirect behind one PCIe switch"
    ]


LAUGHS = '<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><system>&b;</system>'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LAUGHS, "node:1: a document type or entity"),
        ('<!DOCTYPE l SYSTEM "file:///etc/passwd"><system/>', "document type"),
        ("<system>" + "<pci>" * 100, "more than 64 levels"),
        (XML[:700], r"node:\d+: not well-formed"),
        ("<system version='1'/>", "no accelerator"),
        (b"\xff\xfe\x00", "not well-formed"),
    ],
)
def test_hostile_or_broken_xml(file, text, message):
    with pytest.raises(ReadError, match=message):
        read_nccl_topology(file(text))


def test_too_many_devices(file):
    text = "<system>" + "".join(f'<pci busid="{i}" class="0x030200"/>' for i in range(600)) + "</system>"
    with pytest.raises(ReadError, match="more than 512 devices"):
        read_nccl_topology(file(text))


def test_the_command_tells_the_two_apart(file, capsys):
    for text in (MATRIX, XML):
        assert run(["fabric", "machine", str(file(text)), "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert [one["name"] for one in found["accelerators"]] == ["GPU0", "GPU1"] and found["nvlinks"] == 18
    assert run(["fabric", "machine", str(file(XML))]) == 0
    assert "2 accelerators, 2 cards: 1 problems" in capsys.readouterr().out


def test_real_files(shared_directory):
    smi = read_nvidia_smi(shared_directory / "samples/fabric/nvidia-smi-topo-8xH-class-8nic.txt")
    assert smi.problems() == [] and len(set(smi.card_of().values())) == 8
    azure = read_nccl_topology(shared_directory / "samples/fabric/nccl-topo-azure-ndv5.xml")
    assert list(azure.card_of().values()) == [f"NIC{i}" for i in range(8)] and azure.problems() == []
