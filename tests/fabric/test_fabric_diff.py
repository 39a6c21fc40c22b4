"""A built fabric against its plan: planted faults are found, exactly, with names and without."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from ibnet import ibnetdiscover

from argosy.cli.main import run
from argosy.fabric import Design, build
from argosy.fabric.exports import write
from argosy.fabric.imports import diff, planned_wires, read_cables, read_ibnetdiscover

KINDS = ("miswired", "missing", "extra", "degraded")
DESIGNS = {
    "tree": Design("fat-tree", 32, 1, 8, 400e9, tiers=2),
    "three tiers": Design("fat-tree", 64, 1, 8, 400e9, tiers=3),
    "rails": Design("rail-optimized", 16, 4, 16, 400e9),
    "planes": Design("rail-only", 8, 4, 16, 400e9),
}


def cables_of(topology) -> tuple[list, dict[str, str]]:
    """The topology's cables as pairs of (device, port), with descriptions: the built fabric, before faults."""
    wires = planned_wires(topology)
    names, descriptions = [], {}
    for i, device in enumerate(wires.devices):
        names.append(f"{'s' if device.is_switch else 'h'}{i:04d}")
        descriptions[names[-1]] = device.name if device.is_switch else f"{device.name} mlx5_{device.card}"
    rows = zip(*(column.tolist() for column in (wires.a, wires.a_port, wires.b, wires.b_port)), strict=True)
    return [((names[a], p), (names[b], q)) for a, p, b, q in rows], descriptions


@pytest.fixture
def compare(tmp_path):
    def of(topology, cables, descriptions, **options):
        path = tmp_path / "built.txt"
        path.write_text(ibnetdiscover(cables, descriptions, **options), encoding="utf-8")
        return diff(topology, read_ibnetdiscover(path))

    return of


def counts(found) -> dict[str, int]:
    return {kind: len(found[kind]) for kind in KINDS if found[kind]}


def between_switches(cables) -> list[int]:
    return [i for i, ends in enumerate(cables) if all(device[0] == "s" for device, _ in ends)]


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
def test_built_as_planned(compare, design, named):
    topology = build(design)
    cables, descriptions = cables_of(topology)
    found = compare(topology, cables, descriptions if named else dict.fromkeys(descriptions, "x"))
    assert counts(found) == {} and found["compared"] == len(topology.cables)
    assert found["matched"] == found["devices"]["planned"] == found["devices"]["built"]


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("design", list(DESIGNS.values())[:3], ids=list(DESIGNS)[:3])
@pytest.mark.parametrize("seed", range(3))
def test_two_uplinks_swapped_are_two_miswires(compare, design, named, seed):
    topology = build(design)
    cables, descriptions = cables_of(topology)
    draw = random.Random(seed)
    one, two = draw.choice(
        [
            (i, j)
            for i in between_switches(cables)
            for j in between_switches(cables)
            if len({end[0] for end in (*cables[i], *cables[j])}) == 4
        ]
    )
    cables[one], cables[two] = (cables[one][0], cables[two][1]), (cables[two][0], cables[one][1])
    if not named:  # devices come in another order, under names that say nothing
        draw.shuffle(cables)
        shuffled = list(descriptions)
        draw.shuffle(shuffled)
        new = {old: f"{old[0]}{n:05d}" for n, old in enumerate(shuffled)}
        cables = [tuple((new[device], port) for device, port in ends) for ends in cables]
        descriptions = dict.fromkeys(new.values(), "x")
    assert counts(compare(topology, cables, descriptions)) == {"miswired": 2}


def test_what_is_said_of_a_swap(compare):
    topology = build(DESIGNS["tree"])
    cables, descriptions = cables_of(topology)
    one, two = (
        next(i for i, ((a, _), (b, _)) in enumerate(cables) if (descriptions[a], descriptions[b]) == names)
        for names in (("leaf-2", "spine-1"), ("leaf-5", "spine-3"))
    )
    cables[one], cables[two] = (cables[one][0], cables[two][1]), (cables[two][0], cables[one][1])
    found = compare(topology, cables, descriptions)["miswired"]
    devices = {tuple(sorted(end.partition("[")[0] for end in one["built"].split(" - "))) for one in found}
    assert devices == {("leaf-2", "spine-3"), ("leaf-5", "spine-1")}
    planned = {tuple(sorted(end.partition("[")[0] for end in one["planned"].split(" - "))) for one in found}
    assert planned == {("leaf-2", "spine-1"), ("leaf-5", "spine-3")}
    assert all(one["line"] > 0 for one in found)


def test_missing_extra_and_slow(compare):
    topology = build(DESIGNS["rails"])
    cables, descriptions = cables_of(topology)
    gone, slow = cables.pop(between_switches(cables)[0]), between_switches(cables)[5]
    spare = next(device for device, name in descriptions.items() if name == "spine-4")
    descriptions["hnew"] = "visitor mlx5_0"
    cables.append((("hnew", 1), (spare, 60)))
    found = compare(topology, cables, descriptions, speeds={slow: "4xHDR"})
    assert counts(found) == {"missing": 1, "extra": 1, "degraded": 1}
    assert descriptions[gone[0][0]] in found["missing"][0]["cable"]
    assert "visitor card 0" in found["extra"][0]["cable"] and "spine-4[60]" in found["extra"][0]["cable"]
    assert (found["degraded"][0]["planned_bps"], found["degraded"][0]["built_bps"]) == (400e9, 200e9)
    assert any("visitor" in note for note in found["notes"])


def test_a_dead_host_is_its_missing_cables(compare):
    topology = build(DESIGNS["rails"])
    cables, descriptions = cables_of(topology)
    dead = {device for device, name in descriptions.items() if name.startswith("host-07 ")}
    left = [ends for ends in cables if not dead & {device for device, _ in ends}]
    found = compare(topology, left, descriptions)
    assert counts(found) == {"missing": 4} and any("4 planned devices" in note for note in found["notes"])


def test_a_card_on_the_wrong_rail(compare):
    topology = build(DESIGNS["rails"])
    cables, descriptions = cables_of(topology)
    own = [i for i, ((a, _), _) in enumerate(cables) if descriptions[a].startswith("host-03 ")][:2]
    (a, x), (b, y) = cables[own[0]], cables[own[1]]
    cables[own[0]], cables[own[1]] = (a, y), (b, x)
    found = compare(topology, cables, descriptions)
    assert counts(found) == {"miswired": 2}


def test_other_ports_between_the_right_devices_are_no_fault(compare):
    topology = build(DESIGNS["tree"])
    cables, descriptions = cables_of(topology)
    moved = [
        tuple((device, port + 8 if device[0] == "s" else port) for device, port in ends) for ends in cables
    ]
    found = compare(topology, moved, descriptions)
    assert counts(found) == {} and found["moved"] == len(cables)
    assert any("another convention" in note for note in found["notes"])


def test_two_hosts_exchanged_on_their_leaf(compare):
    topology = build(DESIGNS["tree"])
    cables, descriptions = cables_of(topology)
    (a, x), (b, y) = cables[0], cables[1]
    cables[0], cables[1] = (a, y), (b, x)
    found = compare(topology, cables, descriptions)
    assert counts(found) == {"miswired": 2} and {one["wrong"] for one in found["miswired"]} == {"port"}
    nameless = compare(topology, cables, dict.fromkeys(descriptions, "x"))
    assert counts(nameless) == {}  # who hangs on which port of one leaf cannot be told


def test_parallel_cables_may_be_exchanged_in_name_alone(compare):
    """Two cables from one leaf to two spines exchanged at the leaf: the same devices, other ports."""
    topology = build(DESIGNS["tree"])
    cables, descriptions = cables_of(topology)
    leaf = next(device for device, name in descriptions.items() if name == "leaf-3")
    one, two = [i for i in between_switches(cables) if cables[i][0][0] == leaf][:2]
    (a, x), (b, y) = cables[one], cables[two]
    cables[one], cables[two] = (a, y), (b, x)
    found = compare(topology, cables, descriptions)["miswired"]
    assert [entry["wrong"] for entry in found] == ["port", "port"]
    assert all("leaf-3" in entry["planned"] and "leaf-3" in entry["built"] for entry in found)


def test_a_whole_fabric_at_another_rate_is_said(compare):
    topology = build(DESIGNS["tree"])
    cables, descriptions = cables_of(topology)
    found = compare(topology, cables, descriptions, speeds=dict.fromkeys(range(len(cables)), "4xHDR"))
    assert len(found["degraded"]) == len(cables) and any("whole fabric" in note for note in found["notes"])


def test_hosts_with_names_and_switches_without(compare):
    topology = build(DESIGNS["three tiers"])
    cables, descriptions = cables_of(topology)
    half = {device: name if device[0] == "h" else "MQM9700" for device, name in descriptions.items()}
    assert counts(compare(topology, cables, half)) == {}


@pytest.mark.parametrize("name", ["leaf-3", "spine-2"])
def test_a_dead_switch_is_its_missing_cables(compare, name):
    topology = build(DESIGNS["tree"])
    cables, descriptions = cables_of(topology)
    dead = next(device for device, own in descriptions.items() if own == name)
    left = [ends for ends in cables if dead not in {device for device, _ in ends}]
    hosts_named = {device: own if device[0] == "h" else "MQM9700" for device, own in descriptions.items()}
    for names in (descriptions, hosts_named):
        assert counts(compare(topology, left, names)) == {"missing": len(cables) - len(left)}


@pytest.fixture
def files(tmp_path):
    """A plan as CSV and as JSON, and the fabric as built."""
    topology = build(DESIGNS["rails"])
    write(topology, "cables-csv", tmp_path / "plan.csv")
    cables, descriptions = cables_of(topology)
    (tmp_path / "built.txt").write_text(ibnetdiscover(cables, descriptions), encoding="utf-8")
    return tmp_path


def test_the_command_reads_csv_and_json(files, capsys):
    words = "fabric --topology rail-optimized --hosts 16 --nics-per-host 4 --radix 16 --json"
    assert run(words.split()) == 0
    (files / "plan.json").write_text(capsys.readouterr().out, encoding="utf-8")
    for plan in ("plan.csv", "plan.json"):
        assert run(["fabric", "diff", str(files / plan), str(files / "built.txt"), "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["schema"] == "argosy.fabric-diff/1" and counts(found) == {} and found["compared"] == 128
    assert run(["fabric", "diff", str(files / "plan.csv"), str(files / "built.txt")]) == 0
    assert capsys.readouterr().out.startswith("as planned: 128 cables")


def test_exact_is_an_assertion(files, capsys):
    text = (files / "built.txt").read_text(encoding="utf-8").replace("4xNDR", "4xHDR", 2)
    (files / "built.txt").write_text(text, encoding="utf-8")
    words = ["fabric", "diff", str(files / "plan.csv"), str(files / "built.txt")]
    assert run(words) == 0 and run([*words, "--exact"]) == 3
    assert "200 of 400 Gb/s (line" in capsys.readouterr().out


def test_names_and_guids_of_a_csv(files):
    plan = read_cables(files / "plan.csv")
    assert len(plan) == 128 and {device.card for device in plan.devices} == {-1, 0, 1, 2, 3}
    lines = (files / "plan.csv").read_text(encoding="utf-8").splitlines()
    built = read_ibnetdiscover(files / "built.txt")
    guid = next(device.guid for device in built.devices if device.name == "leaf-1")
    renamed = [
        lines[0] + ",b_guid",
        *(f"{line},0x{guid}" if ",leaf-1," in line else f"{line}," for line in lines[1:]),
    ]
    renamed = [line.replace(",leaf-1,", ",rack9-upper,") for line in renamed]
    (files / "renamed.csv").write_text("\n".join(renamed), encoding="utf-8")
    named = diff(read_cables(files / "renamed.csv"), built)
    assert counts(named) == {} and any("rack9-upper is leaf-1" in note for note in named["notes"])


@pytest.mark.parametrize(
    ("line", "new", "message"),
    [
        (0, "cable,a_device", "plan.csv:1: no column a_tier"),
        (2, None, "plan.csv:3: "),
        (3, "1,x,host,r,host-01,one,1,leaf,r,leaf-1,1,1,400,1,x", "plan.csv:4: a_port 'one' is no port"),
        (
            3,
            "1,x,host,r,host-01,1,1,leaf,r,leaf-9,1,1,400,1,x",
            r"plan.csv:4: port 1 of host-01 has a cable at line 2",
        ),
        (3, "1,x,host,r,host-99,1,1,leaf,r,leaf-9,1,1,fast,1,x", "plan.csv:4: rate_gbps 'fast' is no rate"),
    ],
)
def test_a_csv_with_a_fault(files, capsys, line, new, message):
    lines = (files / "plan.csv").read_text(encoding="utf-8").splitlines()
    lines[line] = lines[line][:20] if new is None else new
    (files / "plan.csv").write_text("\n".join(lines), encoding="utf-8")
    assert run(["fabric", "diff", str(files / "plan.csv"), str(files / "built.txt")]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("text", ['{"a": 1}', '{"fabrics": [{"role": "compute"}]}', "{", "[" * 5000])
def test_json_that_is_no_plan(files, capsys, text):
    (files / "plan.json").write_text("{" + text[1:] if text[0] == "{" else "{" + text, encoding="utf-8")
    assert run(["fabric", "diff", str(files / "plan.json"), str(files / "built.txt")]) == 1
    assert "plan.json" in capsys.readouterr().err


def test_a_scenario_as_plan(files, capsys):
    (files / "fleet.yaml").write_text(
        "name: small\nfleet: {accelerator: H100-SXM, count: 128, spares: {nodes: 0}, fabrics: [{topology: rail-optimized}]}\n"
        "training: {model: llama-3.1-70b, tokens: 1e12, sequence_length: 8192, global_batch: 512 sequences}\n",
        encoding="utf-8",
    )
    status = run(["fabric", "diff", str(files / "fleet.yaml"), str(files / "built.txt"), "--json"])
    found = json.loads(capsys.readouterr().out)
    assert status == 0 and found["devices"]["planned"] > 128 and found["missing"]


def test_faults_do_not_change_with_the_order_of_cables(compare):
    topology = build(DESIGNS["three tiers"])
    cables, descriptions = cables_of(topology)
    cables.pop(between_switches(cables)[7])
    order = np.random.default_rng(1).permutation(len(cables))
    one = compare(topology, cables, descriptions)
    two = compare(topology, [cables[i] for i in order], descriptions)
    assert counts(one) == counts(two) == {"missing": 1} and one["missing"] == two["missing"]
