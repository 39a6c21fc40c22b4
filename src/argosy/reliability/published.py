"""Published figures of fleets beside what the model says about them; `python -m argosy.reliability.published` prints it.

A rate counted on a fleet predicts nothing about that fleet: every prediction here takes its rates from another one,
or is a law's arithmetic. Published values with their sources are in `ROWS`; nothing is fitted to them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from argosy.facts import Values, load_catalog
from argosy.laws import checkpoint as law
from argosy.reliability.checkpoints import CheckpointCost
from argosy.reliability.goodput import goodput
from argosy.reliability.rates import failure_rates
from argosy.reliability.recovery import Recovery, spares_needed

HOUR, DAY, MINUTE = 3600.0, 86400.0, 60.0
LLAMA3 = "arXiv:2407.21783, section 3.3.4 and table 5"
RSC = "arXiv:2410.21680"
MEGASCALE = "arXiv:2402.15627"
DALY = "Daly 2006, captions of figures 3 to 5"


@dataclass(frozen=True, slots=True)
class Row:
    """One published figure: text as published, its bounds for the verdict, and the ways to predict it."""

    what: str
    published: str
    low: float
    high: float
    unit: str
    source: str
    primary: bool
    predictions: tuple[tuple[str, Callable[[Values], float]], ...]


def per_node_day(values: Values, preset: str) -> float:
    """Failures per day of one node of eight accelerators, by a preset."""
    return float(failure_rates(values, preset, 8.0, 1.0).per_s) * DAY


def count(preset: str, accelerators: float, days: float) -> Callable[[Values], float]:
    """Failures of a job on nodes of eight in so many days."""
    return lambda values: per_node_day(values, preset) * accelerators / 8 * days


def mtbf_hours(preset: str, accelerators: float) -> Callable[[Values], float]:
    """Hours between failures of a job on nodes of eight."""
    return lambda values: 24.0 / (per_node_day(values, preset) * accelerators / 8)


def ettr(
    preset: str,
    accelerators: float,
    interval_s: float,
    pause_s: float,
    recovery_s: float,
    inflight: float = 0.0,
) -> Callable[[Values], float]:
    """Per cent of time that is productive, by the closed form; `inflight`: share of speed that saving takes."""

    def value(values: Values) -> float:
        rates = failure_rates(values, preset, accelerators, accelerators / 8)
        cost = CheckpointCost(0.0, pause_s, 0.0, 0.0, 0.0)
        form = goodput(rates, cost, Recovery(0.0, recovery_s, repair_s=0.0), interval_s=interval_s)
        return 100.0 * float(form.ettr) * (1.0 - inflight)

    return value


def gpu_causes(accelerators: float, days: float) -> Callable[[Values], float]:
    """Failures of GPU causes alone, by Llama 3's counts."""

    def value(values: Values) -> float:
        rates = failure_rates(values, "llama3-table5", accelerators, accelerators / 8)
        return float(rates.by_component()["gpu"]) * DAY * days

    return value


def part_hours(preset: str, category: str) -> Callable[[Values], float]:
    """Hours between failures of one part, by one category of a preset."""

    def value(values: Values) -> float:
        rates = failure_rates(values, preset, 8.0, 1.0)
        return 1.0 / HOUR / next(float(c.rate_per_s) for c in rates.categories if c.name == category)

    return value


def gpu_share(preset: str) -> Callable[[Values], float]:
    """Per cent of all failures that GPU causes are, by a preset's categories."""

    def value(values: Values) -> float:
        rates = failure_rates(values, preset, 8.0, 1.0)
        return 100.0 * float(rates.by_component()["gpu"] / rates.per_s)

    return value


def spares(preset: str, nodes: int, repair_days: float, per_cent: bool = False) -> Callable[[Values], float]:
    """Spare nodes that suffice at 99.9 % of moments for a job on `nodes` of eight; or per cent of `nodes`."""

    def value(values: Values) -> float:
        rates = failure_rates(values, preset, 8.0 * nodes, float(nodes))
        needed = float(spares_needed(rates, repair_days * DAY))
        return 100.0 * needed / nodes if per_cent else needed

    return value


def daly_minutes(mtbf_s: float) -> Callable[[Values], float]:
    """Daly's interval for a dump of 5 minutes, in minutes."""
    return lambda values: float(law.daly_interval(5 * MINUTE, mtbf_s)) / MINUTE


def _presets(of: Callable[[str], Callable[[Values], float]], *names: str) -> tuple:  # type: ignore[type-arg]
    return tuple((f"rates of {name}", of(name)) for name in names)


INF = float("inf")
ROWS = (
    Row("Llama 3: unexpected interruptions, 16,384 GPUs, 54 days", "419", 419, 419, "", LLAMA3, True,
        _presets(lambda p: count(p, 16384, 54), "meta-rsc1", "meta-rsc2", "meta-rsc-jobs", "megascale", "opt-175b",
                 "gpu-50000h")),
    Row("Llama 3: GPU causes alone, 16,384 GPUs, 54 days", "268", 268, 268, "", LLAMA3, True,
        _presets(lambda p: count(p, 16384, 54), "bloom-176b", "titan-k20x", "gpu-50000h")),
    Row("Llama 3: effective training time", "> 90", 90, 100, "%", LLAMA3, True, (
        ("meta-rsc1; save every 5 min, 10 s pause; 10 min recovery", ettr("meta-rsc1", 16384, 300, 10, 600)),
        ("meta-rsc2; the same", ettr("meta-rsc2", 16384, 300, 10, 600)),
        ("megascale; the same", ettr("megascale", 16384, 300, 10, 600)),
        ("gpu-50000h; save every 30 min, 60 s pause; 10 min recovery", ettr("gpu-50000h", 16384, 1800, 60, 600)))),
    Row("ByteRobust: ETTR, 9,600 GPUs", "97", 96.5, 97.5, "%", "arXiv:2509.16293, abstract", True, (
        ("llama3-table5; save each minute at 0.9 % of speed; 10 min recovery",
         ettr("llama3-table5", 9600, 60, 0.001, 600, 0.009)),
        ("the same; 5 min recovery", ettr("llama3-table5", 9600, 60, 0.001, 300, 0.009)))),
    Row("MegaScale: effective training time, over 10,000 GPUs", "> 90", 90, 100, "%", MEGASCALE, True, (
        ("llama3-table5; found in 10 min, caught up in 15", ettr("llama3-table5", 12288, 30 * MINUTE, 5, 10 * MINUTE)),
        ("meta-rsc1; the same", ettr("meta-rsc1", 12288, 30 * MINUTE, 5, 10 * MINUTE)))),
    Row("OPT-175B: hosts cycled, 992 GPUs, 2 months", "> 100", 100, INF, "", "arXiv:2205.01068", True,
        _presets(lambda p: count(p, 992, 61), "llama3-table5", "meta-rsc1", "meta-rsc-jobs")),
    Row("OPT-175B: manual restarts for hardware, 992 GPUs, 2 months", "≥ 35", 35, INF, "", "arXiv:2205.01068", True,
        _presets(lambda p: count(p, 992, 61), "llama3-table5", "meta-rsc1", "meta-rsc-jobs")),
    Row("Titan K20X: GPU-hours between double-bit errors", "183,000", 182_000, 184_000, "h", "SC20, public data", True, (
        ("HBM failures of llama3-table5", part_hours("llama3-table5", "gpu-hbm")),)),
    Row("BLOOM: checkpoint with optimizer state, 176 B parameters", "2.3", 2.25, 2.35, "TB", "BigScience project page", True, (
        ("14 bytes a parameter, 10¹² bytes", lambda v: float(law.checkpoint_bytes(176.247e9, 14)) / 1e12),
        ("14 bytes a parameter, 2⁴⁰ bytes", lambda v: float(law.checkpoint_bytes(176.247e9, 14)) / 2**40))),
    Row("Daly: best interval, M = 24 h, δ = 5 min", "117", 116.5, 117.5, "min", DALY, True, (("law", daly_minutes(DAY)),)),
    Row("Daly: best interval, M = 6 h", "57", 56.5, 57.5, "min", DALY, True, (("law", daly_minutes(6 * HOUR)),)),
    Row("Daly: best interval, M = 15 min", "9.1", 9.05, 9.15, "min", DALY, True, (("law", daly_minutes(15 * MINUTE)),)),
    Row("Meta research clusters: time to failure of 8-GPU jobs", "47.7", 47.65, 47.75, "days", RSC, False,
        tuple((w, lambda v, f=f: f(v) / 24) for w, f in  # type: ignore[misc]
              _presets(lambda p: mtbf_hours(p, 8), "meta-rsc1", "meta-rsc2", "llama3-table5"))),
    Row("Meta research clusters: time to failure of 1,024-GPU jobs", "7.9", 7.85, 7.95, "h", RSC, False, (
        ("the 8-GPU figure, 47.7 days, by M ∝ 1/n", lambda v: 47.7 * 24 / 128),
        *_presets(lambda p: mtbf_hours(p, 1024), "meta-rsc1", "meta-rsc2", "llama3-table5"))),
    Row("Meta: time to failure projected at 16,384 GPUs", "1.8", 1.75, 1.85, "h", RSC, False, (
        ("meta-rsc1 (the same authors' rate: arithmetic)", mtbf_hours("meta-rsc1", 16384)),
        ("llama3-table5", mtbf_hours("llama3-table5", 16384)))),
    Row("Meta: time to failure projected at 131,072 GPUs", "0.23", 0.225, 0.235, "h", RSC, False, (
        ("meta-rsc1 (the same authors' rate: arithmetic)", mtbf_hours("meta-rsc1", 131072)),)),
    Row("Meta RSC-1: ETTR of 2,048 to 4,096 GPUs, saving each hour", "> 90", 90, 100, "%", RSC, False, (
        ("llama3-table5, 2,048 GPUs, 5 min recovery", ettr("llama3-table5", 2048, HOUR, 5, 300)),
        ("llama3-table5, 4,096 GPUs, 20 min recovery", ettr("llama3-table5", 4096, HOUR, 5, 1200)),
        ("meta-rsc1, 4,096 GPUs, 20 min recovery", ettr("meta-rsc1", 4096, HOUR, 5, 1200)))),
    Row("Meta RSC-2-like: ETTR at 100,000 GPUs, saving and restarting in 2 min", "90", 89.5, 90.5, "%", RSC, False, (
        ("meta-rsc2", ettr("meta-rsc2", 100_000, 120, 0.001, 120)),
        ("meta-rsc1", ettr("meta-rsc1", 100_000, 120, 0.001, 120)))),
    Row("MegaScale: recoveries in several weeks, over 10,000 GPUs", "> 100", 100, INF, "", MEGASCALE, False, (
        ("llama3-table5, 3 weeks", count("llama3-table5", 10_000, 21)),
        ("llama3-table5, 8 weeks", count("llama3-table5", 10_000, 56)))),
    Row("BLOOM: spare nodes kept for 48", "4", 4, 4, "", "arXiv:2211.05100", False, (
        ("bloom-176b, 99.9 % of moments, repair in 1 day", spares("bloom-176b", 48, 1)),
        ("meta-rsc1; the same", spares("meta-rsc1", 48, 1)),
        ("meta-rsc1; repair in 3 days", spares("meta-rsc1", 48, 3)))),
    Row("Delta: nodes to keep beyond the job's, for 99.9 % availability", "5", 4.5, 5.5, "%", "arXiv:2503.11901", False, (
        ("meta-rsc1, 132 nodes of 8, repair in 1 day", spares("meta-rsc1", 132, 1, per_cent=True)),
        ("meta-rsc1; repair in 3 days", spares("meta-rsc1", 132, 3, per_cent=True)),
        ("llama3-table5; repair in 1 day", spares("llama3-table5", 132, 1, per_cent=True)))),
    Row("Crusoe H200: share of failures that are the GPU's", "61", 60.5, 61.5, "%", "Crusoe at GTC 2025", False, (
        ("llama3-table5", gpu_share("llama3-table5")),)),
    Row("BLOOM: GPU failures a week, 384 GPUs", "1–2", 1, 2, "", "arXiv:2211.05100", False, (
        ("GPU causes of llama3-table5", gpu_causes(384, 7)),
        *_presets(lambda p: count(p, 384, 7), "meta-rsc1", "meta-rsc2", "gpu-50000h"))),
)  # fmt: skip


def settings_for(preset: str, accelerators: float) -> list[tuple[float, float, float]]:
    """(pause s, recovery s, best goodput) over a grid of settings, each at its own best interval."""
    values = Values(load_catalog().facts)
    rates = failure_rates(values, preset, accelerators, accelerators / 8)
    table = []
    for pause in (1.0, 10.0, 60.0, 300.0):
        for recovery in (2.0, 5.0, 10.0, 15.0, 30.0):
            cost = CheckpointCost(0.0, pause, 0.0, 0.0, 0.0)
            form = goodput(rates, cost, Recovery(0.0, recovery * MINUTE, repair_s=0.0))
            table.append((pause, recovery * MINUTE, float(form.ettr)))
    return table


def tables() -> str:
    """The report's tables in Markdown: primary and secondary evidence apart, then Llama 3's recovery settings."""
    values = Values(load_catalog().facts)
    parts = []
    for primary, title in ((True, "Read in the publication itself"), (False, "Read at second hand")):
        lines = ["| figure | published | predicted from | predicted | error |", "|---|---|---|---|---|"]
        for row in (row for row in ROWS if row.primary == primary):
            for number, (way, predict) in enumerate(row.predictions):
                told = (f"{row.what} ({row.source})", f"{row.published} {row.unit}".strip())
                first = told if number == 0 else ("", "")
                value = predict(values)
                shown = f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
                entries = (*first, way, f"{shown} {row.unit}".strip(), error(value, row))
                lines.append("| " + " | ".join(entries) + " |")
        parts.append(f"### {title}\n\n" + "\n".join(lines))
    grid = settings_for("llama3-table5", 16384)
    recoveries = sorted({recovery for _, recovery, _ in grid})
    lines = [
        "| pause of a checkpoint | " + " | ".join(f"{r / 60:.0f} min" for r in recoveries) + " |",
        "|---|" + "---|" * len(recoveries),
    ]
    for pause in sorted({pause for pause, _, _ in grid}):
        cells = [f"{100 * e:.1f} %" for p, _, e in grid if p == pause]
        lines.append(f"| {pause:.0f} s | " + " | ".join(cells) + " |")
    parts.append("### Which recovery explains more than 90 % at Llama 3's scale\n\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


def error(value: float, row: Row) -> str:
    """How far the prediction lies from what was published: `holds` inside its bounds, else per cent from the nearer one."""
    if row.low <= value <= row.high:
        return "holds"
    nearest = row.low if value < row.low else row.high
    off = 100 * (value / nearest - 1)
    return f"{off:+.0f} %" if abs(off) >= 1 else f"{off:+.1f} %"


if __name__ == "__main__":
    print(tables(), end="")
