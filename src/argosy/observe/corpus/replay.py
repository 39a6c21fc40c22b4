"""The whole job, rank by rank: every rank runs its program, waits for whom it needs, and so carries a fault to the others.

A rank has a host that launches and streams that run what was launched: compute, and one per kind of group. A collective
ends when its last member has come, plus the transfer; a hand-over between stages when both sides have. The order of
work is the training room's (`schedule.order`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from argosy.observe.corpus.faults import Fault
from argosy.observe.corpus.job import Healthy
from argosy.observe.corpus.noise import Noise, Scatter
from argosy.training.schedule import order

LATENCY_S = 8e-6  # from a launch to its kernel
LAUNCH_S = 25e-6  # host time of one launch of ours, which stands for a few kernels
AHEAD = 2  # launches of ours by which a host may be ahead of its device (a full queue)
# Shares of a segment: kernels in order.
PIECES = (("gemm", 0.40), ("attention", 0.15), ("gemm", 0.30), ("elementwise", 0.15))


@dataclass(slots=True)
class Slice:
    """One kernel of a rank: `lane` (compute, copy, tensor, data, pipeline, embedding, world), its `kind`, times in s of the
    true clock, when the host launched it; for communication its `group`, `sequence` and `bytes`; `flops` of products.
    """

    lane: str
    kind: str
    start: float
    end: float
    launched: float
    host_end: float
    group: tuple[int, ...] = ()
    sequence: int = -1
    bytes: float = 0.0
    flops: float = 0.0


@dataclass(frozen=True, slots=True)
class Span:
    """Something of a host's thread: a step, the data loader, a pause; or an operation of the pipeline's."""

    kind: str
    start: float
    end: float
    step: int
    chunk: int = 0
    micro_batch: int = 0


@dataclass
class RankRun:
    """All that one rank did."""

    rank: int
    slices: list[Slice] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    operations: list[Span] = field(default_factory=list)


@dataclass
class _State:
    run: RankRun
    host: float = 0.0
    device: float = 0.0
    lanes: dict[str, Hashable] = field(default_factory=dict)
    numbers: dict[tuple[int, ...], int] = field(default_factory=dict)
    ends: list[float] = field(default_factory=lambda: [0.0] * AHEAD)  # of the last kernels
    step: int = 0


Program = Iterator[Hashable]


class Replay:
    """One run of `steps` steps of a job under a fault."""

    def __init__(
        self, job: Healthy, fault: Fault, noise: Noise, rng: np.random.Generator, steps: int
    ) -> None:
        self.job, self.fault, self.steps, self.rng = job, fault, steps, rng
        self.scatter = Scatter(noise, rng, job.work.gpus)
        self.runs = [RankRun(rank) for rank in range(job.work.gpus)]
        self._came: dict[Hashable, list[tuple[int, float, Slice]]] = {}
        self._done: dict[Hashable, float] = {}
        groups = job.groups()
        self._groups = {
            (name, rank): members for name, each in groups.items() for members in each for rank in members
        }

    def run(self) -> list[RankRun]:
        """Every rank's program to its end."""
        programs: list[tuple[Program, Hashable | None]] = [
            (self._program(_State(run)), None) for run in self.runs
        ]
        while programs:
            left: list[tuple[Program, Hashable | None]] = []
            moved = False
            for program, waits in programs:
                while waits is None or waits in self._done:
                    moved = True
                    try:
                        waits = next(program)
                    except StopIteration:
                        break
                else:
                    left.append((program, waits))
            if left and not moved:
                raise RuntimeError(f"the replay stands still: {[waits for _, waits in left][:4]}")
            programs = left
        return self.runs

    def _program(self, state: _State) -> Program:
        job, fault, rank = self.job, self.fault, state.run.rank
        stage = job.place(rank)[2]
        plan = [
            operation
            for group in order(job.schedule, stage, job.work.pp, job.work.micro_batches, job.work.vp)
            for operation in group
        ]
        for step in range(self.steps):
            state.step, begin = step, state.host
            yield from self._data(state)
            pauses = {int(p.at * len(plan)): p for p in fault.pauses if p.rank == rank and p.step == step}
            for number, operation in enumerate(plan):
                if number in pauses:
                    self._pause(state, pauses[number].kind, pauses[number].seconds)
                last = number == len(plan) - 1
                yield from self._operation(
                    state, operation.kind, operation.chunk, operation.micro_batch, last
                )
            yield from self._finish(state)
            state.host = max(state.host, state.device) + LAUNCH_S
            state.run.spans.append(Span("step", begin, state.host, step))

    def _data(self, state: _State) -> Program:
        seconds = self.fault.data_s[state.step % len(self.fault.data_s)][state.run.rank]
        seconds *= self.rng.uniform(0.85, 1.15)
        start = state.host
        state.host += seconds
        state.run.spans.append(Span("data", start, state.host, state.step))
        self._kernel(state, "copy", 2e-5, lane="copy")
        yield from ()

    def _pause(self, state: _State, kind: str, seconds: float) -> None:
        start = state.host = max(state.host, state.ends[-AHEAD])
        state.host += seconds
        state.run.spans.append(Span(kind, start, state.host, state.step))

    def _kernel(
        self, state: _State, kind: str, seconds: float, flops: float = 0.0, lane: str = "compute"
    ) -> None:
        rank = state.run.rank
        seconds *= self.scatter.kernel(rank) * self.fault.compute_at(rank, state.step)
        state.host = max(state.host, state.ends[-AHEAD])
        launched = state.host
        state.host += max(LAUNCH_S, self.fault.launch[rank] * seconds)
        start = max(state.device, state.host + LATENCY_S)
        state.device = start + seconds
        state.ends = [*state.ends[1:], state.device]
        state.run.slices.append(Slice(lane, kind, start, state.device, launched, state.host, flops=flops))

    def _operation(self, state: _State, kind: str, chunk: int, micro_batch: int, last: bool) -> Program:
        job, rank, begin = self.job, state.run.rank, state.device
        forward, chunks = kind == "F", len(job.forward_s)
        source = chunk - 1 if forward else chunk + 1
        if job.work.pp > 1 and 0 <= source < chunks:
            yield from self._receive(state, (state.step, kind, source, micro_batch))
        begin = max(begin, state.device)
        base = (job.forward_s if forward else job.backward_s)[chunk] * self.fault.chunk[chunk % job.work.pp]
        extra = base * self.fault.sequence_extra(state.step, job.place(rank)[1], micro_batch)
        flops = job.flops / (job.work.micro_batches * job.work.vp) / 3 * (1 if forward else 2)
        for segment in range(job.work.segments):
            if job.work.zero == 3:
                yield from self._sharded(state, forward, segment)
            if job.work.tp > 1:
                yield from self._tensor(state, "all_gather")
            for name, share in PIECES:
                seconds = (base * share + (extra if name == "attention" else 0.0)) / job.work.segments
                self._kernel(
                    state, name, seconds, flops * share / 0.7 / job.work.segments if name == "gemm" else 0.0
                )
            if job.work.tp > 1:
                yield from self._tensor(state, "reduce_scatter")
            if not forward and job.work.zero == 3:
                yield from self._exchange(
                    state,
                    "data",
                    "reduce_scatter",
                    job.scatter_s / job.work.segments,
                    job.gradient_bytes / job.work.segments,
                    False,
                )
            if last and not segment and job.work.zero != 3 and job.work.dp > 1:
                yield from self._exchange(
                    state, "data", "reduce_scatter", job.scatter_s / 2, job.gradient_bytes / 2, False
                )
        name = "forward-compute" if forward else "backward-compute"
        state.run.operations.append(Span(name, begin, state.device, state.step, chunk, micro_batch))
        target = chunk + 1 if forward else chunk - 1
        if job.work.pp > 1 and 0 <= target < chunks:
            self._send(state, (state.step, kind, chunk, micro_batch))

    def _tensor(self, state: _State, kind: str) -> Program:
        job = self.job
        share = job.layers / job.work.segments
        yield from self._exchange(state, "tensor", kind, job.tp_s / 2 * share, job.tp_bytes * 2 * share, True)

    def _sharded(self, state: _State, forward: bool, segment: int) -> Program:
        """Weights gathered before they are used; the next segment's are fetched meanwhile."""
        job = self.job
        if segment == 0:
            yield from self._exchange(
                state,
                "data",
                "all_gather",
                job.gather_s / job.work.segments,
                job.weight_bytes / job.work.segments,
                True,
            )
        else:
            waits = state.lanes["fetched"]
            yield waits
            state.device = max(state.device, self._done[waits])
        if segment + 1 < job.work.segments:
            yield from self._exchange(
                state,
                "data",
                "all_gather",
                job.gather_s / job.work.segments,
                job.weight_bytes / job.work.segments,
                False,
                False,
            )
            state.lanes["fetched"] = state.lanes["data"]

    def _finish(self, state: _State) -> Program:
        """Gradients, the tied embedding, the norm, the update, the weights."""
        job, begin = self.job, state.device
        if job.work.zero == 3:
            waits = state.lanes["data"]
            yield waits
            state.device = max(state.device, self._done[waits])
        elif job.work.dp > 1:
            yield from self._exchange(
                state, "data", "reduce_scatter", job.scatter_s / 2, job.gradient_bytes / 2, True
            )
        state.run.operations.append(Span("grads-reduce-scatter", begin, state.device, state.step))
        if ("embedding", state.run.rank) in self._groups:
            begin = state.device
            size = job.vocabulary * job.hidden / job.work.tp * 2.0
            yield from self._exchange(state, "embedding", "all_reduce", job.tied_s, size, True)
            state.run.operations.append(Span("embedding-grads-all-reduce", begin, state.device, state.step))
        yield from self._exchange(state, "world", "all_reduce", job.tiny_s, 8.0, True)
        begin = state.device
        self._kernel(state, "optimizer", job.update_s)
        state.run.operations.append(Span("optimizer", begin, state.device, state.step))
        if job.work.zero != 3 and job.work.dp > 1:
            begin = state.device
            yield from self._exchange(state, "data", "all_gather", job.gather_s, job.weight_bytes, True)
            state.run.operations.append(Span("params-all-gather", begin, state.device, state.step))

    def _exchange(
        self,
        state: _State,
        role: str,
        kind: str,
        seconds: float,
        size: float,
        waits: bool,
        after: bool = True,
    ) -> Program:
        """A collective of the rank's group of that role. `waits`: the compute stream waits for its end; `after`: it needs
        what the compute stream has made.
        """
        rank = state.run.rank
        group = self._groups[role, rank]
        free = 0.0
        if role in state.lanes:
            yield state.lanes[role]
            free = self._done[state.lanes[role]]
        ready = max(free, self._launch(state) + LATENCY_S, state.device if after else 0.0)
        number = state.numbers.get(group, 0)
        state.numbers[group] = number + 1
        key = (role, group, number)
        own = Slice(role, kind, ready, ready, state.host - LAUNCH_S, state.host, group, number, size)
        state.run.slices.append(own)
        self._arrive(key, rank, ready, own, len(group), seconds)
        state.lanes[role] = key
        if waits:
            yield key
            state.device = max(state.device, own.end)

    def _launch(self, state: _State) -> float:
        state.host = max(state.host, state.ends[-AHEAD]) + LAUNCH_S
        return state.host

    def _send(self, state: _State, what: tuple[int, str, int, int]) -> None:
        start = max(self._launch(state) + LATENCY_S, state.device)
        self._hand_over(state, what, start, forward=True)

    def _receive(self, state: _State, what: tuple[int, str, int, int]) -> Program:
        start = max(self._launch(state) + LATENCY_S, state.device)
        key, own = self._hand_over(state, what, start, forward=False)
        yield key
        state.device = max(state.device, own.end)
        name = "forward-recv" if what[1] == "F" else "backward-recv"
        state.run.operations.append(Span(name, start, own.end, what[0], what[2], what[3]))

    def _hand_over(
        self, state: _State, what: tuple[int, str, int, int], start: float, forward: bool
    ) -> tuple[Hashable, Slice]:
        job, rank = self.job, state.run.rank
        tensor, data, stage = job.place(rank)
        ahead = (what[1] == "F") == forward
        other = job.rank(tensor, data, (stage + (1 if ahead else -1)) % job.work.pp)
        pair = (rank, other) if forward else (other, rank)
        key = ("pipeline", pair, what)
        kind = "send" if forward else "recv"
        own = Slice(
            "pipeline", kind, start, start, state.host - LAUNCH_S, state.host, pair, -1, job.send_bytes
        )
        state.run.slices.append(own)
        self._arrive(key, rank, start, own, 2, job.send_s)
        return key, own

    def _arrive(self, key: Any, rank: int, ready: float, own: Slice, members: int, seconds: float) -> None:
        came = self._came.setdefault(key, [])
        came.append((rank, ready, own))
        if len(came) < members:
            return
        ranks = [each[0] for each in came]
        took = (
            seconds
            * self.fault.exchange_factor(ranks, self.job.work.ranks_per_node, own.lane)
            * self.scatter.exchange()
        )
        end = max(each[1] for each in came) + took
        for _, _, each in came:
            each.end = max(end + self.scatter.ending_s(), each.start + 1e-6)
        self._done[key] = end
        del self._came[key]
