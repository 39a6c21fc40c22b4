"""The tree of failure domains: counts against the fabric's own arithmetic, rates that stay, names that are told."""

from pathlib import Path

import numpy as np
import pytest

import argosy
from argosy.facts import FactError, Values, load_catalog
from argosy.planning.context import context
from argosy.planning.life import fleet_life
from argosy.reliability import Recovery
from argosy.reliability.domains import account_of_domains
from argosy.reliability.extrapolation import extrapolations
from argosy.reliability.recovery import RackStock, restart_s, spare_wait_share
from argosy.spec import ScenarioError

YEAR, HOUR = 365.25 * 86400.0, 3600.0
FLEET = "{accelerator: H100-SXM, count: 2048, spares: {nodes: 0}, fabrics: [{topology: rail-optimized}]}"


def setting(reliability: str = "", fleet: str = FLEET):
    text = f"""
name: x
fleet: {fleet}
training: {{model: llama-3.1-8b, tokens: 1e11, sequence_length: 8192, global_batch: 4 Mtok}}
"""
    return context(argosy.loads(text + (f"reliability: {reliability}\n" if reliability else "")))


def life(reliability: str = "", fleet: str = FLEET):
    return fleet_life(setting(reliability, fleet), 1e11)


def test_counts_are_those_of_the_fabric() -> None:
    """Rail-optimised, 64-port switches: a leaf serves one card of 32 nodes; 256 nodes × 8 rails ÷ 32 = 64 leaves."""
    tree = life().tree
    assert (tree["leaf-switch"].count, tree["leaf-switch"].nodes) == (64, 32)
    assert tree["spine-switch"].count == 32  # 64 leaves × 32 uplinks ÷ 64 ports
    assert tree["spine-switch"].slows_by == pytest.approx(1 / 32)
    assert [tree[name].count for name in ("host", "gpu", "hbm", "nvswitch", "nic", "cable", "psu")] == [
        256, 2048, 2048, 1024, 2048, 2048, 1536,
    ]  # fmt: skip
    assert tree["rack"].count == -(-256 // tree["rack"].nodes)
    assert tree["power-domain"].nodes % tree["rack"].nodes == 0
    assert "coolant-unit" not in tree  # cooled by air


def test_every_domain_has_a_parent_in_the_tree() -> None:
    rows = account_of_domains(life().tree, life().rates, life().hazards, 256, 1.0)
    assert {row["name"] for row in rows} == set(life().tree)
    seen = {"site"}
    for row in rows:
        assert row["inside"] in seen or row["inside"] not in life().tree
        seen.add(row["name"])


def test_a_torus_has_no_leaf_switches() -> None:
    fleet = "{accelerator: TPU-v5p, count: 512, fabrics: [{topology: torus}], spares: {nodes: 0}}"
    found = life("{domains: {leaf-switch: {mttf: 3 yr}, rack: typical}, preset: meta-rsc1}", fleet)
    assert "leaf-switch" not in found.tree
    assert any("no leaf-switch" in note for note in found.notes())


def test_rows_sum_to_the_failures_of_the_fleet() -> None:
    found = life("{domains: typical}")
    rows = account_of_domains(found.tree, found.rates, found.hazards, found.nodes, 1.0)
    stops = sum(row["expected"] for row in rows if row["expected"] and row["effect"] != "slow")
    assert stops == pytest.approx(float(found.joint.per_s), rel=1e-9)


def test_a_domain_takes_its_failures_from_the_category_that_counted_them() -> None:
    """Leaf switches fail within the 35 counted failures of switches and cables: the job stops as often, with more nodes."""
    before, after = life(), life("{domains: {leaf-switch: {mttf: 20 yr, repair: 2 h}}}")
    assert float(after.joint.per_s) == pytest.approx(float(before.joint.per_s), rel=1e-12)
    (shock,) = after.hazards.shocks
    assert shock.rate_per_s * shock.count(256) == pytest.approx(64 / (20 * YEAR))
    assert (shock.nodes, shock.repair_s, shock.effect) == (32, 2 * HOUR, "lose")
    often = life("{domains: {leaf-switch: {mttf: 1 month}}}")  # more than were counted: never below zero
    network = next(c for c in often.rates.categories if c.name == "network-switch-cable")
    assert network.rate_per_s == 0.0
    assert float(often.joint.per_s) > float(before.joint.per_s)


def test_domains_that_no_category_counted_come_on_top() -> None:
    before, after = (
        life(),
        life("{domains: {rack: {mttf: 5 yr, nodes: 4, share_lost: 50 %}, storage: {mttf: 1 yr}}}"),
    )
    reach = 1 - 0.5**4
    extra = 64 * reach / (5 * YEAR) + 1 / YEAR
    assert float(after.joint.per_s - before.joint.per_s) == pytest.approx(extra, rel=1e-9)


def test_rates_of_domains_are_drawn_with_the_facts() -> None:
    drawn = setting("{domains: {leaf-switch: typical}}").drawn(500, 0)
    (shock,) = fleet_life(drawn, 1e11).hazards.shocks
    assert shock.rate_per_s.shape == (500,)
    assert np.std(shock.rate_per_s) > 0


def test_names_and_missing_rates_are_told_with_their_place(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(
        "name: x\nfleet: {accelerator: H100-SXM, count: 64}\n"
        "training: {model: llama-3.1-8b, tokens: 1e9, sequence_length: 4096, global_batch: 1 Mtok}\n"
        "reliability:\n  overrides: {gpuu: {mttf: 3 yr}}\n  domains:\n    rak: typical\n    storage: typical\n"
        "    host: typical\n  ages: {shapes: {software-bug: 2}}\n  checkpoint: {tiers: [memory]}\n"
    )
    with pytest.raises(ScenarioError) as caught:
        argosy.load(path)
    told = [str(problem).removeprefix(f"{path}:") for problem in caught.value.problems]
    assert [each.split(": ")[0] for each in told] == ["5:15", "7:5", "8:14", "9:5", "10:19", "11:23"]
    assert "write gpu" in told[0]
    assert "write rack" in told[1]
    assert "mttf: 180 days" in told[2]


def test_shapes_by_component_reach_all_its_categories() -> None:
    found = life("{ages: {shapes: {gpu: 0.8, gpu-hbm: 2}, start: {gpu: new, gpu-hbm: 2 yr}}}").hazards
    assert found.shapes["faulty-gpu"] == 0.8
    assert found.shapes["gpu-hbm"] == 2.0
    assert found.ages_s["faulty-gpu"] == 0.0
    assert found.ages_s["gpu-hbm"] == pytest.approx(2 * YEAR)
    assert life("{ages: {shapes: {gpu: 0.8}}}").hazards.ages_s["faulty-gpu"] == "stationary"
    with pytest.raises(FactError, match="no category of nodes 'nvswitch'"):
        life("{ages: {shapes: {nvswitch: 2}}}")


def test_an_optic_and_a_switch_chip_can_be_given_a_rate() -> None:
    before, after = life(), life("{overrides: {nvswitch: {mttf: 100 yr}, optic: {mttf: 200 yr}}}")
    extra = 1024 / (100 * YEAR) + 4096 / (200 * YEAR)
    assert float(after.rates.per_s - before.rates.per_s) == pytest.approx(extra, rel=1e-9)


# --- recovery ------------------------------------------------------------------------


def test_restart_is_the_sum_of_its_parts() -> None:
    """Scheduling 5 min, groups by MegaScale's 1,047 s at 2,048 ranks in proportion, loading by bandwidth."""
    given = "{restart: {collectives: tcp-store, container: 30 s, load: 20 s}}"
    assert life(given).recovery.restart_s == pytest.approx(300 + 30 + 1047 + 20)
    computed = life("{restart: computed}")
    assert computed.recovery.restart_s == pytest.approx(300 + 5 + computed.cost.load_s)
    assert life("{restart: 8 min}").recovery.restart_s == 480
    values = Values(load_catalog().facts)
    assert restart_s(values, 16384, 1e13, 1e12, 30.0, 60.0) == pytest.approx(60 + 30 + 10)


def test_restart_waits_in_the_queue_and_spare_swap_does_not() -> None:
    assert life("{policy: restart}").recovery.queue_s == 600
    assert life("{policy: restart, queue: 1 h}").recovery.queue_s == 3600
    assert life("{policy: spare-swap}").recovery.queue_s == 0
    assert any("queue" in note for note in life("{queue: 1 h}").notes())


def test_redundant_copies_stand_on_top_of_the_fleet() -> None:
    here = setting("{policy: redundancy, copies: 3}")
    assert here.spare_nodes == 2 * 256
    assert here.hot_spares == 0
    assert fleet_life(here, 1e11).recovery.replicas == 256


def test_losing_all_copies_at_once_against_alternating_renewals() -> None:
    """Pairs whose copies fail at λ and are away for D: the time until both are away, played through."""
    rate, away = 1 / (50 * HOUR), 2 * HOUR
    recovery = Recovery(HOUR, HOUR, "redundancy", spare_nodes=9, repair_s=10 * HOUR, replicas=1.0, copies=2)
    random = np.random.default_rng(3)
    times = []
    for _ in range(4000):
        clock = 0.0
        while True:
            clock += random.exponential(1 / (2 * rate))  # either copy
            other = random.exponential(1 / rate)
            if other < away:
                times.append(clock + other)
                break
            clock += away
    assert 1 / np.mean(times) == pytest.approx(recovery.groups_lost_per_s(rate), rel=0.08)


def test_racks_without_spares_inside_wait_as_single_nodes_of_spare_racks() -> None:
    stock = Recovery(0.0, 0.0, spare_nodes=36, repair_s=86400.0, racks=RackStock(64, 18, 18))
    assert stock.wait_share(1e-5) == pytest.approx(spare_wait_share(1e-5, 86400.0, 2))
    plenty = Recovery(0.0, 0.0, spare_nodes=0, repair_s=86400.0, racks=RackStock(64, 30, 18))
    assert plenty.wait_share(1e-5) < 1e-9
    two = Recovery(0.0, 0.0, spare_nodes=0, repair_s=86400.0, racks=RackStock(64, 18, 16))
    none = Recovery(0.0, 0.0, spare_nodes=0, repair_s=86400.0, racks=RackStock(64, 16, 16))
    assert two.wait_share(1e-5) < 0.01 < none.wait_share(1e-5)


def test_rack_spares_must_be_the_scale_up_domain() -> None:
    with pytest.raises(FactError, match="8 H100-SXM share a scale-up domain"):
        life("{rack_spares: {of: 72, needed: 64}}")
    fleet = "{accelerator: GB200, count: 4096}"
    here = setting("{rack_spares: {needed: 64}}", fleet)
    assert here.racks == 64
    assert here.spare_nodes - here.hot_spares == 64 * 2
    assert here.hot_spares % 18 == 0


# --- where rates must not be carried to ------------------------------------------------


@pytest.mark.parametrize(
    ("preset", "accelerator", "count", "words"),
    [
        ("llama3-table5", "H100-SXM", 16384, ["predict nothing"]),
        ("llama3-table5", "H100-SXM", 12000, []),
        ("llama3-table5", "H100-SXM", 1024, ["16 times smaller"]),
        ("llama3-table5", "GB200", 131072, ["H100-SXM", "GB200", "8 times larger"]),
        ("meta-rsc-jobs", "A100-80GB-SXM", 512, ["predict nothing"]),
        ("gpu-50000h", "H100-SXM", 16384, ["convention"]),
    ],
)
def test_a_rate_carried_too_far_is_told(preset: str, accelerator: str, count: int, words: list[str]) -> None:
    told = extrapolations(preset, accelerator, count)
    assert bool(told) == bool(words)
    assert all(word in told[0] for word in words)


def test_every_preset_says_where_it_must_not_be_carried() -> None:
    from argosy.reliability import presets

    for name in presets(Values(load_catalog().facts)):
        assert load_catalog().entry("reliability", name).text["limits"]


def test_racks_are_those_of_the_facility() -> None:
    here = setting(fleet="{accelerator: GB200, count: 1152, spares: {nodes: 0}}")
    tree = fleet_life(here, 1e11).tree
    assert (tree["rack"].count, tree["rack"].nodes) == (16, 18)


def test_the_documentation_has_the_catalogs_tables() -> None:
    """docs/reliability.md is written by `python -m argosy.reliability.reference`."""
    from argosy.reliability.reference import domain_table, preset_table

    text = (Path(__file__).parents[2] / "docs" / "reliability.md").read_text(encoding="utf-8")
    assert preset_table() in text
    assert domain_table() in text


def test_spares_for_nodes_lost_one_by_one_and_many_at_once() -> None:
    """The quantile of Σ size·Poisson against draws; singles alone are the Poisson quantile."""
    from argosy.laws.reliability import poisson_quantile
    from argosy.reliability.batches import batch_quantile

    for mean in (0.0, 0.3, 7.9, 55.0, 800.0):
        assert batch_quantile([1], [mean]) == poisson_quantile(mean, 0.999)
    random = np.random.default_rng(1)
    drawn = (
        random.poisson(5.0, 2_000_000)
        + 32 * random.poisson(0.02, 2_000_000)
        + 8 * random.poisson(0.5, 2_000_000)
    )
    for probability in (0.5, 0.9, 0.99, 0.999):
        found = batch_quantile([1, 32, 8], [5.0, 0.02, 0.5], probability)
        assert np.mean(drawn <= found) >= probability - 2e-4
        assert np.mean(drawn <= found - 1) < probability + 2e-4


def test_a_fleet_whose_switches_fail_keeps_more_spares() -> None:
    auto = FLEET.replace(", spares: {nodes: 0}", "")
    alone, shared = setting("", auto), setting("{domains: {leaf-switch: {mttf: 2 yr, repair: 4 h}}}", auto)
    assert 0 < alone.hot_spares < 8
    assert 32 <= shared.hot_spares < 64


def test_rolling_maintenance_stops_the_job_only_to_save_and_restart() -> None:
    fleet = FLEET.replace("nodes: 0", "nodes: 8")
    whole, rolling, short = (
        life(f"{{maintenance: {{per_day: 2, duration: 2 h, nodes: {nodes}}}}}", fleet)
        for nodes in ("all", 8, 9)
    )
    assert whole.maintenance.duration_s == short.maintenance.duration_s == 2 * HOUR
    assert rolling.maintenance.duration_s == 0.0
    assert any("needs as many spares" in note for note in short.notes())
    stopped = [float(each.goodput().shares["maintenance"]) for each in (whole, rolling)]
    assert stopped[0] - stopped[1] == pytest.approx(2 * 2 / 24)


def test_diagnosis_and_kept_copies_reach_the_life() -> None:
    found = life(
        "{detection: 1 min, diagnosis: 9 min, misdiagnosed: 10 %, checkpoint: {keep: 3, storage_every: 4}}"
    )
    assert found.recovery.detection_s == 600
    assert found.hazards.misdiagnosed == 0.1
    assert (found.hazards.kept, found.cost.storage_every) == (3.0, 4)
    late = life("{silent_corruption: {latency: 5 h}, checkpoint: {keep: 2, interval: 1 h}}")
    assert any(
        "2 checkpoints are kept: 6" in note or "2 checkpoints are kept: 7" in note for note in late.notes()
    )


def test_flaps_too_frequent_to_tell_apart_slow_as_much_in_fewer_episodes() -> None:
    """The share of time slowed depends on rate × length alone: 64 links × 100 a day × 10 s."""
    slow = life("{domains: {link-flap: {rate: 100 /day, lasts: 10 s}}}").hazards.slowdowns[0]
    assert slow.rate_per_s == pytest.approx(1 / 600)
    assert slow.rate_per_s * slow.lasts_s == pytest.approx(2048 * 100 / 86400 * 10)
    rare = life("{domains: {link-flap: {rate: 0.001 /day, lasts: 10 s}}}").hazards.slowdowns[0]
    assert (rare.rate_per_s, rare.lasts_s) == (pytest.approx(2048 * 0.001 / 86400), pytest.approx(10))


def test_the_example_in_the_documentation_is_a_scenario() -> None:
    text = (Path(__file__).parents[2] / "docs" / "reliability.md").read_text(encoding="utf-8")
    block = text.split("```yaml")[1].split("```")[0]
    whole = (
        "name: x\nfleet: {accelerator: GB200, count: 4096}\n"
        "training: {model: llama-3.1-8b, tokens: 1e11, sequence_length: 8192, global_batch: 16 Mtok}\n"
    )
    found = fleet_life(context(argosy.loads(whole + block)), 1e11)
    assert found.beyond == [
        "Weibull ages", "lemon nodes", "shared failure domains", "bursts", "slow episodes", "spares inside racks",
        "latent silent corruption",
    ]  # fmt: skip
