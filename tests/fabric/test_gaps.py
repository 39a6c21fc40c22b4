"""Hosts whose places stay empty: those behind the gap keep names, cabinets and ports in every file."""

from dataclasses import replace

from argosy.fabric import Design, build
from argosy.fabric.exports.slurm import tree_lines
from argosy.fabric.hall import lay_out
from argosy.fabric.names import node_names
from argosy.facts import Values, load_catalog

RATE = 400e9


def test_who_stands_behind_a_gap_keeps_name_cabinet_and_port():
    """Every cable that is pulled beside an empty place is one of the whole fabric: same names, same ports."""
    whole = Design("rail-optimized", 64, 2, 16, RATE)
    values = Values(load_catalog().facts)

    def pulled(design):
        topology = build(design)
        names, cables, hall = node_names(topology.cables), topology.cables, lay_out(topology, values)
        return {
            (names[a], int(p), names[b], int(q), int(hall.rack[a]))
            for a, p, b, q in zip(cables.a, cables.a_port, cables.b, cables.b_port, strict=True)
        }

    left = pulled(replace(whole, missing=(5, 20)))
    assert left < pulled(whole)
    assert {name for name, *_ in pulled(whole) - left} == {"host-06", "host-21"}


def test_slurm_is_told_who_is_there():
    topology = build(Design("fat-tree", 16, 1, 8, RATE, missing=(0, 6)))
    text = "\n".join(tree_lines(topology))
    assert "Nodes=host-[02-04]" in text and "Nodes=host-[05-06,08]" in text and "Nodes=host-[13-16]" in text
