"""One rank: a real model, and as many process groups in its life as it survives. torch: only the zygote imports this.

A rank is given a plan (generation, its number, how many there are, where the others meet), builds the process group of that
generation, brings its weights up to date, and trains. When the controller says halt, or a message fails because someone has
died, it lets go of the group and waits for the next plan: process, model and optimizer stay where they are.
"""

from __future__ import annotations

import io
import json
import os
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from torch.distributed import BroadcastOptions, PrefixStore, ProcessGroupGloo, TCPStore

from argosy.testbed.policies.agent import usual
from argosy.testbed.policies.settings import Order, Settings
from argosy.testbed.policies.wire import Line
from argosy.testbed.training.data import share
from argosy.testbed.training.model import Accelerator, Transformer, local_loss
from argosy.testbed.training.shape import Pace

POLL_S = 0.0005
MEET_S = 3.0  # that the members of a group wait for each other, when it is built and in a collective
KEEP_S = MEET_S + 2.0
NEVER = -1


class Halted(Exception):
    """The controller takes this generation back."""


class Group:
    """The process group of one generation: a connection to every other member, whose address is in the store.

    A connection to the store of its own, too: one that waits for a dead member would make the next generation wait.
    """

    def __init__(self, plan: dict[str, Any], interface: str, store: tuple[str, int]) -> None:
        start = time.monotonic()
        options = ProcessGroupGloo._Options()
        options._timeout = timedelta(seconds=MEET_S)
        options._devices = [ProcessGroupGloo.create_device(interface=interface)]
        reached = TCPStore(*store, timeout=timedelta(seconds=MEET_S), wait_for_workers=False)
        self._store = PrefixStore(f"{plan['run']}/{plan['generation']}", reached)
        self.group = ProcessGroupGloo(self._store, plan["rank"], plan["ranks"], options)
        self.connect_s = time.monotonic() - start


class Rank:
    """The life of a rank process. `order` as in `agent.serve`."""

    def __init__(self, order: dict[str, Any]) -> None:
        self.order, self.settings = order, Settings.of(order["settings"])
        self.host, self.life = order["host"], order["life"]
        s = self.settings
        torch.set_num_threads(1)
        pace = Pace.even(s.shape, s.micro_batch_s / s.shape.layers / 3)
        self.accelerator = Accelerator(pace)
        self.model = Transformer(s.shape, accelerator=self.accelerator)
        self.weights = list(self.model.parameters())
        self.optimizer = torch.optim.AdamW(self.weights, lr=1e-3)
        self.samples = Order(s.epoch_steps, s.micro_batches, s.seed)
        self.folder = Path(order["folder"])
        self.notes = os.open(
            self.folder / f"rank-{self.host}-{self.life}.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND
        )
        self.step = NEVER
        self.copy: tuple[int, bytes] = (NEVER, b"")
        self.first = self._state()
        self.leave = False
        self.group: Group | None = None
        self.generation = NEVER
        # A group that is freed while a message is on its way waits for it: old ones are kept until that is over, and no
        # longer, as gloo's threads may spin when a peer has vanished.
        self.old: list[tuple[float, Group, Any]] = []
        self.message: Any = None
        self.line = Line.to(*order["controller"])
        self._note("born", version=order["version"])

    def serve(self) -> None:
        """Follow plans until the controller has gone or says it is the end."""
        self.line.send(say="rank", host=self.host, life=self.life, pid=os.getpid())
        while not self.line.closed:
            self.line.wait(0.05 if self.old else 1.0)
            self._free()
            for message in self.line.read():
                if message["do"] == "plan":
                    self._take_part(message)
                elif message["do"] == "halt":
                    self._say("halted")
                elif message["do"] == "end":
                    return

    def _say(self, what: str, **more: Any) -> None:
        self.line.send(say=what, host=self.host, life=self.life, **more)

    def _note(self, what: str, **more: Any) -> None:
        """Written at once: a kill does not take back what the kernel has."""
        os.write(self.notes, json.dumps({"what": what, "host": self.host, **more}).encode() + b"\n")

    def _take_part(self, plan: dict[str, Any]) -> None:
        self.leave = False
        self.generation = generation = plan["generation"]
        try:
            self.group = self._meet(plan)
            start = time.monotonic()
            source = self._restore(plan)
            self._say(
                "began",
                generation=generation,
                step=self.step,
                source=source,
                connect_s=self.group.connect_s,
                restore_s=time.monotonic() - start,
            )
            outcome = self._train(plan)
        except Halted:
            outcome = "halted"
        except RuntimeError as error:  # gloo's: somebody has gone, or did not come
            outcome = "broken"
            self._note("broken", generation=generation, why=str(error)[:200])
        if self.group is not None:
            self.old.append((time.monotonic(), self.group, self.message))
        self.group = self.message = None
        self._say(outcome, generation=generation)

    def _free(self) -> None:
        """Let go of old groups that wait for nothing."""
        now = time.monotonic()
        self.old = [
            (since, group, message)
            for since, group, message in self.old
            if message is not None and not message.is_completed() and now - since < KEEP_S
        ]

    def _meet(self, plan: dict[str, Any]) -> Group:
        """Build the group beside, with an ear for the controller: who waits for a dead member cannot be told so."""
        found: list[Group | Exception] = []

        def build() -> None:
            usual()  # gloo's threads must not be ahead of the kernel's own, which bring their packets
            try:
                found.append(Group(plan, self.order["interface"], self.order["store"]))
            except Exception as error:
                found.append(error)

        threading.Thread(target=build, daemon=True).start()
        while not found:
            self._check()
            time.sleep(POLL_S)
        if isinstance(found[0], Exception):
            raise found[0]
        return found[0]

    def _check(self) -> None:
        """Hear the controller in the middle of work."""
        for message in self.line.read():
            if message["do"] == "halt" and message["generation"] >= self.generation:
                raise Halted
            if message["do"] == "leave":
                self.leave = True
        if self.line.closed:
            raise SystemExit(1)

    def _wait(self, work: Any) -> None:
        """For a collective, with an ear for the controller."""
        self.message = work
        while not work.is_completed():
            self._check()
            time.sleep(POLL_S)
        self.message = None
        work.wait()

    def _sum(self, values: torch.Tensor) -> torch.Tensor:
        assert self.group is not None
        self._wait(self.group.group.allreduce([values]))
        return values

    def _broadcast(self, values: torch.Tensor, root: int) -> torch.Tensor:
        assert self.group is not None
        how = BroadcastOptions()
        how.rootRank = root
        self._wait(self.group.group.broadcast([values], how))
        return values

    def _state(self) -> bytes:
        """Weights and optimizer, as a checkpoint has them."""
        buffer = io.BytesIO()
        torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}, buffer)
        return buffer.getvalue()

    def _take_state(self, data: bytes, step: int) -> None:
        state = torch.load(io.BytesIO(data), weights_only=True)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step = step

    def _restore(self, plan: dict[str, Any]) -> str:
        """Bring the weights to where the group begins; where they came from.

        `newest`: the state of whoever has come furthest is everybody's; those who have it keep it. `checkpoint`: all go back to
        the last one, from their own memory where they have it.
        """
        if plan["source"] == "newest":
            places = torch.zeros(plan["ranks"], dtype=torch.int64)
            places[plan["rank"]] = self.step + 1
            steps = (self._sum(places) - 1).tolist()
            newest = max(steps)
            if newest > NEVER:
                return self._newest(steps, newest, plan["rank"])
        found = torch.tensor([newest_checkpoint(self.folder)])
        step = int(self._broadcast(found, 0)[0])
        if step == NEVER:
            self._take_state(self.first, 0)
            return "start"
        if self.copy[0] == step:
            self._take_state(self.copy[1], step)
            return "memory"
        self._take_state(checkpoint_path(self.folder, step).read_bytes(), step)
        return "storage"

    def _newest(self, steps: list[int], newest: int, me: int) -> str:
        if min(steps) == newest:
            return "own"
        root = steps.index(newest)
        data = self._state() if me == root else b""
        size = int(self._broadcast(torch.tensor([len(data)]), root)[0])
        values = torch.frombuffer(bytearray(data), dtype=torch.uint8) if me == root else torch.empty(0)
        if me != root:
            values = torch.empty(size, dtype=torch.uint8)
        self._broadcast(values, root)
        if steps[me] == newest:
            return "own"
        self._take_state(values.numpy().tobytes(), newest)
        return "peer"

    def _train(self, plan: dict[str, Any]) -> str:
        """Steps until all are done, or until someone wants to leave or come in at a step's end."""
        s, generation, ranks = self.settings, plan["generation"], plan["ranks"]
        while self.step < s.steps:
            self._free()
            start = time.monotonic()
            self.accelerator.wait_over()
            loss = self._gradients(plan)
            values = [weight.grad.flatten() for weight in self.weights if weight.grad is not None]
            told = torch.tensor([loss, float(self.leave)], dtype=values[0].dtype)
            summed = self._sum(torch.cat([*values, told]))
            place = 0
            for weight in self.weights:
                weight.grad = summed[place : place + weight.numel()].view_as(weight)
                place += weight.numel()
            self.optimizer.step()
            self._note(
                "commit",
                generation=generation,
                step=self.step,
                loss=float(summed[-2]),
                ranks=ranks,
                start=start,
                end=time.monotonic(),
            )
            self.step += 1
            if self.step % s.interval == 0 and self.step < s.steps:
                self._save(plan)
            if summed[-1] > 0:
                return "left"
        return "done"

    def _gradients(self, plan: dict[str, Any]) -> float:
        """This rank's part of the step, sample by sample: gradients add up in the weights; its share of the loss."""
        s = self.settings
        self.optimizer.zero_grad()
        numbers = share(self.samples.numbers(self.step), plan["rank"], plan["ranks"])
        total = 0.0
        for number in numbers:
            self._check()
            loss = local_loss(self.model, [number], s.micro_batches, s.seed)
            loss.backward()
            total += loss.item()
        self._note("fed", generation=plan["generation"], step=self.step, numbers=list(numbers))
        return total

    def _save(self, plan: dict[str, Any]) -> None:
        """A checkpoint: a copy in every rank's memory, rank 0's in storage; all go on when it is safe."""
        start = time.monotonic()
        self.copy = (self.step, self._state())
        note = {"generation": plan["generation"], "step": self.step, "start": start}
        if plan["rank"] == 0:
            path = checkpoint_path(self.folder, self.step)
            part = path.with_suffix(".part")
            part.write_bytes(self.copy[1])
            self._pause(self.settings.storage_s)
            part.replace(path)
            self._note("save", end=time.monotonic(), **note)
        self._sum(torch.zeros(1))
        self._note("save", end=time.monotonic(), **note)

    def _pause(self, seconds: float) -> None:
        """The storage's time: a wait."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self._check()
            time.sleep(min(left, 0.005))


def checkpoint_path(folder: Path, step: int) -> Path:
    """The checkpoint after `step` steps."""
    return folder / f"checkpoint-{step:07d}.pt"


def newest_checkpoint(folder: Path) -> int:
    """The step of the newest whole checkpoint, −1 where there is none."""
    return max((int(path.stem.rpartition("-")[2]) for path in folder.glob("checkpoint-*.pt")), default=NEVER)
