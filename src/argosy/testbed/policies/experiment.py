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
from argosy.testbed.policies.agent import BEAT_S
from argosy.testbed.policies.controller import MISSED_S, Controller
from argosy.testbed.policies.failures import Strike, spaced, strikes
from argosy.testbed.policies.machines import Machines
from argosy.testbed.policies.rows import goodput_rows, loss_rows, sample_rows
from argosy.testbed.policies.settings import ELASTIC, POLICIES, RESTART, SWAP, Settings
from argosy.testbed.policies.told import Told, as_measured, away_s, start_up_s, tell
from argosy.testbed.policies.upgrade import Upgrade
from argosy.testbed.torch_launch import missing
from argosy.testbed.wiring import Wiring

FAILURE_SEED = (
    7  # of the first dozen the one whose failures come most nearly as often as in the mean, at any time
)
CHAOS_SEED = 2_000
CALIBRATION_SEED = 1_000  # failures of calibration runs are not those of the measured ones
ENOUGH = 30  # failures of a long run
STEP_BAR = 0.1
UPGRADE_BAR = 0.15
PAUSE_BAR = 0.1
DETECTION_BAR = 0.1


@dataclass(frozen=True)
class Sizes:
    """How much is run: steps of each job, mean seconds between failures, failures of a calibration run, steps of the quiet
    one; seconds of a host's repair, of the queue, of a host's upgrade and of the pause after all of them, with the steps of
    that job; the job whose failures come at any moment.
    """

    steps: int
    epoch_steps: int
    mtbf_s: float
    calibrated: int
    quiet_steps: int
    repair_s: float
    queue_s: float
    upgrade_s: float
    upgrade_steps: int
    pause_s: float
    chaos_mtbf_s: float
    chaos_steps: int


LONG = Sizes(1000, 100, 2.6, 10, 80, 1.2, 0.4, 1.0, 100, 2.0, 1.3, 400)
SHORT = Sizes(40, 10, 1.8, 2, 17, 0.6, 0.2, 0.2, 60, 0.3, 1.0, 20)


def run(short: bool = False, say: Callable[[str], None] = lambda line: None) -> dict[str, Any]:
    """Run all of it; the payload of `argosy testbed policies`, without its head. TestbedError where torch is not there or a
    job does not end.
    """
    if (what := missing()) is not None:
        raise TestbedError(what)
    sizes = SHORT if short else LONG
    reason = machine.why_not()
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix=f"argosy-{os.getpid()}-testbed-"))
        )
        hosts = stack.enter_context(Hosts(Wiring.of(fabric("flat", 1 << 20)))) if reason is None else None
        machines = stack.enter_context(Machines(hosts, folder))
        stack.enter_context(_ahead())
        found = _Experiment(machines, folder, sizes, say).all()
    comparisons = [row for part in found.values() for row in part.pop("comparisons")]
    return comparison.answer(comparisons, _notes(sizes), reason, short, **found)


@contextmanager
def _ahead() -> Iterator[None]:
    """The controller, and the `ip` that pulls cables for it, before other programs, where that is allowed: it mostly waits,
    and failures have their moments.
    """
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
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
        self.start_up_s = 0.0  # of agent and rank; of the last calibration, which is the elastic job's
        self.failures: list[dict[str, Any]] = []

    def all(self) -> dict[str, Any]:
        """The undisturbed run, calibration and measured run of every policy, the upgrade."""
        self.say("undisturbed: the same steps without the accelerator's time")
        most = max(self.sizes.steps, self.sizes.upgrade_steps, self.sizes.chaos_steps)
        bare = replace(self.base, policy=SWAP, spares=0, steps=most, micro_batch_s=0.0, storage_s=0.0)
        self.undisturbed = self._go(bare, []).losses
        self.say("quiet: a step, a checkpoint")
        self.quiet = self._go(replace(self.base, policy=SWAP, spares=0, steps=self.sizes.quiet_steps), [])
        found = {policy.replace("-", "_"): self._policy(policy) for policy in POLICIES}
        return {**found, "upgrade": self._upgrade(), "chaos": self._chaos(), "detection": self._detection()}

    def _go(self, settings: Settings, failures: Sequence[Strike] | None) -> Told:
        """Run a job; `failures` None: upgrade its hosts instead."""
        self.runs += 1
        folder = self.folder / f"run-{self.runs}"
        limit = 60.0 + 6.0 * settings.steps * (settings.micro_batches / settings.ranks) * 0.04
        job = (
            Upgrade(self.machines, settings, folder, limit, self.sizes.upgrade_s, self.sizes.pause_s)
            if failures is None
            else Controller(self.machines, settings, list(failures), folder, limit)
        )
        one = job.go()
        self.failures += [each for each in one.failures if each["found_s"] is not None]
        return tell(one)

    def _policy(self, policy: str) -> dict[str, Any]:
        """One policy: calibration, measured run, prediction."""
        sizes = self.sizes
        spares = 0 if policy == ELASTIC else 1
        settings = replace(self.base, policy=policy, spares=spares, mtbf_s=sizes.mtbf_s)
        self.say(f"{policy}: calibration, {sizes.calibrated} failures apart from each other")
        measured = self._calibrate(settings)
        self.say(f"{policy}: {settings.steps} steps, a failure every {settings.mtbf_s:g} s of active time")
        told = self._go(settings, strikes(settings.mtbf_s, settings.ranks, FAILURE_SEED))
        count = len(told.run.failures)
        predicted = predict.summary(predict.lives(settings, measured), count)
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
        step = self.quiet.step_s[settings.ranks]
        room = sizes.calibrated + 1 if settings.policy == ELASTIC else sizes.calibrated + 0.7
        quiet_settings = replace(settings, steps=int(room * gap / step), mtbf_s=0.0)
        told = self._go(quiet_settings, failures)
        happened = told.run.failures
        self.start_up_s = start_up_s(told.run)
        if not happened:
            raise TestbedError(f"no failure in the calibration of {settings.policy}")
        return predict.times(
            settings.policy,
            self.quiet.step_s[settings.ranks],
            self.quiet.save_s,
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
        name, count = settings.policy, len(told.run.failures)
        least = ENOUGH if self.sizes is LONG else 1
        rows = [
            comparison.bounded(f"{name}: failures", least, None, count, "", predicted["failures"]["mean"]),
            *sample_rows(name, told.samples, settings.steps, settings.epoch_steps),
            *loss_rows(name, told.losses, self.undisturbed[: settings.steps], name != ELASTIC),
            *goodput_rows(name, predicted, told.goodput, self.sizes is LONG),
            comparison.compared(f"{name}: the ledger's sum", sum(told.book.values()), told.wall_s, "s", 1e-9),
        ]
        if name == ELASTIC and 3 in told.step_s:
            more = settings.micro_batches / 3 - settings.micro_batches / settings.ranks
            slower = (
                measured.step_s + more * settings.micro_batch_s
            )  # messages and the rest take as long as before
            rows.append(
                comparison.compared(f"{name}: a step on three ranks", slower, told.step_s[3], "s", STEP_BAR)
            )
        if name != RESTART:
            most = (
                settings.hosts + count + told.run.broken
            )  # those taken for dead though they lived are started anew
            what = f"{name}: processes started; survivors never are"
            rows.append(comparison.bounded(what, None, most, told.run.started, "", most))
        return rows

    def _detection(self) -> dict[str, Any]:
        """Seconds until a failure is found: a host by the heartbeats it does not send, a rank by its agent."""
        by = {
            how: [one["found_s"] - one["at_s"] for one in self.failures if one["by"] == how]
            for how in ("heartbeat", "exit")
        }
        rows = []
        if by["heartbeat"]:
            expected = MISSED_S - BEAT_S / 2  # since its last heartbeat, which was half a period ago
            bar = DETECTION_BAR if self.sizes is LONG else None
            mean = float(np.mean(by["heartbeat"]))
            rows.append(comparison.compared("lost host: found after", expected, mean, "s", bar))
        if by["exit"]:
            mean = float(np.mean(by["exit"]))
            rows.append(comparison.bounded("killed rank: found after", None, BEAT_S, mean, "s"))
        return {"seconds": by, "comparisons": rows}

    def _upgrade(self) -> dict[str, Any]:
        """Every host drained, changed and restored in turn, then a pause."""
        sizes = self.sizes
        self.say("rolling upgrade of every host, then a pause")
        settings = replace(self.base, policy=ELASTIC, spares=0, steps=sizes.upgrade_steps)
        told = self._go(settings, None)
        count = settings.ranks
        slower = told.step_s.get(count - 1, 0.0)
        away = sizes.upgrade_s + self.start_up_s + slower / 2  # of each of four hosts, a quarter of the speed
        bar = UPGRADE_BAR if sizes is LONG else None
        changed = sum(version == 2 for version in told.versions.values())
        least = min(working for _, working in told.run.capacity)
        rows = [
            comparison.bounded("upgrade: ranks at work, at least", count - 1, None, least, ""),
            comparison.counted("upgrade: hosts on the new version", count, changed),
            comparison.counted("upgrade: processes started", 2 * count, told.run.started),
            comparison.counted("upgrade and pause: samples computed in vain", 0, told.samples["wasted"]),
            *sample_rows("upgrade and pause", told.samples, settings.steps, settings.epoch_steps),
            *loss_rows("upgrade and pause", told.losses, self.undisturbed[: settings.steps], False),
            comparison.compared("upgrade: seconds of speed lost", away, told.book["degraded"], "s", bar),
            comparison.compared(
                "pause: stood still", sizes.pause_s, told.book["maintenance"], "s", PAUSE_BAR
            ),
        ]
        return {"settings": settings.to_dict(), "measured": as_measured(told), "comparisons": rows}

    def _chaos(self) -> dict[str, Any]:
        """Failures at any moment, also while the job regroups or has nobody left: it must end, with the undisturbed loss."""
        sizes = self.sizes
        self.say(f"elastic: failures at any moment, one every {sizes.chaos_mtbf_s:g} s")
        settings = replace(
            self.base,
            policy=ELASTIC,
            spares=0,
            steps=sizes.chaos_steps,
            mtbf_s=sizes.chaos_mtbf_s,
            anywhere=True,
        )
        told = self._go(settings, strikes(settings.mtbf_s, settings.ranks, CHAOS_SEED))
        rows = [
            comparison.bounded("at any moment: failures", 1, None, len(told.run.failures), ""),
            *sample_rows("at any moment", told.samples, settings.steps, settings.epoch_steps),
            *loss_rows("at any moment", told.losses, self.undisturbed[: settings.steps], False),
        ]
        return {"settings": settings.to_dict(), "measured": as_measured(told), "comparisons": rows}


def _notes(sizes: Sizes) -> list[str]:
    """What the reader must know."""
    return [
        "the model, its gradients, losses and messages are real; the accelerator's and the storage's time are waits",
        "a failure is kill −9 of a rank, or of all processes of a host with both of its cables pulled first, half and half; "
        "either way the host is out for its repair, a wait",
        "failures come on the job's active clock, as in the simulator: none strikes while it waits for a host or in a queue, "
        "nor, where it is elastic, while it regroups; the last run's come at any moment",
        f"the failures are those of seed {FAILURE_SEED}, of a dozen the one whose failures come most nearly as often as in "
        "the mean; it replaced seed 0, whose goodput had been seen: a lucky draw, with few failures",
        "torch is imported once for all hosts, so that a new process costs a fork: a real one costs some seconds more",
        "given to the simulator: rate, steps, interval, spares, queue; and seconds of a step, a checkpoint, detection, restart, "
        "repair and pause from calibration runs with other failures; nothing is fitted to the goodput",
        f"the goodput's interval holds 95 % of {predict.DRAWS:,} simulated lives",
    ]
