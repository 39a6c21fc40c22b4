"""What to fix first, and the curves: only what acts, in the right order, and where simulation beats the closed form."""

from dataclasses import replace

import numpy as np
import pytest

from argosy.reliability import (
    CategoryRate,
    CheckpointCost,
    FailureRates,
    Hazards,
    Maintenance,
    Racks,
    Recovery,
    Shock,
    Slowdown,
)
from argosy.reliability.checkpoints import copies_to_keep, retention_bytes
from argosy.reliability.improve import System, fix_first, improvements, interval_curve, spares_curve

HOUR, DAY = 3600.0, 86400.0


def system(hazards: Hazards | None = None, spares: int = 8, repair_s: float = 6 * HOUR) -> System:
    rates = FailureRates(
        "test",
        (
            CategoryRate("gpu", "gpu", "node", "node", 64.0, 1.0 / (64 * 6 * HOUR)),
            CategoryRate("software-bug", "software", "job", "job", 1.0, 1.0 / DAY),
        ),
    )
    cost = CheckpointCost(0.0, 30.0, 0.0, 0.0, 0.0)
    recovery = Recovery(300.0, 600.0, "spare-swap", spares, repair_s, replicas=8, pause_s=30.0)
    return System(30 * DAY, 64, rates, cost, recovery, Maintenance(), None, hazards)


def test_only_changes_that_act_are_proposed() -> None:
    plain = improvements(system())
    assert "spares +8" in plain
    assert not {"queue −50 %", "maintenance −50 %", "silent corruption found twice as fast"} & plain.keys()
    everything = Hazards(
        lemon_share=0.1, lemon_factor=5.0, shocks=(Shock("rack", 8, 1e-8),), slowdowns=(Slowdown("slow", 1e-5, HOUR, 0.1),),
        silent_latency_s=HOUR, racks=Racks(9, 8), misdiagnosed=0.1,
    )  # fmt: skip
    busy = replace(system(everything), interval_s=600.0, maintenance=Maintenance(1.0, HOUR))
    assert len(improvements(busy)) == len(plain) + 7
    assert improvements(busy)["one spare rack more"].recovery.spare_nodes == 8 + 9


def test_every_change_is_told_with_its_error() -> None:
    """Halving a restart of 600 s saves 300 s a failure: the gain is known to a few per cent of itself."""
    given = system(spares=30)
    rows = {row["name"]: row for row in fix_first(given, improvements(given), draws=150)}
    failures = given.work_s * float(given.rates.per_s)
    saved = rows["restart −50 %"]["days_saved"] * DAY
    assert saved == pytest.approx(failures * 300.0, rel=0.25)
    for name in ("restart −50 %", "detection −50 %", "mean time to failure ×1.5"):
        assert rows[name]["gain"] > 5 * rows[name]["stderr"] > 0
    assert rows["spares +8"]["gain"] == pytest.approx(0.0, abs=1e-6)
    assert next(iter(rows)) == max(rows, key=lambda name: rows[name]["gain"])


def test_spares_by_bisection_are_the_fewest() -> None:
    given = system(repair_s=DAY)
    found = spares_curve(given, draws=60)
    goodput = {row["spares"]: row["goodput"] for row in found["curve"]}
    plenty, fewest = goodput[max(goodput)], found["recommended"]
    assert goodput[fewest] >= plenty - 1e-3
    assert goodput[fewest - 1] < plenty - 1e-3
    assert found["suffice_99_9"] >= fewest > 2


def test_simulation_overrules_the_interval_of_the_closed_form() -> None:
    """Bursts: failures come together, so that most of the time is calmer than their mean, and saving less often is better."""
    calm = interval_curve(system(spares=64), draws=60)
    assert calm["recommended_s"] == pytest.approx(calm["closed_form_s"], rel=0.5)
    bursts = interval_curve(system(Hazards(burst_share=0.9, burst_delay_s=60.0), spares=64), draws=60)
    assert bursts["by"] == "simulation"
    assert bursts["recommended_s"] > 1.3 * bursts["closed_form_s"]


def test_copies_to_keep_and_what_they_take() -> None:
    assert list(copies_to_keep(np.array([0.0, 100.0, HOUR, 3 * HOUR]), HOUR)) == [2, 2, 2, 4]
    assert float(retention_bytes(1e12, copies_to_keep(3 * HOUR, HOUR))) == 5e12
