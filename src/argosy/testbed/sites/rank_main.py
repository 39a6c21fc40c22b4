"""What every rank runs: `python -m argosy.testbed.sites.rank_main FOLDER` reads plan.json; rank 0 writes found.json. torch."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from argosy.testbed.sites import plan
from argosy.testbed.sites.exchange import Between, Late, Outer, Ring, Sites
from argosy.testbed.training import data
from argosy.testbed.training.exchange import LEARNING_RATE, Bucket, clock
from argosy.testbed.training.model import Accelerator, Transformer, loss_of, tokens_of
from argosy.testbed.training.pipelined import Stage
from argosy.testbed.training.rank_main import messages, punctual
from argosy.testbed.training.shape import Pace, Shape

START_S = 0.3  # from the word to the start
LOOK_S, SLACK_S = (
    0.01,
    0.01,
)  # between looks at the clock; that one may come late: the rank's own arithmetic, too


class Watch(threading.Thread):
    """Looks at the clock every LOOK_S: how long this rank was kept from running."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.late_s = 0.0

    def run(self) -> None:
        """For as long as the rank lives."""
        while True:
            start = clock()
            time.sleep(LOOK_S)
            self.late_s += max(0.0, clock() - start - LOOK_S - SLACK_S)


WATCH = Watch()


class Replica:
    """A model in one flat buffer, its optimizer, and the part of every step's samples that it sees."""

    def __init__(
        self, case: Mapping[str, Any], part: int, parts: int, scale: int = 1, pace: bool = True
    ) -> None:
        self.shape = Shape(**case["shape"])
        self.batch, self.part, self.parts, self.scale = case["batch"], part, parts, scale
        self.accelerator = Accelerator(Pace.of(case["pace"])) if pace else None
        self.model = Transformer(self.shape, accelerator=self.accelerator)
        self.flat = Bucket(self.model, list(range(self.shape.blocks)), 1, 0)
        state = torch.nn.Parameter(self.flat.weights)
        state.grad = self.flat.gradients
        self.optimizer = torch.optim.AdamW([state], lr=LEARNING_RATE)

    @property
    def weights(self) -> torch.Tensor:
        """All of them, flat; changing them changes the model."""
        return self.flat.weights

    def gradients(self, step: int) -> torch.Tensor:
        """Forward and backward of this part of a step's samples. `scale`: sites that learn on their own take the mean over
        their samples alone.
        """
        numbers = data.share(data.numbers_of_step(step, self.batch), self.part, self.parts)
        tokens = tokens_of(numbers, self.shape)
        self.flat.gradients.zero_()
        loss_of(self.model(tokens[:, :-1]), tokens, self.batch // self.scale).backward()
        return self.flat.gradients

    def idle(self) -> None:
        """The accelerator begins again now."""
        if self.accelerator is not None:
            self.accelerator.wait_over()

    def loss(self) -> float:
        """On the samples that nobody learns from, without the accelerator's time."""
        first, count = plan.EVALUATION
        tokens = tokens_of(range(first, first + count), self.shape)
        plain = Transformer(self.shape)
        with torch.no_grad():
            for own, learned in zip(plain.parameters(), self.model.parameters(), strict=True):
                own.copy_(learned)
            return float(loss_of(plain(tokens[:, :-1]), tokens, count))


def parallel(case: Mapping[str, Any], sites: Sites, rank: int, ranks: int) -> dict[str, Any]:
    """A data-parallel job by its `method`: `alone` (nothing exchanged), `within` (sites apart), `ring` over all ranks, `gloo`
    (its own ring over all ranks), `sites` (within, between the leaders, back), `diloco`, `late`.
    """
    apart = case["method"] in ("within", "diloco", "late")
    one = Replica(case, rank, ranks, sites.sites if apart else 1)
    length, kind = len(one.weights), one.weights.dtype
    between, outer = Between(sites, length, kind), Outer(one.weights, plan.OUTER_RATE, plan.OUTER_MOMENTUM)
    ring = Ring(rank, ranks, length, kind)
    late = Late(sites, length, kind) if case["method"] == "late" else None
    _warm(between, ring, sites, torch.zeros_like(one.weights), case["method"])
    book: dict[str, Any] = {"outer_s": [], "behind": [], "way_s": [], "applied": []}
    kept: dict[int, tuple[float, torch.Tensor]] = {}
    _at_once()
    one.idle()
    late_s, ends = WATCH.late_s, [clock()]
    for step in range(case["steps"]):
        last = apart and case["method"] != "within" and (step + 1) % case["interval"] == 0
        if case["method"] == "sites" or (case["method"] == "diloco" and last):
            between.ask()
        if case["method"] == "ring":
            ring.ask()
        gradients = one.gradients(step)
        if case["method"] == "ring":
            ring.add(gradients)
        elif case["method"] == "gloo":
            dist.all_reduce(gradients)
        elif case["method"] != "alone":
            sites.within(gradients)
        if case["method"] == "sites":
            between.add(gradients)
            sites.hand_on(gradients)
        one.optimizer.step()
        if case["method"] == "diloco" and last:
            _outer(one, outer, between, sites, book)
        if late is not None:
            _late(one, late, step + 1, last, kept, book)
        one.idle()
        ends.append(clock())
    book["stalled"] = (WATCH.late_s - late_s) / (ends[-1] - ends[0])
    if late is not None:
        _rest(one, late, case["steps"], kept, book)
    if case["method"] == "late":
        dist.all_reduce(one.weights)
        one.weights.div_(ranks)
    return {"ends_s": ends, "loss": one.loss(), **book}


def _at_once() -> None:
    """All ranks leave at one moment: a barrier lets go of the sites a way apart."""
    moment = torch.tensor([clock() + START_S], dtype=torch.float64)
    dist.broadcast(moment, 0)
    time.sleep(max(0.0, float(moment) - clock()))


def _warm(between: Between, ring: Ring, sites: Sites, values: torch.Tensor, method: str) -> None:
    """Let the connections of a method open their windows."""
    for _ in range(plan.WARM_UP):
        if method == "gloo":
            dist.all_reduce(values)
        elif method == "ring":
            ring.ask()
            dist.barrier()
            ring.add(values)
        elif method in ("sites", "diloco"):
            between.ask()
            dist.barrier()
            sites.within(values)
            between.add(values)
            sites.hand_on(values)


def _outer(one: Replica, outer: Outer, between: Between, sites: Sites, book: dict[str, Any]) -> None:
    """An outer step: the mean of what both sites moved by, and from there on."""
    start = clock()
    moved = (outer.start - one.weights) / sites.sites
    between.add(moved)
    sites.hand_on(moved)
    one.weights.copy_(outer.step(moved))
    book["outer_s"].append(clock() - start)


def _late(
    one: Replica, late: Late, steps: int, last: bool, kept: dict[int, Any], book: dict[str, Any]
) -> None:
    """Half of the way towards what the other site had when it sent, whenever that comes; then send, if it is time."""
    if (came := late.arrived()) is not None:
        at, given = came
        sent = int(given[-1])
        begun, own = kept.pop(sent)
        one.weights.add_((given[:-1] - own) / 2)
        book["behind"].append(steps - sent)
        book["way_s"].append(at - begun)
        book["applied"].append([sent, steps])
    if last:
        kept[steps] = clock(), one.weights.clone()
        late.send(one.weights, steps)


def _rest(one: Replica, late: Late, steps: int, kept: dict[int, Any], book: dict[str, Any]) -> None:
    """What is still on its way when the steps are over."""
    while kept:
        before = len(kept)
        _late(one, late, steps, False, kept, {"behind": [], "way_s": [], "applied": book["applied"]})
        if len(kept) == before:
            time.sleep(0.005)
    late.end()


def pipeline(case: Mapping[str, Any], rank: int, ranks: int) -> dict[str, Any]:
    """A pipeline whose middle cut lies between the sites. Its ends are the first stage's, which begins and ends every step."""
    stage = Stage(case, rank, ranks)
    _at_once()
    stage.accelerator.wait_over()
    late_s, ends, losses = WATCH.late_s, [clock()], []
    for step in range(case["steps"]):
        losses.append(stage.step(step))
        stage.accelerator.wait_over()
        ends.append(clock())
    stalled = (WATCH.late_s - late_s) / (ends[-1] - ends[0])
    dist.barrier()
    return {"ends_s": ends, "losses": losses, "stalled": stalled}


def main(folder: Path) -> None:
    """Join the group, run the plan, tell what was found."""
    punctual()
    torch.set_num_threads(1)
    wanted = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    sites = Sites(rank, ranks, plan.SITES)
    found: list[Any] = []
    WATCH.start()
    for case in wanted:
        if case["kind"] == "messages":
            mine = messages(case["bytes"], rank)
        elif case["kind"] == "pipeline":
            mine = pipeline(case, rank, ranks)
        else:
            mine = parallel(case, sites, rank, ranks)
        every: list[Any] = [None] * ranks
        dist.all_gather_object(every, mine)
        found.append(every)
    if rank == 0:
        from argosy.testbed.sites import alone

        told = {"found": found, "alone": alone.losses(wanted, plan.by_name(found, wanted))}
        (folder / "found.json").write_text(json.dumps(told), encoding="utf-8")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
