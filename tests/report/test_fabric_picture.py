"""Pictures of fabrics: what they show is the cable list's, at every size, in files that open."""

from __future__ import annotations

import pytest

from argosy.cli.main import run
from argosy.fabric import Design, build
from argosy.fabric.drawing import MOST_BOXES, MOST_CELLS, drawing, heat, rail_drawing
from argosy.fabric.flows import run_traffic
from argosy.report.fabric_picture import heat_map, picture, rails, save

RATE = 400e9
DESIGNS = [
    Design("fat-tree", 16384, 1, 128, RATE),
    Design("rail-optimized", 128, 8, 64, RATE),
    Design("rail-only", 100, 3, 16, RATE),
    Design("dragonfly+", 1000, 1, 16, RATE),
    Design("torus", 4096, 1, 0, RATE, shape=(16, 16, 16)),
    Design("supernode", 384, 1, 0, RATE),
]


@pytest.mark.parametrize("design", DESIGNS, ids=lambda one: one.topology)
def test_boxes_hold_all_nodes_and_bundles_all_cables(design):
    topology = build(design)
    drawn = drawing(topology)
    assert sum(box["count"] for box in drawn["boxes"]) == topology.cables.nodes
    assert sum(line["cables"] for line in drawn["bundles"]) + drawn["within"] == len(topology.cables)
    rows = [box["row"] for box in drawn["boxes"]]
    assert max(rows.count(row) for row in set(rows)) <= MOST_BOXES
    assert [row["count"] for row in drawn["rows"]] == [
        sum(box["count"] for box in drawn["boxes"] if box["row"] == row["row"]) for row in drawn["rows"]
    ]
    assert "<svg" in _svg(picture(drawn))


def test_pods_stay_apart_in_the_picture_of_sixteen_thousand_hosts():
    drawn = drawing(build(DESIGNS[0]))
    boxes = {box["id"]: box for box in drawn["boxes"]}
    spans = [
        (boxes[line["from"]]["x"], boxes[line["to"]]["x"])
        for line in drawn["bundles"]
        if {boxes[line["from"]]["row"], boxes[line["to"]]["row"]} == {1, 2}
    ]
    assert all(
        int(leaf * 4) == int(spine * 4) for leaf, spine in spans
    )  # four pods, a quarter of the row each
    assert drawn["rows"][3]["below"] == "16,384 cables at 400 Gb/s, 1:1"


def test_the_seeds_rail_figure():
    """Three servers on two rails: six cables, card i on rail i."""
    small = rail_drawing(build(Design("rail-only", 3, 2, 4, RATE)))
    assert (small["hosts"], small["cards"], small["leaves"], small["leaf_name"]) == (3, 2, 2, "rail")
    assert sorted((line["host"], line["card"], line["leaf"]) for line in small["lines"]) == [
        (server, card, card) for server in range(3) for card in range(2)
    ]
    assert [_svg(rails(small)).count(f">server {number}<") for number in range(4)] == [1, 1, 1, 0]
    assert rail_drawing(build(Design("rail-only", 9, 2, 16, RATE))) is None


def test_heat_shows_the_hottest_link():
    topology = build(Design("fat-tree", 512, 1, 32, RATE))
    followed = run_traffic(topology, "permutation", seeds=1)
    load = followed.results[0].load
    maps = heat(topology, followed.graph, load)
    assert [(one["boundary"], one["up"]) for one in maps] == [("leaf-spine", True), ("leaf-spine", False)]
    assert max(cell["load"] for one in maps for cell in one["cells"]) == pytest.approx(load.max())
    assert all(max(one["shape"]) <= MOST_CELLS for one in maps)
    coloured = drawing(topology, followed.graph, load)
    assert max(line["load"] for line in coloured["bundles"]) == pytest.approx(load.max())
    assert "leaf → spine" in _svg(heat_map(maps, "t", "s"))


def test_both_fibres_of_a_circuit_carry_its_load():
    topology = build(Design("torus", 512, 1, 0, RATE, shape=(8, 8, 8)))
    followed = run_traffic(topology, "permutation", seeds=1)
    drawn = drawing(topology, followed.graph, followed.results[0].load)
    assert all(line["load"] is not None for line in drawn["bundles"])


def test_files_by_their_ending(tmp_path, capsys):
    asked = ["fabric", "--topology", "fat-tree", "--hosts", "64", "--radix", "16", "--traffic", "permutation"]
    paths = [tmp_path / name for name in ("fabric.svg", "heat.png")]
    assert run([*asked, *(word for path in paths for word in ("--picture", str(path)))]) == 0
    assert paths[0].read_text(encoding="utf-8").startswith("<svg") and paths[1].read_bytes()[1:4] == b"PNG"
    page = tmp_path / "page.html"
    save(picture(drawing(build(DESIGNS[1]))), page)
    assert "http://" not in page.read_text(encoding="utf-8").replace("http://www.w3.org", "")
    one = ["fabric", "--topology", "rail-only", "--hosts", "8", "--nics-per-host", "4", "--radix", "16"]
    two = ["--picture", str(paths[0]), "--picture", str(paths[1])]
    assert run([*one, "--traffic", "permutation", *two]) == 1
    assert "no links between switches" in capsys.readouterr().err
    assert run([*asked, "--picture", str(tmp_path / "x.bmp")]) == 1
    assert ".svg, .png, .html" in capsys.readouterr().err


def _svg(chart) -> str:
    from argosy.report.charts import to_svg

    return to_svg(chart)
