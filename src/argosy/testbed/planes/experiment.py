"""What happens on one plane while the other is busy or cut: round trips, faults told, collectives that go on."""

from __future__ import annotations

import os
import statistics
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from argosy.fabric.topologies import Design, build
from argosy.laws.control_plane import detection_time
from argosy.testbed import hosts as machine
from argosy.testbed import launch
from argosy.testbed.comparison import answer, bounded, compared, counted
from argosy.testbed.experiment import baseline
from argosy.testbed.fabrics import CARD_BPS, Case, Fabric, one_group
from argosy.testbed.hosts import Hosts, TestbedError
from argosy.testbed.namespaces import counters
from argosy.testbed.planes.monitor import ANSWER_S, BEAT_S, SILENCE_S, Monitor
from argosy.testbed.planes.told import CONTROL, DATA, Fault
from argosy.testbed.predict import Prediction, predict
from argosy.testbed.priority import ahead
from argosy.testbed.wiring import CONTROL_CARD, GSO_BYTES, Wiring

HOSTS, VICTIM = 4, 2
MESSAGE = 8 << 20
ROUND_S = 0.05  # between rounds of questions
LATE_S = 0.2  # that a busy machine may add to when a fault is told
PRINTED = 1 << 20  # bytes that every host prints through the process manager
BUSY = 0.9  # of a card's rate: it is saturated
LIMIT_S = 10.0  # for a fault to be told


def run(short: bool = False, say: Callable[[str], None] = lambda line: None) -> dict[str, Any]:
    """The experiment; the payload of `argosy testbed planes`, without its head. TestbedError without namespaces."""
    if (reason := machine.why_not()) is not None:
        raise TestbedError(f"planes need namespaces: {reason}")
    one = fabric()
    case = one.cases[0]
    say("baseline: two hosts on one switch")
    base, told = baseline(one, 2)
    predicted = predict(one, case, base)
    with Hosts(Wiring.of(one)) as hosts:
        say("the process manager carries what the hosts print")
        carried = printed(one, hosts)
        with Monitor(hosts, HOSTS) as monitor:
            say("idle round trips")
            _until(monitor, lambda: False, 1.5 if short else 5.0)
            idle = monitor.taken()
            say("round trips while the data plane is saturated")
            busy = saturated(one, hosts, monitor, 2 if short else 4)
            say("a data cable is cut")
            data = _cut(hosts, monitor, 0, [(DATA, str(VICTIM))])
            say("a control cable is cut under a running collective")
            control = collectives_without_control(one, hosts, monitor, 3 if short else 5)
    rows = _comparisons(carried, idle, busy, data, control, predicted)
    return answer(
        rows,
        _notes(),
        short=short,
        baseline=told,
        carried=carried,
        round_trips_s={"idle": idle, "saturated": busy["round_trips_s"]},
        data_cut=data,
        control_cut=control,
    )


def fabric() -> Fabric:
    """Four hosts on one switch, and the ring that saturates their cards."""
    topology = build(Design("fat-tree", HOSTS, 1, HOSTS, CARD_BPS, tiers=1))
    return Fabric("planes", topology, 1, (Case("ring", MESSAGE, one_group(HOSTS)),))


def printed(one: Fabric, hosts: Hosts) -> dict[str, int]:
    """Bytes that left the hosts by each plane while the process manager started a program on all of them and carried what
    they printed to the manager.
    """
    spaces, _ = launch.seats(one, hosts)
    before = counters(spaces)
    with TemporaryDirectory(prefix=f"argosy-{os.getpid()}-testbed-") as folder:
        line = launch.words(one, hosts, spaces, Path(folder))
        done = subprocess.run(
            [*line, "head", "-c", str(PRINTED), "/dev/zero"], capture_output=True, timeout=60, check=False
        )
    after = counters(spaces)
    if done.returncode:
        raise TestbedError(f"mpiexec: {done.stderr.decode(errors='replace')[-400:]}")
    sent = {
        plane: sum(after[space][plane][0] - before[space][plane][0] for space in spaces)
        for plane in ("eth0", CONTROL_CARD)
    }
    return {"printed": len(done.stdout), "cards": sent["eth0"], "control": sent[CONTROL_CARD]}


class _Running:
    """A ring, again and again, in a thread: `rows` once it has ended."""

    def __init__(self, one: Fabric, hosts: Hosts, repeats: int) -> None:
        self.rows: list[dict[str, Any]] = []
        self.failed: list[BaseException] = []
        self._work = (one, hosts, launch.as_plan(one, one.cases), repeats)
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        try:
            self.rows = launch.run_ranks(*self._work)
        except BaseException as error:
            self.failed.append(error)

    @property
    def ended(self) -> bool:
        """Whether it has."""
        return not self.thread.is_alive()

    def row(self) -> dict[str, Any]:
        """What was measured, once it has ended."""
        self.thread.join()
        if self.failed:
            raise self.failed[0]
        return self.rows[0]


def _until(monitor: Monitor, done: Callable[[], bool], seconds: float) -> bool:
    """Ask round after round until `done()`, or until time is over; whether it was done."""
    limit = time.monotonic() + seconds
    with ahead():
        while time.monotonic() < limit:
            start = time.monotonic()
            monitor.ask()
            if done():
                return True
            time.sleep(max(0.0, ROUND_S - (time.monotonic() - start)))
    return False


class _Meter:
    """Whether a host's card is saturated, from its byte counter between two looks."""

    def __init__(self, hosts: Hosts, host: int) -> None:
        self.space, self.rate = hosts.namespace(host), float(hosts.wiring.graph.rate[0]) / 8
        self.before = self._look()

    def _look(self) -> tuple[float, int]:
        return time.monotonic(), counters([self.space])[self.space]["eth0"][0]

    def saturated(self) -> bool:
        """Since the last look."""
        now = self._look()
        (was, sent), self.before = self.before, now
        return now[1] - sent > BUSY * self.rate * (now[0] - was)


def saturated(one: Fabric, hosts: Hosts, monitor: Monitor, repeats: int) -> dict[str, Any]:
    """Round trips on the control plane of those rounds in which the cards were saturated, and faults told meanwhile."""
    monitor.taken()
    running, meter = _Running(one, hosts, repeats), _Meter(hosts, 0)
    kept: list[float] = []
    wrong: list[Fault] = []

    def look() -> bool:
        taken = monitor.taken()
        if meter.saturated():
            kept.extend(taken)
        wrong.extend(monitor.told())
        return running.ended

    _until(monitor, look, launch.RUN_SECONDS)
    row = running.row()
    return {"round_trips_s": kept, "told": wrong, "times_s": row["times_s"], "right": row["right"]}


def _cut(hosts: Hosts, monitor: Monitor, card: int | None, expected: list[Fault]) -> dict[str, Any]:
    """Cut a cable of the victim; seconds until exactly that is told, round trips of the control plane meanwhile, and whether
    nothing is told any more once the cable is back.
    """
    monitor.taken()
    _until(monitor, lambda: not monitor.told(), LIMIT_S)
    seen: list[Fault] = []
    start = time.monotonic()
    hosts.cut(VICTIM, card)

    def done() -> bool:
        seen.extend(fault for fault in monitor.told() if fault not in seen)
        return monitor.told() == expected

    right = _until(monitor, done, LIMIT_S)
    seconds = time.monotonic() - start
    _until(monitor, lambda: False, 1.0)
    silent = monitor.silent()
    stays = _until(monitor, lambda: monitor.told() == expected, LIMIT_S)
    taken = monitor.taken()
    hosts.mend(VICTIM, card)
    healed = _until(monitor, lambda: not monitor.told(), LIMIT_S)
    return {
        "told": right and stays,
        "seconds": seconds,
        "seen": seen,
        "unanswered": silent,
        "round_trips_s": taken,
        "healed": healed,
    }


def collectives_without_control(one: Fabric, hosts: Hosts, monitor: Monitor, repeats: int) -> dict[str, Any]:
    """Cut the victim's control cable while a ring runs."""
    running, meter = _Running(one, hosts, repeats), _Meter(hosts, VICTIM)
    began = _until(monitor, lambda: meter.saturated() or running.ended, launch.RUN_SECONDS)
    cut = _cut(hosts, monitor, None, [(CONTROL, str(VICTIM))])
    meanwhile = began and not running.ended
    row = running.row()
    return {**cut, "times_s": row["times_s"], "right": row["right"], "meanwhile": meanwhile}


def _comparisons(
    carried: dict[str, int],
    idle: list[float],
    busy: dict[str, Any],
    data: dict[str, Any],
    control: dict[str, Any],
    predicted: Prediction,
) -> list[dict[str, Any]]:
    quiet, loaded = (1000 * statistics.median(values) for values in (idle, busy["round_trips_s"]))
    frame = GSO_BYTES * 8 / (CARD_BPS / fabric().scale) * 1000
    ring, slowest = statistics.median(busy["times_s"]), max(control["times_s"])
    late = 2 * ROUND_S + LATE_S
    data_late, control_late = SILENCE_S + BEAT_S + late, ANSWER_S + ROUND_S + late
    noticed = detection_time(BEAT_S, SILENCE_S / BEAT_S, ROUND_S / 2)
    unanswered = detection_time(ROUND_S, ANSWER_S / ROUND_S + 1)
    return [
        counted("bytes on the cards while the process manager worked", 0, carried["cards"], "B"),
        bounded("bytes that it sent on the control plane", carried["printed"], None, carried["control"], "B"),
        compared("ring while its hosts answer on the control plane", predicted.seconds, ring, "s", 0.1),
        bounded("control round trip, cards saturated (median)", None, quiet + frame, loaded, "ms", quiet),
        bounded("faults told while the cards were saturated", None, 0, len(busy["told"]), ""),
        counted("data cable cut: told as that host's data plane, nothing else", True, data["told"]),
        bounded("data cable cut: until told", SILENCE_S - BEAT_S, data_late, data["seconds"], "s", noticed),
        counted("data cable cut: hosts silent on the control plane", 0, len(data["unanswered"])),
        counted("data cable back: nothing is told", True, data["healed"]),
        counted("control cable cut: told as that host's control plane, nothing else", True, control["told"]),
        bounded(
            "control cable cut: until told",
            ANSWER_S - ROUND_S,
            control_late,
            control["seconds"],
            "s",
            unanswered,
        ),
        bounded("control cable cut while the ring ran (1: yes)", 1, None, int(control["meanwhile"]), ""),
        counted("control cable back: nothing is told", True, control["healed"]),
        compared("the slowest ring, the control cable cut meanwhile", predicted.seconds, slowest, "s", 0.1),
        counted("sums right", True, busy["right"] and control["right"]),
    ]


def _notes() -> list[str]:
    return [
        f"control round trips are lines over TCP from the manager to each of {HOSTS} hosts, every {1000 * ROUND_S:.0f} ms; "
        f"hosts beat each other over their cards every {1000 * BEAT_S:.0f} ms",
        f"a host is silent on the data plane after {SILENCE_S:g} s (a full queue of a card is 0.64 s long), on the control "
        f"plane after {ANSWER_S:g} s",
        "if control shared the cards, every line would wait for at least the frame ahead of it: that time is the limit",
        "the control plane's cables are neither shaped nor long; its switch learns, as an ordinary one does",
    ]
