"""`argosy fabric machine FILE`: which card each accelerator of a node should use, and what is wrong inside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer


def read_machine(path: Path) -> Any:
    """A node's inside, from NCCL's XML or the matrix of nvidia-smi, told apart by how the file begins."""
    from argosy.fabric.imports.machine import read_nccl_topology, read_nvidia_smi

    with path.open("rb") as file:
        beginning = file.read(256).lstrip(b"\xef\xbb\xbf \t\r\n")
    return read_nccl_topology(path) if beginning.startswith(b"<") else read_nvidia_smi(path)


def machine(
    file: Path = typer.Argument(
        help="The output of nvidia-smi topo -m, or NCCL's topology XML (NCCL_TOPO_DUMP_FILE).",
        show_default=False,
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON and nothing else."),
) -> None:
    """Read a node's inside: the nearest card of every accelerator, and what will cost bandwidth."""
    from argosy.cli.fabric.head import head

    found = read_machine(file)
    cards = found.card_of()
    payload = {
        "accelerators": [
            {
                "name": gpu,
                "card": nic,
                "card_name": found.names.get(nic, nic) if nic else None,
                "distance": found.near[gpu].get(nic) if nic else None,
            }
            for gpu, nic in cards.items()
        ],
        "cards": [
            {"name": nic, "device": found.names.get(nic), "gbps": found.gbps.get(nic)} for nic in found.nics
        ],
        "nvlinks": None if found.nvlinks is None else max(found.nvlinks.values(), default=0),
        "problems": found.problems(),
    }
    if as_json:
        print(json.dumps({**head("fabric-machine"), **payload}, indent=1, ensure_ascii=False))
        return
    problems = payload["problems"]
    print(f"{len(found.gpus)} accelerators, {len(found.nics)} cards: {len(problems) or 'no'} problems")
    for problem in problems:
        print(f"problem: {problem}")
    for one in payload["accelerators"]:
        print(f"{one['name']:8} {one['card_name'] or 'no card':12} {one['distance'] or ''}")
