"""Reading a scenario: what is right is read in SI units, what is wrong is reported where it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from argosy.spec import Scenario, ScenarioError, load, loads

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
MODEL = "{layers: 4, hidden: 64, heads: 4, kv_heads: 2, head_dim: 16, ffn: 256, vocab: 1000}"
GOOD = f"""name: good
fleet: {{accelerator: H100-SXM, count: 64}}
training: {{model: {MODEL}, tokens: 1e9, sequence_length: 2048, global_batch: 64 sequences}}
"""


def faults(text: str, **options: object) -> list[str]:
    """`line:column: path: message; instead` of every fault of a text."""
    with pytest.raises(ScenarioError) as caught:
        loads(text, "f", **options)  # type: ignore[arg-type]
    return [str(problem).removeprefix("f:") for problem in caught.value.problems]


def test_quantities_arrive_in_si_units() -> None:
    scenario = loads(
        GOOD.replace(
            "count: 64", "count: 64, fabrics: [{link: 400 Gb/s, oversubscription: {pod-uplink: '1:7'}}]"
        )
        + """
reliability: {overrides: {gpu: {mttf: 79000 h}}, detection: 2 min, checkpoint: {interval: 30 min}}
facility: {power_cap: 600 W, envelope: 40 MW, pue: 1.2}
prices: {accelerator_hour: 1.8 USD/h, electricity: 0.072 USD/kWh, discount_rate: 8 %, lifetime: 5 yr}
"""
    )
    fabric = scenario.fleet.fabrics[0]
    assert fabric.link == 4e11
    assert fabric.oversubscription == {"pod-uplink": 7.0}
    assert scenario.reliability.overrides["gpu"].rate_per_s == pytest.approx(1 / (79000 * 3600))
    assert (scenario.reliability.detection, scenario.reliability.checkpoint.interval) == (120.0, 1800.0)
    assert (scenario.facility.power_cap, scenario.facility.envelope) == (600.0, 40e6)
    assert scenario.prices.accelerator_hour == pytest.approx(1.8 / 3600)
    assert scenario.prices.electricity == pytest.approx(2e-8)
    assert scenario.prices.discount_rate == pytest.approx(0.08)
    assert scenario.prices.lifetime == pytest.approx(5 * 365.25 * 86400)


def test_words_for_choose_it_are_none() -> None:
    scenario = loads(
        GOOD.replace("tokens:", "layout: {tp: auto, pp: 4}, tokens:")
        + "facility: {pue: computed, power_cap: none}\nreliability: {checkpoint: {interval: auto}}\n"
    )
    assert scenario.training[0].layout.given == {"pp": 4}
    assert (
        scenario.facility.pue
        is scenario.facility.power_cap
        is scenario.reliability.checkpoint.interval
        is None
    )
    assert loads(GOOD.replace("tokens:", "layout: auto, tokens:")).training[0].layout.is_auto


def test_one_job_flat_or_in_lists_is_the_same() -> None:
    staged = GOOD.replace(
        "tokens: 1e9, sequence_length: 2048, global_batch: 64 sequences",
        "stages: [{tokens: 1e9, sequence_length: 2048, global_batch: 64 sequences}]",
    )
    listed = staged.replace("training: {", "training: [{").replace("}]}", "}]}]")
    assert loads(GOOD) == loads(staged) == loads(listed)


@pytest.mark.parametrize(
    ("written", "length", "sequences"),
    [
        ("2048 sequences", 8192, 2048),
        ("16 Mtok", 8192, 2048),  # 16e6 / 8192 = 1953: the 2^24 tokens that a batch "of 16M" means
        ("16 Mtok", 131072, 128),
        ("62914560 tok", 4096, 15360),
        ("5 Mtok", 4096, 1280),  # 1221 sequences: in whole 128s
        ("3 Mtok", 1_000_000, 3),
    ],
)
def test_batches(written: str, length: int, sequences: int) -> None:
    text = GOOD.replace(
        "sequence_length: 2048, global_batch: 64 sequences",
        f"sequence_length: {length}, global_batch: {written}",
    )
    assert loads(text).training[0].stages[0].global_batch == sequences


def test_every_fault_at_once_with_its_place() -> None:
    found = faults(
        """name: x
fleet:
  acelerator: H100
  accelerator: H100-SXMM
  count: 64.5
  fabrics: [{link: 400 GB/s, topology: fat-three}]
training:
  model: llama-3.1-404b
  tokens: 1e12
  sequence_length: 8192
  global_batch: 1024
  precision: {compute: bf8}
reliability: {detection: 120, overrides: {gpu: {}}}
assert: [training.training.step_time_s.p90 <= 3 MW]
"""
    )
    assert [fault.split(": ")[:2] for fault in found] == [
        ["3:3", "fleet.acelerator"],
        ["4:16", "fleet.accelerator"],
        ["5:10", "fleet.count"],
        ["6:20", "fleet.fabrics.0.link"],
        ["6:40", "fleet.fabrics.0.topology"],
        ["8:10", "training.model"],
        ["11:17", "training.stages.0.global_batch"],
        ["12:24", "training.precision.compute"],
        ["13:26", "reliability.detection"],
        ["13:48", "reliability.overrides.gpu"],
        ["14:10", "assert.0"],
    ]
    wanted = [
        "write accelerator",
        "write H100-SXM",
        "not a whole number",
        "write '3.2 Tb/s'",
        "fat-tree",
        "write llama-3.1-405b",
        "2048 sequences",
        "bf16",
        "write for example 2 min",
        "mttf: 79000 h",
        "a time (s) is wanted",
    ]
    for fault, words in zip(found, wanted, strict=True):
        assert words in fault


LAYOUT = "training: {layout: "
FABRIC = "count: 64, fabrics: [{%s}]"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("name: good\n", "", "1:1: name: is missing; write name: my-run"),
        ("count: 64", "count: 0", "2:39: fleet.count: 0 is not above 0"),
        ("tokens: 1e9", "tokens: .nan", "nan is not a finite number"),
        ("tokens: 1e9", "tokens: -1", "is not above 0"),
        (
            "count: 64",
            "count: 63, node: DGX-H100",
            "not a whole number of DGX-H100 nodes of 8 accelerators; write 64",
        ),
        (
            "training: {",
            LAYOUT + "{tp: 8, pp: 2, cp: 1, dp: 8}, ",
            "= 128, but fleet.count is 64; write dp: 4",
        ),
        ("training: {", LAYOUT + "{tp: 8, pp: 3}, ", "tp 8 · pp 3 = 24 does not divide fleet.count 64"),
        (
            "training: {",
            LAYOUT + "{tp: 8, pp: 2, cp: 1, ep: 64}, ",
            "ep · etp = 64 does not divide tp · cp · dp = 32",
        ),
        (
            "training: {",
            LAYOUT + "{dp: 48}, ",
            "64 sequences do not divide by dp 48 · micro_batch 1; write 48 sequences",
        ),
        ("training: {", LAYOUT + "{pp: 1, vp: 2}, ", "vp 2 needs a pipeline"),
        ("training: {", "training: {overlap: {tp: perhaps}, ", "'perhaps' is neither true nor false"),
        (
            "count: 64",
            FABRIC % "pods: 2, pod_accelerators: 24",
            "hold 48, fewer than the 64 of the fleet; write pods: 3",
        ),
        ("count: 64", FABRIC % "switch: QM9701", "switches have no 'QM9701'; write QM97"),
        ("count: 64", FABRIC % "oversubscription: {pod-uplink: '1:x'}", "'1:x' is not a ratio"),
        ("H100-SXM", "{name: H100-SXM, memory_bandwith: 3 TB/s}", "no fact 'memory_bandwith'"),
        ("H100-SXM", "{name: H100-SXM, memory_bandwidth: 3 Tb/s}", "rate in bits"),
        ("training:", "facility: {site: us-texos}\ntraining:", "write us-texas"),
        (
            "training:",
            "facility: {pue: 0.9}\ntraining:",
            "facility.pue: 0.9 is below 1; write a number of at least 1",
        ),
        ("training:", "reliability: {preset: llama3-table6}\ntraining:", "write llama3-table5"),
        ("training:", "trainings:", "neither training nor serving is given"),
        ("training:", "assert: [days < 9 < 3]\ntraining:", "is not `path comparison quantity`"),
        ("sequences}", "sequences}\nname: again", "the key name is given twice (first in line 1)"),
        ("tokens: 1e9, ", "", "tokens: is missing"),
        ("count: 64", "count: true", "true is neither a number nor a word"),
        ("training: {", "training: []\nspare: {", "neither training nor serving is given"),
        (
            "training: {",
            "training: {layout: none, ",
            "training.layout: 'none' is not a mapping; write layout: auto",
        ),
        ("training: {", "training: {assume: {a: [1]}, ", "training.assume.a: expected a number, a word"),
        (
            "training: {",
            "reliability:\ntraining: {",
            "reliability: is empty; write its value, or leave the key out",
        ),
        ("training: {", "assert: [training.pre.mfu.x < 1]\ntraining: {", "no job 'pre'; known: training"),
        (
            "training: {",
            "serving: {model: gpt3-175b, traffic: {rate: 1 req/s}}\ntraining: {",
            "neither a trace nor rate",
        ),
    ],
)
def test_single_faults(old: str, new: str, words: str) -> None:
    assert old in GOOD
    found = faults(GOOD.replace(old, new))
    assert any(words in fault for fault in found), found


def test_jobs_of_one_name_are_reported() -> None:
    job = f"{{name: a, model: {MODEL}, tokens: 1e9, sequence_length: 2048, global_batch: 64 sequences}}"
    found = faults(f"name: x\nfleet: {{accelerator: H100, count: 8}}\ntraining:\n  - {job}\n  - {job}\n")
    assert len(found) == 1
    assert found[0].startswith("5:12: training.1.name: the name 'a' is taken by training.0")


def test_presets_merge_in_order_and_the_file_wins(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        "fleet: {accelerator: A100, count: 8, spares: {nodes: 1}}\nprices: {lifetime: 4 yr}\n"
    )
    (tmp_path / "b.yaml").write_text("extends: a.yaml\nfleet: {accelerator: H100, spares: {nodes: 2}}\n")
    (tmp_path / "run.yaml").write_text(
        "extends: [a.yaml, b.yaml]\n" + GOOD.replace("accelerator: H100-SXM, ", "")
    )
    scenario = load(tmp_path / "run.yaml")
    assert (scenario.fleet.accelerator.name, scenario.fleet.count, scenario.fleet.spares.nodes) == (
        "H100-SXM",
        64,
        2,
    )
    assert scenario.prices.lifetime == pytest.approx(4 * 365.25 * 86400)


def test_a_shipped_preset_by_name_or_path() -> None:
    for name in ("llama3-fleet", "presets/llama3-fleet.yaml"):
        text = GOOD.replace("fleet: {accelerator: H100-SXM, count: 64}\n", f"extends: [{name}]\n")
        assert loads(text).fleet.count == 16384
    assert "write llama3-fleet" in faults(GOOD + "extends: lama3-fleet\n")[0]


def test_a_fault_in_a_preset_names_its_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("# a comment\nprices:\n  lifetime: 5\n")
    (tmp_path / "run.yaml").write_text(GOOD + "extends: base.yaml\n")
    with pytest.raises(ScenarioError) as caught:
        load(tmp_path / "run.yaml")
    (problem,) = caught.value.problems
    assert (Path(problem.file).name, problem.line, problem.column) == ("base.yaml", 3, 13)


def test_presets_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("extends: b.yaml\n")
    (tmp_path / "b.yaml").write_text("extends: a.yaml\n")
    (tmp_path / "run.yaml").write_text(GOOD + "extends: a.yaml\n")
    with pytest.raises(ScenarioError, match=r"circle: a\.yaml → b\.yaml → a\.yaml"):
        load(tmp_path / "run.yaml")


def test_overrides_from_a_file_are_checked_there(tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(GOOD + "assumptions: {overrides: mine.yaml}\n")
    path = "accelerators.H100-SXM.memory_bandwidth"
    (tmp_path / "mine.yaml").write_text(f"{path}: {{value: 3 TB/s, source: my measurement}}\n")
    fact = load(tmp_path / "run.yaml").catalog().fact(path)
    assert (fact.value, fact.source) == (3e12, "my measurement")
    (tmp_path / "mine.yaml").write_text(f"\n{path}: {{value: 3 TB/x}}\naccelerators.H100-SXM.speed: 1\n")
    with pytest.raises(ScenarioError) as caught:
        load(tmp_path / "run.yaml")
    assert [(Path(each.file).name, each.line) for each in caught.value.problems] == [
        ("mine.yaml", 2),
        ("mine.yaml", 3),
    ]


def test_a_changed_accelerator_changes_its_facts_alone() -> None:
    text = GOOD.replace("H100-SXM", "{name: H100, memory_bandwidth: {value: 3 TB/s, source: mine}}")
    catalog = loads(text).catalog()
    assert catalog.fact("accelerators.H100-SXM.memory_bandwidth").value == 3e12
    based = GOOD.replace("H100-SXM", "{name: my-chip, base: H100, memory_capacity: 100 GB}")
    entry = loads(based).catalog().entry("accelerators", "my-chip")
    assert entry.facts["memory_capacity"].value == 100e9
    assert loads(based).catalog().fact("accelerators.H100-SXM.memory_capacity").value < 100e9


def test_a_model_by_name_by_file_and_over_a_base(tmp_path: Path) -> None:
    named = loads(GOOD.replace(MODEL, "Llama 3.1 405B")).training[0].model
    assert (named.layers, named.hidden, named.kv_heads) == (126, 16384, 8)
    assert loads(GOOD.replace(MODEL, "hf/llama-3.1-405b/config.json")).training[0].model == named
    truncated = loads(GOOD.replace(MODEL, "{base: llama-3.1-405b, layers: 4}")).training[0].model
    assert truncated.layers == 4
    assert truncated.hidden == named.hidden
    (tmp_path / "mine.yaml").write_text(MODEL)
    assert loads(GOOD.replace(MODEL, "mine.yaml"), directory=tmp_path).training[0].model.vocab == 1000


def test_defaults_are_listed_with_their_source() -> None:
    listed = {each.path: each for each in loads(GOOD).defaulted()}
    detection = listed["reliability.detection"]
    assert listed["fleet.storage.bandwidth"].value == pytest.approx(2e12 * 64 / 16384)
    assert (detection.value, detection.unit, detection.is_assumption) == (120.0, "s", True)
    assert not listed["reliability.preset"].is_assumption
    assert not {"name", "fleet.count", "training.training.stages.0.tokens"} & set(listed)
    given = {each.path for each in loads(GOOD + "reliability: {detection: 120 s}\n").defaulted()}
    assert set(listed) - given == {"reliability.detection"}


def test_a_scenario_survives_json() -> None:
    scenario = load(EXAMPLES / "llama3-405b.yaml")
    assert Scenario.model_validate_json(scenario.model_dump_json(by_alias=True)) == scenario


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_examples_load(path: Path) -> None:
    scenario = load(path)
    assert scenario.name == path.stem
    assert scenario.training or scenario.serving


def test_an_unknown_site_is_told_what_a_site_of_its_own_needs() -> None:
    text = "name: x\nfleet: {accelerator: H100-SXM, count: 8}\nfacility: {site: {name: moon, temperature_c: -20}}\n"
    with pytest.raises(ScenarioError, match="for a site of your own its carbon_intensity, electricity too"):
        loads(text)
