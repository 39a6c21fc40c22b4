"""Writes docs/scheduling-validation.md: `python -m argosy.validation.report_queues FOLDER [FILE]`.

FOLDER holds earth_vc_10min_2020-05.csv and helios_cluster_summary.csv (Helios, doi:10.1145/3458817.3476223) and
philly_vc_seed0.csv (Philly's arrivals and gang sizes through Gavel, arXiv:1901.05758).
"""

from __future__ import annotations

import csv
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.stats import spearmanr

from argosy import units
from argosy.laws import queueing
from argosy.scheduling import Job, Outcome, simulate, uniform
from argosy.scheduling.load import arrivals, drawn_load
from argosy.scheduling.policy import preset
from argosy.spec import JobClass, Scheduling
from argosy.spec.scheduling import Durations
from argosy.validation.virtual_clusters import (
    NODE,
    Series,
    queue_at,
    read_series,
    replayed,
    statistics,
)

DOCUMENT = Path("docs/scheduling-validation.md")
DAYS = 183.0  # April to September 2020: the days that Helios' summary counts
SEEDS = range(5)
WARM_S = 5 * 86400.0  # left out of forecasts: the queue starts empty
_SIZES = JobClass(name="x").sizes


def main(arguments: Sequence[str]) -> None:
    """Write the page from the folder named."""
    if not arguments:
        sys.exit("usage: python -m argosy.validation.report_queues FOLDER [FILE]")
    target = Path(arguments[1]) if len(arguments) > 1 else DOCUMENT
    target.write_text("\n".join(page(Path(arguments[0]))) + "\n", encoding="utf-8")


def page(folder: Path) -> Iterator[str]:
    """The lines of the page."""
    clusters = read_series(folder / "earth_vc_10min_2020-05.csv")
    yield from _head()
    yield from closed_forms()
    yield from _littles_law(folder / "helios_cluster_summary.csv", clusters)
    yield from replays(clusters)
    yield from forecasts(clusters)
    yield from burstiness(folder / "philly_vc_seed0.csv")
    yield from _cannot()


def _paragraph(*sentences: str) -> Iterator[str]:
    """Prose in lines of the page, and an empty line after it."""
    yield from textwrap.wrap(" ".join(sentences), 125, break_long_words=False, break_on_hyphens=False)
    yield ""


def _table(heads: str) -> Iterator[str]:
    """The head of a table whose columns are separated by |."""
    names = heads.split("|")
    yield "| " + " | ".join(name.strip() for name in names) + " |"
    yield "|---" * len(names) + "|"


def _head() -> Iterator[str]:
    yield from ("# The cluster's queue against closed forms and public data", "")
    yield from _paragraph(
        "Written by `python -m argosy.validation.report_queues FOLDER`; do not edit. Nothing in the simulator was",
        "fitted to these data. Data: Helios (Hu et al. 2021, doi:10.1145/3458817.3476223; cluster Earth, May 2020,",
        "MIT and CC-BY 4.0) and Philly's arrivals through Gavel (arXiv:1901.05758; MIT, job types synthetic, large",
        "clusters cut at 2,000 jobs).",
    )


# --- closed forms ----------------------------------------------------------------------


def closed_forms() -> Iterator[str]:
    """Single accelerators as servers: simulated waits beside the laws of queueing."""
    yield from ("## Closed forms", "")
    yield from _paragraph(
        "One-accelerator jobs on one node of c accelerators, first come first served: the simulator against Erlang C",
        "(M/M/c) and Pollaczek and Khinchine (M/G/1). Means over five seeds of 40,000 jobs, ± 95 % of the mean over seeds.",
    )
    yield from _table("queue | load | mean wait, law | simulated | Little's law: queue ÷ (rate × wait)")
    for name, servers, load, cv in (
        ("M/M/1", 1, 0.7, 1.0),
        ("M/M/8", 8, 0.9, 1.0),
        ("M/M/64", 64, 0.95, 1.0),
        ("M/D/1", 1, 0.8, 0.0),
        ("M/G/1, lognormal, coefficient of variation 2", 1, 0.6, 2.0),
    ):
        expected, waited, little = _one_queue(servers, load, cv)
        mean, half = float(np.mean(waited)), 2.776 * float(np.std(waited, ddof=1)) / 5**0.5
        yield f"| {name} | {load:g} | {expected:.3f} s | {mean:.3f} ± {half:.3f} s | {np.mean(little):.3f} |"
    yield ""


def _one_queue(servers: int, load: float, cv: float) -> tuple[float, list[float], list[float]]:
    """Mean wait by law, those of five seeds, and Little's ratio of each; the mean service takes 1 s."""
    rate, count = load * servers, 40_000
    pollaczek = rate * (1 + cv**2) / 2 / (1 - load) if servers == 1 else None
    expected = float(queueing.mean_wait(rate, 1.0, servers)) if pollaczek is None else pollaczek
    waited, little = [], []
    for seed in SEEDS:
        luck = np.random.default_rng([seed, 5])
        submit = np.cumsum(luck.exponential(1 / rate, count))
        if cv == 1.0:
            service = luck.exponential(1.0, count)
        else:
            spread = np.sqrt(np.log(1 + cv**2))
            service = np.exp(spread * luck.standard_normal(count) - spread**2 / 2)
        jobs = [Job(f"j{n}", float(submit[n]), float(service[n]), 1) for n in range(count)]
        outcome = simulate(uniform(1, servers), jobs, preset("fifo"))
        waited.append(float(outcome.wait_s.mean()))
        times = np.linspace(0.0, float(submit[-1]), 200_001)[1:]
        mean_queue = float(queue_at(outcome, times).mean())
        little.append(mean_queue / (count / float(submit[-1]) * waited[-1]))
    return expected, waited, little


# --- Helios ----------------------------------------------------------------------------


def _littles_law(summary: Path, clusters: Sequence[Series]) -> Iterator[str]:
    """The published means of all jobs beside the counts."""
    with summary.open(encoding="utf-8", newline="") as file:
        earth = next(row for row in csv.DictReader(file) if row["id"] == "Earth")
    per_s = float(earth["gpu_job_num"]) / (DAYS * 86400)
    running, waiting = per_s * float(earth["avg_run_time_gpu"]), per_s * float(earth["avg_que_time_gpu"])
    held = sum(float(earth[f"{state}_gpu_time"]) for state in ("complete", "cancel", "fail"))
    share = held / (DAYS * 86400 * float(earth["gpu_num"]))
    rows = [statistics(each) for each in clusters]
    total = sum(row["capacity"] for row in rows)
    used = sum(row["used"] * row["capacity"] for row in rows) / total
    counted = sum(row["running_jobs"] for row in rows)
    queued = sum(float(each.pending_jobs.mean()) for each in clusters)
    yield from ("## Do the two publications of Helios agree?", "")
    lasts, waits = (float(earth[name]) for name in ("avg_run_time_gpu", "avg_que_time_gpu"))
    yield from _paragraph(
        f"Little's law on the summary of Earth ({float(earth['gpu_job_num']):,.0f} GPU jobs in {DAYS:g} days, mean run",
        f"{_time(lasts)}, mean wait {_time(waits)}) beside the counts of May:",
    )
    yield from _table(" | from the summary, April to September | counted, May")
    yield from (
        f"| accelerators | {float(earth['gpu_num']):,.0f} | {total:,} in {len(rows)} virtual clusters |",
        f"| jobs running | {running:.0f} | {counted:.0f} |",
        f"| jobs waiting | {waiting:.1f} | {queued:.1f} |",
        f"| accelerators in use | {100 * share:.1f} % | {100 * used:.1f} % |",
        "",
    )
    yield from _paragraph(
        "The months and the virtual clusters differ: the two agree in how much is used, and within a factor of two in jobs."
    )


def replays(clusters: Sequence[Series]) -> Iterator[str]:
    """Reconstructed jobs replayed, virtual cluster by virtual cluster."""
    yield from ("## Replay of jobs that explain the counts", "")
    yield from _paragraph(
        "The series has counts, no jobs. The fewest arrivals, starts and ends that lead from one count to the next make",
        "jobs with sizes and durations (`argosy.validation.virtual_clusters`); these are replayed under two policies on",
        "the virtual cluster's nodes of eight. What is tested: whether capacity, gangs and order alone make a queue of",
        "that shape. Which job ended is a choice of the reconstruction; jobs that come and go between two counts are not",
        "in it.",
    )
    yield from _table(
        "virtual cluster | GPUs | used: counted | replayed | jobs | moments with a queue: counted | fifo | easy | "
        "GPUs asked for: counted | fifo | easy | correlation in time: fifo | easy"
    )
    table = []
    for each in clusters:
        seen, fifo, easy = statistics(each), replayed(each, "fifo"), replayed(each, "easy")
        table.append((seen, fifo, easy))
        yield (
            f"| {each.name} | {each.capacity} | {100 * seen['used']:.1f} % | {100 * fifo['used']:.1f} % | {fifo['jobs']:,} | "
            f"{_share(seen['queued_share'])} | {_share(fifo['queued_share'])} | {_share(easy['queued_share'])} | "
            f"{seen['pending']:.1f} | {fifo['pending']:.1f} | {easy['pending']:.1f} | "
            f"{_ratio(fifo['correlation'])} | {_ratio(easy['correlation'])} |"
        )
    yield ""
    for policy, place in (("fifo", 1), ("easy", 2)):
        shares = _rank(
            [row[0]["queued_share"] for row in table], [row[place]["queued_share"] for row in table]
        )
        asked = _rank([row[0]["pending"] for row in table], [row[place]["pending"] for row in table])
        more = sum(row[place]["pending"] for row in table) / sum(row[0]["pending"] for row in table)
        yield from _paragraph(
            f"Under {policy}, rank correlation over the virtual clusters {shares:.2f} in moments with a queue,",
            f"{asked:.2f} in accelerators asked for; {more:.1f} times as many are asked for as counted.",
        )
    free = [row[0]["free_while_queued"] for row in table if row[0]["free_while_queued"]]
    yield from _paragraph(
        "Which virtual clusters queue is reproduced, when they do only in part, and queues come out too long: a job that",
        "is given another's end holds its place too long, and in the replay others wait behind it.",
        f"In {len(free)} of {len(table)} virtual clusters accelerators were free at moments with a queue",
        f"({min(free):.1f} to {max(free):.1f} on average): jobs there waited for whole gangs or for order, not for",
        "accelerators alone.",
    )


_FORECASTS = (("fifo, Poisson", "fifo", 1.0), ("easy, Poisson", "easy", 1.0), ("easy, bursty", "easy", 5.0))


def forecasts(clusters: Sequence[Series]) -> Iterator[str]:
    """Queues foretold from the mean load alone."""
    yield from ("## Forecast from mean load alone", "")
    yield from _paragraph(
        "Given only what a planner has (accelerators, mean accelerators and jobs in use), jobs are drawn: lognormal",
        "durations of Earth as a whole (median 234 s, mean 5,131 s), Philly's sizes tilted to the mean size of the virtual",
        "cluster and cut at its accelerators, arrivals by Poisson or as bursty as Philly's (coefficient of variation 5).",
        "26 days after 5 left out, three seeds; easy knows the durations.",
    )
    names = " | ".join(name for name, _, _ in _FORECASTS)
    yield from _table(
        f"virtual cluster | GPUs | used | moments with a queue: counted | {names} | GPUs asked for: counted | {names}"
    )
    table: list[tuple[dict[str, Any], list[tuple[float, float]]]] = []
    for each in clusters:
        seen = statistics(each)
        if seen["running_jobs"] < 0.5:
            continue
        told = [_forecast(seen, policy, cv) for _, policy, cv in _FORECASTS]
        table.append((seen, told))
        shares, asked = (
            " | ".join(_share(one) for one, _ in told),
            " | ".join(f"{one:.1f}" for _, one in told),
        )
        yield (
            f"| {each.name} | {each.capacity} | {100 * seen['used']:.1f} % | {_share(seen['queued_share'])} | {shares} | "
            f"{seen['pending']:.1f} | {asked} |"
        )
    yield ""
    counted = [row[0]["queued_share"] for row in table]
    ranks = [_rank(counted, [row[1][place][0] for row in table]) for place in range(len(_FORECASTS))]
    busy = [row for row in table if row[0]["pending"] > 0.05]
    times = [
        float(np.median([row[1][n][1] / row[0]["pending"] for row in busy])) for n in range(len(_FORECASTS))
    ]
    found = "; ".join(
        f"{name}: rank correlation {rank:.2f}, the median queue {_short(ratio)} times as long as counted"
        for (name, _, _), rank, ratio in zip(_FORECASTS, ranks, times, strict=True)
    )
    yield from _paragraph(
        f"**This fails.** {found}. The durations of a whole cluster, with a mean 22 times the median, do not describe one",
        "virtual cluster of 8 to 208 accelerators, where one long job then blocks everybody, most of all first come first",
        "served; its own are not public, and its users react to the queue. A drawn load compares policies; it does not",
        "foretell the waits of a small cluster. For those, replay its trace.",
    )


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.1f}"


def _forecast(seen: dict[str, Any], policy: str, cv: float) -> tuple[float, float]:
    """Share of moments with a queue, mean accelerators asked for, over seeds."""
    capacity = int(seen["capacity"])
    one = JobClass(name="job", sizes=_tilted(seen["size"], capacity), duration=Durations(), time_limit=1.0)
    given = Scheduling(mix=(one,), load=seen["used"], horizon=31 * 86400.0, arrivals_cv=cv)
    shares, asked = [], []
    for seed in range(3):
        jobs = drawn_load(given, capacity, NODE, seed).jobs
        nodes = max(1, capacity // NODE)
        cluster = uniform(nodes, NODE, nodes_per_leaf=nodes)
        outcome = simulate(cluster, jobs, preset(policy), horizon_s=given.horizon)
        pending = queue_at(outcome, np.arange(WARM_S, given.horizon, 600.0))
        shares.append(float((pending > 0).mean()))
        asked.append(float(pending.mean()))
    return float(np.mean(shares)), float(np.mean(asked))


def _tilted(mean: float, most: int) -> dict[int, float]:
    """Philly's frequencies of sizes times size to a power, so that the mean size is this; none larger than `most`.

    `mean` is of running jobs; durations do not depend on sizes here, so that it is that of all jobs too.
    """
    sizes = {size: weight for size, weight in {**_SIZES, 64: 0.0001, 128: 0.00001}.items() if size <= most}
    places, weights = np.array(list(sizes)), np.array(list(sizes.values()))

    def gap(power: float) -> float:
        tilted = weights * places.astype(float) ** power
        return float(places @ tilted / tilted.sum()) - mean

    low, high = -8.0, 8.0
    power = low if gap(low) > 0 else high if gap(high) < 0 else brentq(gap, low, high)
    return dict(zip(map(int, places), (weights * places.astype(float) ** power).tolist(), strict=True))


# --- Philly ----------------------------------------------------------------------------


def burstiness(path: Path) -> Iterator[str]:
    """What real arrivals do to waits that Poisson arrivals do not."""
    arrived: dict[str, list[tuple[float, int]]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            arrived.setdefault(row["vc"], []).append((float(row["arrival_s"]), int(row["gpus"])))
    largest = sorted(arrived, key=lambda name: (-len(arrived[name]), name))[:5]
    yield from ("## What bursts do", "")
    yield from _paragraph(
        "Arrivals and gang sizes of Philly's five largest virtual clusters, durations drawn (lognormal of Helios' Earth), on",
        "as many nodes of eight as make a load of 70 % (or hold the largest gang), policy easy; beside the same sizes in",
        "shuffled order at Poisson times of the same rate. Means over five seeds of durations.",
    )
    yield from _table(
        "virtual cluster | jobs | GPUs | spread of gaps | wait P90: as arrived | Poisson | wait P99: as arrived | Poisson"
    )
    for name in largest:
        rows = sorted(arrived[name])
        times, sizes = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
        gaps = np.diff(times)
        nodes, real, even = _bursts(times, sizes.astype(int))
        yield (
            f"| {name} | {len(rows):,} | {nodes * NODE} | {gaps.std() / gaps.mean():.1f} | "
            f"{_time(real[0])} | {_time(even[0])} | {_time(real[1])} | {_time(even[1])} |"
        )
    yield ""
    yield from _paragraph(
        "Poisson arrivals are the default of a drawn load because nothing better is known of a cluster that does not exist",
        "yet; `arrivals_cv` and `diurnal` say otherwise, and waits mostly grow as this table shows.",
    )


def _bursts(times: np.ndarray, sizes: np.ndarray) -> tuple[int, list[float], list[float]]:
    """Nodes, and wait P90 and P99 with real and with Poisson arrivals."""
    span, mean = float(times[-1] - times[0]), 5131.0
    nodes = max(int(np.ceil(sizes.sum() * mean / span / 0.7 / NODE)), int(np.ceil(sizes.max() / NODE)))
    cluster, policy = uniform(nodes, NODE, nodes_per_leaf=nodes), replace(preset("easy"))
    found: dict[str, list[list[float]]] = {"real": [], "even": []}
    spread = float(np.sqrt(2 * np.log(5131.0 / 234.0)))
    for seed in SEEDS:
        luck = np.random.default_rng([seed, 6])
        lasts = 234.0 * np.exp(spread * luck.standard_normal(len(times)))
        even = arrivals(len(times) / span, 2 * span, 1.0, (), luck)[: len(times)]
        for key, submit, asked in (
            ("real", times - times[0], sizes),
            ("even", even, luck.permutation(sizes)),
        ):
            jobs = [Job(f"j{n}", float(at), float(lasts[n]), int(asked[n])) for n, at in enumerate(submit)]
            outcome: Outcome = simulate(cluster, jobs, policy)
            found[key].append(np.quantile(outcome.wait_s, (0.9, 0.99)).tolist())
    return nodes, *(np.mean(found[key], axis=0).tolist() for key in ("real", "even"))


def _cannot() -> Iterator[str]:
    yield from ("## What public data cannot validate", "")
    for name, *sentences in (
        (
            "Durations.",
            "Neither data set has those of single jobs: Helios' series are counts, Philly's come through Gavel with synthetic",
            "job types and step counts. Waits of single jobs cannot be compared, only queues as a whole.",
        ),
        (
            "The policy that ran.",
            "Helios' scheduler and its users' quotas and priorities are described, not recorded; a difference between replay",
            "and counts may be the policy's, the reconstruction's, or ours.",
        ),
        (
            "Placement.",
            "No node is named: fragmentation, topology and migration are tested by invariants, not against a cluster.",
        ),
        (
            "Preemption, elastic jobs, failures.",
            "None is in these data. What they cost follows from the checkpoint and restart times that a scenario gives;",
            "failures are the reliability room's, tested there.",
        ),
        ("Users.", "They see the queue and react to it. Jobs here do not."),
    ):
        yield from textwrap.wrap(
            f"- **{name}** " + " ".join(sentences), 125, subsequent_indent="  ", break_on_hyphens=False
        )


def _share(value: float) -> str:
    return f"{100 * value:.1f} %"


def _ratio(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _time(seconds: float) -> str:
    return "0 s" if seconds < 0.5 else units.format(seconds, "s")


def _rank(a: Sequence[float], b: Sequence[float]) -> float:
    return float(spearmanr(a, b).statistic)


if __name__ == "__main__":
    main(sys.argv[1:])
