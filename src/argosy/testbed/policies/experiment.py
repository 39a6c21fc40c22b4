"""Three policies under the same failures, and a rolling upgrade: samples, losses, the book of time, against the simulator."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from argosy.testbed import comparison
from argosy.testbed import hosts as machine
from argosy.testbed.fabrics import fabric
from argosy.testbed.hosts import Hosts, TestbedError
from argosy.testbed.policies import predict
from argosy.testbed.policies.books import book, stretches
from argosy.testbed.policies.controller import Controller
from argosy.testbed.policies.failures import Strike, spaced, strikes
from argosy.testbed.policies.machines import Machines
from argosy.testbed.policies.record import Run
from argosy.testbed.policies.samples import account, losses, read_notes
from argosy.testbed.policies.settings import ELASTIC, POLICIES, RESTART, SWAP, Order, Settings
from argosy.testbed.torch_launch import missing
from argosy.testbed.wiring import Wiring

CALIBRATION_SEED = 1_000  # failures of calibration runs are not those of the measured ones
ROUNDING = 1e-9  # of losses in float64 whose terms were added in another order
ENOUGH = 30  # failures of a long run
CLOSED_BAR = 0.15  # a run of some 35 failures against a long run's mean: its own spread is a third of that


@dataclass(frozen=True)
class Sizes:
    """How much is run: steps of each job, mean seconds between failures, failures of a calibration run, steps of the quiet
    one, seconds that an upgrade of a host takes.
    """

    steps: int
    epoch_steps: int
    mtbf_s: float
    calibrated: int
    quiet_steps: int
    repair_s: float
    queue_s: float
    upgrade_s: float


LONG = Sizes(1000, 100, 3.0, 10, 80, 2.0, 0.5, 1.0)
SHORT = Sizes(50, 25, 2.0, 2, 25, 1.0, 0.3, 0.3)


@dataclass(frozen=True)
class Told:
    """A run with what follows from its notes."""

    run: Run
    wall_s: float
    book: dict[str, float]
    pieces: list[tuple[float, float, str]]
    samples: dict[str, Any]
    losses: list[float | None]
    versions: dict[int, int]

    @property
    def goodput(self) -> float:
        """Productive ÷ wall-clock time."""
        return self.book["productive"] / self.wall_s


def run(short: bool = False, say: Callable[[str], None] = lambda line: None) -> dict[str, Any]:
    """Run all of it; the payload of `argosy testbed policies`, without its head. TestbedError where torch is not there or a
    job does not end.
    """
    if (what := missing()) is not None:
        raise TestbedError(what)
    sizes = SHORT if short else LONG
    reason = machine.why_not()
    with _ahead(), ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix=f"argosy-{os.getpid()}-testbed-"))
        )
        hosts = stack.enter_context(Hosts(Wiring.of(fabric("flat", 1 << 20)))) if reason is None else None
        machines = stack.enter_context(Machines(hosts, folder))
        found = _Experiment(machines, folder, sizes, say).all()
    comparisons = [row for part in found.values() for row in part.pop("comparisons")]
    return comparison.answer(comparisons, _notes(sizes), reason, short, **found)


@contextmanager
def _ahead() -> Iterator[None]:
    """The controller before other programs, where that is allowed: it mostly waits, and failures have their moments."""
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    try:
        yield
    finally:
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


class _Experiment:
    def __init__(self, machines: Machines, folder: Path, sizes: Sizes, say: Callable[[str], None]) -> None:
        self.machines, self.folder, self.sizes, self.say = machines, folder, sizes, say
        self.base = Settings(
            steps=sizes.steps,
            epoch_steps=sizes.epoch_steps,
            repair_s=sizes.repair_s,
            queue_s=sizes.queue_s,
        )
        self.runs = 0

    def all(self) -> dict[str, Any]:
        """The undisturbed run, calibration and measured run of every policy, the upgrade."""
        self.say("undisturbed: the same steps without the accelerator's time")
        bare = replace(self.base, policy=SWAP, spares=0, micro_batch_s=0.0, storage_s=0.0)
        self.undisturbed = self._go(bare, []).losses
        self.say("quiet: a step, a checkpoint")
        self.quiet = self._go(replace(self.base, policy=SWAP, spares=0, steps=self.sizes.quiet_steps), [])
        found = {policy.replace("-", "_"): self._policy(policy) for policy in POLICIES}
        return {**found, "upgrade": self._upgrade()}

    def _go(self, settings: Settings, failures: Sequence[Strike], upgrade_s: float | None = None) -> Told:
        self.runs += 1
        folder = self.folder / f"run-{self.runs}"
        limit = 60.0 + 6.0 * settings.steps * (settings.micro_batches / settings.ranks) * 0.04
        one = Controller(self.machines, settings, list(failures), folder, limit, upgrade_s).go()
        return tell(one)

    def _policy(self, policy: str) -> dict[str, Any]:
        """One policy: calibration, measured run, prediction."""
        sizes = self.sizes
        spares = 0 if policy == ELASTIC else 1
        settings = replace(self.base, policy=policy, spares=spares, mtbf_s=sizes.mtbf_s)
        self.say(f"{policy}: calibration, {sizes.calibrated} failures apart from each other")
        measured = self._calibrate(settings)
        self.say(f"{policy}: {settings.steps} steps, a failure every {settings.mtbf_s:g} s of active time")
        told = self._go(settings, strikes(settings.mtbf_s, settings.ranks, settings.seed))
        predicted = predict.summary(predict.lives(settings, measured))
        return {
            "settings": settings.to_dict(),
            "times": measured.to_dict(),
            "predicted": predicted,
            "measured": as_measured(told),
            "comparisons": self._compare(settings, measured, predicted, told),
        }

    def _calibrate(self, settings: Settings) -> predict.Times:
        """Times of a few failures that do not meet."""
        sizes = self.sizes
        gap = settings.repair_s + 0.8 + (settings.queue_s if settings.policy == RESTART else 0.0)
        failures = spaced(gap, sizes.calibrated, settings.ranks, CALIBRATION_SEED + settings.seed)
        step = self.quiet.book["productive"] / self.sizes.quiet_steps
        room = sizes.calibrated + 1 if settings.policy == ELASTIC else sizes.calibrated + 0.7
        quiet_settings = replace(settings, steps=int(room * gap / step), mtbf_s=0.0)
        told = self._go(quiet_settings, failures)
        happened = told.run.failures
        if not happened:
            raise TestbedError(f"no failure in the calibration of {settings.policy}")
        saves = (sizes.quiet_steps - 1) // settings.interval
        return predict.times(
            settings.policy,
            self.quiet.book,
            sizes.quiet_steps,
            saves,
            {
                "book": told.book,
                "failures": len(happened),
                "detection_s": float(np.mean([one["found_s"] - one["at_s"] for one in happened])),
                "repair_s": away_s(told.run),
            },
        )

    def _compare(
        self, settings: Settings, measured: predict.Times, predicted: Mapping[str, Any], told: Told
    ) -> list[dict[str, Any]]:
        """The rows of a policy."""
        name, good = settings.policy, predicted["goodput"]
        steps, told_samples = settings.steps, told.samples
        count = len(told.run.failures)
        survived = settings.hosts + len(told.run.returns)
        low, closed_bar = (ENOUGH, CLOSED_BAR) if self.sizes is LONG else (1, None)
        rows = [
            comparison.bounded(f"{name}: failures", low, None, count, "", predicted["failures"]["mean"]),
            *sample_rows(name, told_samples, steps, settings.epoch_steps),
            *loss_rows(name, told.losses, self.undisturbed, settings.policy != ELASTIC),
            comparison.bounded(
                f"{name}: goodput, in the simulated 95 %",
                good["low"],
                good["high"],
                told.goodput,
                "",
                good["mean"],
            ),
            comparison.compared(
                f"{name}: goodput, closed form",
                predicted["closed_form"],
                told.goodput,
                "",
                closed_bar,
            ),
            comparison.compared(f"{name}: the ledger's sum", sum(told.book.values()), told.wall_s, "s", 1e-9),
        ]
        if settings.policy != RESTART:
            rows.append(
                comparison.bounded(
                    f"{name}: processes started; survivors never are",
                    None,
                    survived,
                    told.run.started,
                    "",
                    survived,
                )
            )
        return rows

    def _upgrade(self) -> dict[str, Any]:
        """Every host drained, changed and restored in turn, on three of four hosts at least."""
        sizes = self.sizes
        self.say("rolling upgrade of every host")
        seconds = self.base.ranks * (sizes.upgrade_s + 1.0) + 1.5
        step = self.quiet.book["productive"] / sizes.quiet_steps
        settings = replace(
            self.base, policy=ELASTIC, spares=0, steps=min(int(seconds / step), self.base.steps)
        )
        told = self._go(settings, [], sizes.upgrade_s)
        running = [count for _, count in told.run.capacity]
        away = settings.ranks * sizes.upgrade_s / settings.ranks
        rows = [
            comparison.bounded(
                "upgrade: ranks at work, at least", settings.ranks - 1, None, min(running), ""
            ),
            comparison.counted(
                "upgrade: hosts on the new version",
                settings.ranks,
                sum(version == 2 for version in told.versions.values()),
            ),
            comparison.counted("upgrade: samples computed twice or in vain", 0, told.samples["wasted"]),
            *sample_rows("upgrade", told.samples, settings.steps, settings.epoch_steps),
            *loss_rows("upgrade", told.losses, self.undisturbed[: settings.steps], False),
            comparison.bounded(
                "upgrade: seconds of speed lost", away, None, told.book["degraded"], "s", away
            ),
        ]
        return {"settings": settings.to_dict(), "measured": as_measured(told), "comparisons": rows}


def tell(one: Run) -> Told:
    """What a run's notes say."""
    s, notes = one.settings, read_notes(one.folder)
    starts = [(begun.generation, begun.step) for begun in one.begins]
    pieces = stretches(one.phases, one.begins, notes, one.end_s, s.ranks)
    order = Order(s.epoch_steps, s.micro_batches, s.seed)
    versions: dict[int, int] = {}
    for note in notes:
        if note["what"] == "born":
            versions[note["host"]] = max(note["version"], versions.get(note["host"], 0))
    return Told(
        one,
        one.end_s - one.phases[0][0],
        book(pieces),
        pieces,
        account(notes, starts, order, s.steps),
        losses(notes, starts, s.steps),
        versions,
    )


def away_s(one: Run) -> float:
    """Mean seconds from a failure until its host can be used again; for elastic jobs until it is at work again."""
    if one.settings.policy != ELASTIC:
        return float(np.mean([back - failed for _, failed, back in one.returns]))
    found = []
    for host, failed, back in one.returns:
        joined = [group["at_s"] for group in one.groups if group["host"] == host and group["at_s"] >= back]
        if joined:
            found.append(min(joined) - failed)
    return float(np.mean(found))


def sample_rows(name: str, found: Mapping[str, Any], steps: int, epoch_steps: int) -> list[dict[str, Any]]:
    """Samples: every one of its step once, every epoch whole."""
    faults = found["missing"] + found["twice"] + found["wrong"]
    return [
        comparison.counted(
            f"{name}: samples of committed steps missing, twice or of another step", 0, faults
        ),
        comparison.counted(f"{name}: whole epochs", steps // epoch_steps, found["epochs"]),
    ]


def loss_rows(
    name: str, found: Sequence[float | None], undisturbed: Sequence[float | None], bits: bool
) -> list[dict[str, Any]]:
    """Losses beside the undisturbed run's: bit for bit where the same ranks add in the same order, else to rounding."""
    if bits:
        same = sum(a == b and a is not None for a, b in zip(found, undisturbed, strict=True))
        return [
            comparison.counted(
                f"{name}: steps with the undisturbed loss, bit for bit", len(undisturbed), same
            )
        ]
    worst = max(
        1.0 if a is None or b is None else abs(a - b) / abs(b)
        for a, b in zip(found, undisturbed, strict=True)
    )
    return [comparison.bounded(f"{name}: largest difference of a loss", None, ROUNDING, worst, "")]


def as_measured(told: Told) -> dict[str, Any]:
    """A run as JSON: its book, its failures, what was rebuilt, its timeline from 0."""
    one, zero = told.run, told.run.phases[0][0]
    groups: dict[int, list[dict[str, Any]]] = {}
    for group in one.groups:
        groups.setdefault(group["generation"], []).append(group)
    rebuilt = [members for generation, members in sorted(groups.items()) if generation > 0]
    sources: dict[str, int] = {}
    for members in rebuilt:
        for group in members:
            sources[group["source"]] = sources.get(group["source"], 0) + 1

    def slowest(key: str) -> float | None:
        return float(np.mean([max(g[key] for g in members) for members in rebuilt])) if rebuilt else None

    return {
        "wall_s": told.wall_s,
        "goodput": told.goodput,
        "book_s": told.book,
        "told_s": predict.as_told(told.book, one.settings.policy),
        "samples": told.samples,
        "failures": [{**each, "at_s": each["at_s"] - zero} for each in failures_of(one)],
        "groups": {
            "rebuilt": len(rebuilt),
            "connect_s": slowest("connect_s"),
            "restore_s": slowest("restore_s"),
            "restored_from": sources,
        },
        "processes_started": one.started,
        "unexplained": one.broken,
        "capacity": [[at - zero, count] for at, count in one.capacity],
        "timeline": [[start - zero, end - zero, state] for start, end, state in told.pieces],
    }


def failures_of(one: Run) -> list[dict[str, Any]]:
    """Failures with the seconds until they were found."""
    return [
        {
            "at_s": each["at_s"],
            "host": each["host"],
            "kills": each["kills"],
            "by": each["by"],
            "detection_s": None if each["found_s"] is None else each["found_s"] - each["at_s"],
        }
        for each in one.failures
    ]


def _notes(sizes: Sizes) -> list[str]:
    """What the reader must know."""
    return [
        "the model, its gradients, losses and messages are real; the accelerator's and the storage's time are waits",
        "a failure is kill −9 of a rank, or of all processes of a host with both of its cables pulled first, half and half; "
        "either way the host is out for its repair, a wait",
        "failures come on the job's active clock, as in the simulator: none strikes while it waits for a host or in a queue, "
        "nor, where it is elastic, while it regroups",
        "torch is imported once for all hosts, so that a new process costs a fork: a real one costs some seconds more",
        "given to the simulator: rate, steps, interval, spares, queue; and seconds of a step, a checkpoint, detection, restart, "
        "repair and pause from calibration runs with other failures; nothing is fitted to the goodput",
        f"the goodput's interval holds 95 % of {predict.DRAWS:,} simulated lives",
    ]
