"""Published failure rates: counted again from the counts, scaled, overridden."""

import csv
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from argosy.facts import FactError, Values, load_catalog
from argosy.reliability import failure_rates, presets

HOUR, DAY = 3600.0, 86400.0
# The Llama 3 Herd of Models, table 5: unexpected interruptions in 54 days on 16,384 GPUs in 2,048 nodes.
COUNTS = {
    "faulty-gpu": 148,
    "gpu-hbm": 72,
    "software-bug": 54,
    "network-switch-cable": 35,
    "host-maintenance": 32,
    "gpu-sram": 19,
    "gpu-system-processor": 17,
    "nic": 7,
    "nccl-watchdog": 7,
    "silent-data-corruption": 6,
    "gpu-thermal": 6,
    "ssd": 3,
    "power-supply": 3,
    "server-chassis": 2,
    "io-expansion-board": 2,
    "dependency": 2,
    "cpu": 2,
    "system-memory": 2,
}
GPU_CAUSES = (
    "faulty-gpu",
    "gpu-hbm",
    "gpu-sram",
    "gpu-system-processor",
    "silent-data-corruption",
    "gpu-thermal",
)


@pytest.fixture(scope="module")
def values() -> Values:
    return Values(load_catalog().facts)


def test_the_counted_fleet_gets_its_counts_back(values: Values) -> None:
    rates = failure_rates(values, "llama3-table5", 16384, 2048)
    expected = {category.name: category.system_per_s * 54 * DAY for category in rates.categories}
    assert expected == pytest.approx(COUNTS, rel=1e-5)
    assert rates.per_s * 54 * DAY == pytest.approx(419, rel=1e-5)
    assert 1 / rates.per_s == pytest.approx(54 * DAY / 419, rel=1e-5)
    assert rates.mtbf_s / 60 == pytest.approx(185.6, abs=0.05)


def test_counts_against_the_reference_table(shared_directory: Path) -> None:
    """The same eighteen counts as in the collection of published figures, and no others."""
    table = shared_directory / "data" / "reliability" / "published_reliability.csv"
    with table.open() as lines:
        rows = [row for row in csv.DictReader(lines) if row["metric"].startswith("interruptions: ")]
    assert sorted(int(row["value"]) for row in rows) == sorted(COUNTS.values())


def test_bands_are_exact_poisson_intervals(values: Values) -> None:
    for name, count in COUNTS.items():
        fact = values.facts[f"reliability.llama3-table5.{name}"]
        exposure = (16384 if fact.kind == "per GPU" else 2048) * 54 * DAY
        # At the ends of the band the count is as surprising as five percent.
        assert stats.poisson.sf(count - 1, fact.low * exposure) == pytest.approx(0.05, abs=1e-4)
        assert stats.poisson.cdf(count, fact.high * exposure) == pytest.approx(0.05, abs=1e-4)
        assert not fact.is_assumption


def test_agreement_of_fifty_thousand_hours_is_a_coincidence(values: Values) -> None:
    # GPU causes alone give 79,000 h per GPU, all causes 50,677: the round 50,000 h was meant for GPUs.
    rates = failure_rates(values, "llama3-table5", 1, 1).by_component()
    assert 1 / rates["gpu"] / HOUR == pytest.approx(
        16384 * 54 * 24 / sum(COUNTS[c] for c in GPU_CAUSES), rel=1e-5
    )
    assert 1 / rates["gpu"] / HOUR == pytest.approx(79_000, rel=0.01)
    everything = failure_rates(values, "llama3-table5", 16384, 2048).per_s / 16384
    assert 1 / everything / HOUR == pytest.approx(50_677, rel=1e-4)


def test_overrides_scale_a_group_and_replace_a_category(values: Values) -> None:
    before = failure_rates(values, "llama3-table5", 16384, 2048)
    gpu = 1 / (100_000 * HOUR)
    after = failure_rates(values, "llama3-table5", 16384, 2048, {"gpu": gpu, "ssd": 0.0, "software": 0.0})
    assert after.by_component()["gpu"] == pytest.approx(16384 * gpu)
    shares = [[c.rate_per_s for c in rates.categories if c.component == "gpu"] for rates in (before, after)]
    assert np.divide(*shares) == pytest.approx(np.full(6, 100_000 / (16384 * 54 * 24 / 268)), rel=1e-4)
    assert after.by_component()["software"] == 0.0
    lost = before.by_component()["host"] - after.by_component()["host"]
    assert lost * 54 * DAY == pytest.approx(3, rel=1e-4)


def test_a_part_that_the_preset_lacks_can_be_given(values: Values) -> None:
    optic = 1 / (5e6 * HOUR)
    rates = failure_rates(values, "gpu-50000h", 16384, 2048, {"optic": optic}, populations={"optic": 100_000})
    assert rates.by_component() == pytest.approx({"gpu": 16384 / (50_000 * HOUR), "network": 1e5 * optic})


@pytest.mark.parametrize(
    ("preset", "overrides", "hint"),
    [
        ("llama3-tabel5", {}, "llama3-table5"),
        ("llama3-table5", {"gpus": 1e-9}, "gpu"),
        ("cooling", {}, "known"),
    ],
)
def test_unknown_names_are_answered_with_known_ones(
    values: Values, preset: str, overrides: dict[str, float], hint: str
) -> None:
    with pytest.raises(FactError, match=hint):
        failure_rates(values, preset, 8, 1, overrides)


def test_presets_are_those_with_rates(values: Values) -> None:
    assert {"llama3-table5", "meta-rsc1", "meta-rsc2", "megascale", "gpu-50000h"} <= set(presets(values))
    assert not {"checkpoint", "recovery"} & set(presets(values))


def test_research_cluster_projection(values: Values) -> None:
    # 6.5 failures per 1,000 node-days: 1.8 h at 16,384 GPUs; the jobs' own figures imply another rate.
    projected = failure_rates(values, "meta-rsc1", 16384, 2048)
    assert projected.mtbf_s / HOUR == pytest.approx(1.803, abs=1e-3)
    observed = failure_rates(values, "meta-rsc-jobs", 1024, 128)
    assert observed.mtbf_s / HOUR == pytest.approx(7.9, abs=0.05)


def test_rates_broadcast_over_draws() -> None:
    drawn = Values(load_catalog().facts).sample(500, seed=3)
    rates = failure_rates(drawn, "llama3-table5", 16384, 2048)
    assert np.shape(rates.per_s) == (500,)
    total = rates.per_s * 54 * DAY
    # 419 counts vary by √419 when drawn independently by category.
    assert total.std() == pytest.approx(419**0.5, rel=0.25)
    assert rates.node_share.shape == (500,)
    assert np.all((rates.node_share > 0.7) & (rates.node_share < 1))
