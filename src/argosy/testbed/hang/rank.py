"""One rank that may hang: gradients added up in pairs and across them, a thread that beats, a flight recorder. torch."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from argosy.testbed.hang.plan import ACROSS, BATCH, BEAT_S, INSIDE, SHAPE, STEP_S
from argosy.testbed.priority import stay_ahead
from argosy.testbed.training.data import numbers_of_step, share
from argosy.testbed.training.model import Accelerator, Transformer, local_loss
from argosy.testbed.training.shape import Pace

LAST_STEPS = 5  # of the attempt in which nothing is planted


def main(path: Path) -> None:
    """Steps until something that was planted stops them, or the last attempt's few."""
    plan = json.loads(path.read_text(encoding="utf-8"))
    torch.set_num_threads(1)
    stay_ahead()
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    _Rank(plan).run()
    dist.barrier()
    dist.destroy_process_group()


class _Rank:
    """The model, its groups, and what is planted."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan, self.rank = plan, dist.get_rank()
        self.attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
        plants = plan["plants"]
        self.plant = plants[self.attempt] if self.attempt < len(plants) else None
        self.groups = {
            name: self._mine(name, pairs) for name, pairs in (("inside", INSIDE), ("across", ACROSS))
        }
        self.accelerator = Accelerator(Pace.even(SHAPE, STEP_S / 3 / SHAPE.layers))
        self.model = Transformer(SHAPE, accelerator=self.accelerator)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.steps = 0

    def _mine(self, name: str, pairs: tuple[tuple[int, ...], ...]) -> Any:
        """All groups are made by all ranks; this rank's."""
        made = [dist.new_group(list(ranks), backend="gloo", group_desc=name) for ranks in pairs]
        return next(group for group, ranks in zip(made, pairs, strict=True) if self.rank in ranks)

    def run(self) -> None:
        """Beats beside steps."""
        dist.barrier()
        up = time.monotonic()
        self.accelerator.wait_over()
        threading.Thread(target=self._beat, daemon=True).start()
        while self.plant is not None or self.steps < LAST_STEPS:
            self._step(self._due(up))

    def _due(self, up: float) -> str:
        """What is planted for this rank's next step; "" for nothing."""
        plant = self.plant
        if plant is None or plant["rank"] != self.rank or plant["kind"] == "stopped":
            return ""
        if time.monotonic() < up + plant["after_s"]:
            return ""
        self.plant = {**plant, "rank": -1}  # once
        said = json.dumps({"attempt": self.attempt, "at": time.monotonic()})
        Path(self.plan["planted"]).write_text(said, encoding="utf-8")
        return str(plant["kind"])

    def _step(self, due: str) -> None:
        if due == "stuck":
            threading.Event().wait()  # the data loader's, which never comes
        self.optimizer.zero_grad()
        numbers = share(numbers_of_step(self.steps, BATCH), self.rank, dist.get_world_size())
        loss = local_loss(self.model, numbers, BATCH)
        loss.backward()
        gradient = torch.cat([weight.grad.reshape(-1) for weight in self.model.parameters()])
        if due != "skipped":
            dist.all_reduce(gradient, group=self.groups["inside"])
        dist.all_reduce(gradient, group=self.groups["across"])
        first = 0
        for weight in self.model.parameters():
            weight.grad.copy_(gradient[first : first + weight.numel()].view_as(weight))
            first += weight.numel()
        self.optimizer.step()
        total = loss.detach().clone()
        dist.all_reduce(total)
        self.accelerator.wait_over()
        self.steps += 1

    def _beat(self) -> None:
        """A beat every BEAT_S; what comes back is a wish for the recorder's content."""
        line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        line.connect(("127.0.0.1", self.plan["port"]))
        due = time.monotonic()
        while True:
            line.send(self._told(steps=self.steps))
            due += BEAT_S
            while (left := due - time.monotonic()) > 0:
                line.settimeout(left)
                try:
                    asked = line.recv(100)
                except TimeoutError:
                    break
                if asked == b"dump":
                    self._dump()
                    line.send(self._told(dumped=True))

    def _told(self, **values: Any) -> bytes:
        return json.dumps({"attempt": self.attempt, "rank": self.rank, **values}).encode()

    def _dump(self) -> None:
        """The flight recorder as JSON. gloo leaves its groups' members and names out: they are filled in."""
        kept = json.loads(torch._C._distributed_c10d._dump_fr_trace_json())
        groups = [dist.group.WORLD, *self.groups.values()]
        kept["pg_config"] = {
            group.group_name: {
                "name": group.group_name,
                "desc": group.group_desc,
                "ranks": dist.get_process_group_ranks(group),
            }
            for group in groups
        }
        kept["rank"] = self.rank
        folder = Path(self.plan["dumps"]) / str(self.attempt)
        folder.mkdir(parents=True, exist_ok=True)
        beside = folder / f".{self.rank}"
        beside.write_text(json.dumps(kept), encoding="utf-8")
        beside.rename(folder / f"dump_rank_{self.rank}.json")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
