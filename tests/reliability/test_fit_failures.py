"""Fits of failure logs, against logs drawn from known laws."""

import csv
import json
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from argosy.facts import FactError, Values, load_catalog
from argosy.reliability import fit
from argosy.reliability.failure_log import read_log
from argosy.reliability.fitted import burst_share, fit_log

DAY = 86400.0


def run(
    path: Path, nodes: int, accelerators: int, start: str | None, end: str | None, new: bool, preset: str
) -> dict:
    watched = {"node": float(nodes), "gpu": float(accelerators)}
    return fit_log(read_log(path, start, end), path.name, watched, new, preset)


def test_rate_interval_covers_as_often_as_it_says() -> None:
    counts = np.random.default_rng(0).poisson(7.0, 2000)
    covered = [low <= 7.0 <= high for _, low, high in (fit.rate_interval(int(n), 1.0) for n in counts)]
    assert 0.89 <= np.mean(covered) <= 0.96  # exact intervals of counts cover at least 90 %
    assert fit.rate_interval(0, 2.0) == pytest.approx((0.0, 0.0, -np.log(0.05) / 2.0))


@pytest.mark.parametrize("shape", [0.6, 1.0, 2.5])
def test_weibull_with_censoring(shape: float) -> None:
    random = np.random.default_rng(4)
    lives, cut = 100.0 * DAY * random.weibull(shape, 3000), random.uniform(20.0, 200.0, 3000) * DAY
    found = fit.weibull_fit(lives[lives <= cut], cut[lives > cut])
    assert found["shape"] == pytest.approx(shape, rel=0.06)
    assert found["low"] < found["shape"] < found["high"]
    assert found["scale_s"] == pytest.approx(100.0 * DAY, rel=0.1)
    naive = fit.weibull_fit(lives[lives <= cut], [])
    assert naive["scale_s"] < 0.9 * found["scale_s"]  # to forget the survivors is to overstate failures


def test_exponential_scale_is_time_over_failures() -> None:
    lives, cut = np.random.default_rng(1).exponential(50.0, 400), np.full(100, 30.0)
    found = fit.weibull_fit(lives, cut)
    assert found["mean_s"] == pytest.approx((lives.sum() + cut.sum()) / 400, rel=0.1)


def test_burstiness_and_location() -> None:
    random = np.random.default_rng(2)
    calm = random.uniform(0.0, 100.0, 200)
    assert fit.burstiness(calm, 100.0)["p"] > 0.01
    assert (
        fit.burstiness(np.repeat(random.uniform(0.0, 99.0, 40), 5) + random.uniform(0, 0.1, 200), 100.0)["p"]
        < 1e-6
    )
    assert fit.burstiness([1.0] * 5, 100.0) is None
    even = [f"n{k}" for k in random.integers(0, 100, 200)]
    assert fit.location(even, 100)["p"] > 0.01
    lemons = fit.location(even + ["n7"] * 30 + ["n8"] * 30, 100)
    assert lemons["p"] <= 0.001
    assert set(lemons["top3"][:2]) == {"n7", "n8"}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """180 days of 40 nodes: GPUs that fail 1/400 a day and wear-out hosts renewed at each failure, shape 3."""
    random, start = np.random.default_rng(5), datetime(2026, 1, 1)
    rows = [
        (float(at), "faulty-gpu", f"n{random.integers(40)}")
        for at in random.uniform(0, 180, random.poisson(144))
    ]
    for node in range(40):
        at = 0.0
        while (at := at + 30.0 * float(random.weibull(3.0))) < 180:
            rows.append((at, "power-supply", f"n{node}"))
    rows += [(12.0, "gremlins", "n3")]
    path = tmp_path / "failures.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["time", "category", "node"])
        writer.writerows([(start + timedelta(days=at)).isoformat(), c, n] for at, c, n in sorted(rows))
    return path


def test_a_log_becomes_an_overrides_file(log: Path) -> None:
    answer = run(log, 40, 320, "2026-01-01", "2026-06-30", False, "llama3-table5")
    gpu, psu = answer["after"]["faulty-gpu"], answer["after"]["power-supply"]
    assert gpu["low"] < 144 / (180 * 24 * 320) < gpu["high"]
    assert psu["weibull"]["low"] < 3.0 < psu["weibull"]["high"]
    assert gpu["weibull"]["low"] < 1.0 < gpu["weibull"]["high"]
    catalog = load_catalog().with_overrides(answer["overrides"])
    assert Values(catalog.facts)["reliability.llama3-table5.faulty-gpu"] == pytest.approx(
        gpu["rate_per_h"] / 3600, rel=1e-4
    )
    told = " ".join(answer["warnings"])
    assert "beyond 180 days" in told
    assert "gremlins" in told
    assert "gpu-hbm" in told  # never seen: left alone


def test_bad_logs_are_told(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("when,category\n1,a\n")
    with pytest.raises(FactError, match=r"log.csv:1: no column time"):
        run(path, 4, 32, None, None, False, "llama3-table5")
    path.write_text("time,category\n2026-01-01,gpu\nyesterday,gpu\n")
    with pytest.raises(FactError, match=r"log.csv:3: time: 'yesterday'"):
        run(path, 4, 32, None, None, False, "llama3-table5")
    path.write_text("time,category\n2026-01-01,gpu\n2026-01-02,gpu\n")
    with pytest.raises(FactError, match="unknown preset"):
        run(path, 4, 32, None, None, False, "llama9")
    assert any("--start" in told for told in run(path, 4, 32, None, None, False, "llama3-table5")["warnings"])


def test_the_command_writes_what_a_scenario_reads(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from argosy.cli.main import run as command

    out = tmp_path / "overrides.yaml"
    assert command(["fit-failures", str(log), "--nodes", "40", "--output", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "power-supply" in shown
    assert "--start" in shown  # the window was guessed, and that is said
    catalog = load_catalog().with_overrides(out)
    rate = catalog.facts["reliability.llama3-table5.power-supply"]
    assert rate.low < rate.value < rate.high
    assert "failures.csv" in rate.source


def test_seconds_since_the_start_are_read_too(tmp_path: Path) -> None:
    """The other documented form: start_s, end_s, component, category, node; repair times come from the ends."""
    path = tmp_path / "log.csv"
    lines = [f"{k * 3600},{k * 3600 + 7200},gpu,xid-79,n{k % 7}" for k in range(100)]
    path.write_text("start_s,end_s,component,category,node\n" + "\n".join(lines) + "\n")
    log = read_log(path, end="10 days")
    assert log.window_s == 10 * DAY
    assert not log.guessed
    assert {each.category for each in log.failures} == {
        "gpu"
    }  # the category is unknown, its component is not
    answer = fit_log(log, "log.csv", {"node": 7.0, "gpu": 56.0})
    assert answer["repair"]["mean_s"] == 7200.0
    assert answer["after"]["gpu"]["rate_per_h"] == pytest.approx(100 / (240 * 56))
    assert answer["scenario"]["reliability"]["repair"] == {"time": "2 h", "spread": "fixed"}
    path.write_text("start_s,end_s,component,category\n5,1,gpu,gpu\nx,9,gpu,gpu\n7,9,gpu,\n")
    with pytest.raises(FactError) as caught:
        read_log(path)
    assert [problem.split(": ")[0] for problem in caught.value.problems] == [f"{path}:{n}" for n in (2, 3, 4)]


def test_bursts_are_measured_by_the_chain_law() -> None:
    """Chains in which each failure lights one more with probability 0.4: the dispersion gives 0.4 back."""
    random = np.random.default_rng(8)
    starts = random.uniform(0.0, 1e6, 3000)
    times = [start + 0.1 * k for start in starts for k in range(random.geometric(0.6))]
    found = fit.burstiness(times, 1e6)
    assert burst_share(found["dispersion"]) == pytest.approx(0.4, abs=0.05)
    assert burst_share(0.7) == 0.0


def test_what_was_fitted_comes_back_in_a_scenario(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Round trip: log → scenario part → extends → the engine's rates and shapes, and a plan for a larger fleet is told."""
    import argosy
    from argosy.cli.main import run as command
    from argosy.planning.context import context
    from argosy.planning.life import fleet_life

    part = tmp_path / "fitted.yaml"
    window = ["--start", "2026-01-01", "--end", "2026-06-30"]
    with log.open("a") as file:
        file.write("2026-03-01,leaf-switch,\n")
    assert command(["fit-failures", str(log), "--nodes", "40", *window, "--scenario", str(part)]) == 1
    assert "--parts leaf-switch=COUNT" in capsys.readouterr().err
    arguments = [
        "fit-failures",
        str(log),
        "--nodes",
        "40",
        *window,
        "--parts",
        "leaf-switch=4",
        "--scenario",
        str(part),
    ]
    assert command([*arguments, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    text = f"""
name: own
extends: [{part}]
fleet: {{accelerator: H100-SXM, count: 2048, spares: {{nodes: 4}}}}
training: {{model: llama-3.1-8b, tokens: 1e11, sequence_length: 8192, global_batch: 4 Mtok}}
"""
    setting = context(argosy.loads(text))
    life = fleet_life(setting, 1e11)
    rates = {each.name: each for each in life.rates.categories}
    assert float(rates["faulty-gpu"].rate_per_s) == pytest.approx(
        answer["after"]["faulty-gpu"]["rate_per_h"] / 3600, rel=1e-4
    )
    assert float(rates["node"].rate_per_s) == pytest.approx(
        answer["after"]["gremlins"]["rate_per_h"] / 3600, rel=1e-4
    )
    assert life.hazards.shapes == {"power-supply": pytest.approx(3.0, rel=0.2)}
    (leaf,) = life.hazards.shocks
    assert leaf.name == "leaf-switch"
    assert "Weibull ages" in life.beyond
    assert any("6.4 times larger" in note and "180 days" in note for note in life.notes())
