"""One rank of a job that checkpoints: the transformer of the testbed, optimiser state divided between ranks (ZeRO-1).

Weights, gradients and both moments lie in flat vectors; a rank keeps and saves its own slice, so that a checkpoint is the
job's state, written once, and may be read by another number of ranks. torch: run by
`torch_launch.Job`, which restarts it as torchrun does.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import zlib
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Shard

from argosy.testbed.checkpoints import commit
from argosy.testbed.checkpoints.storage import Link, Reader, Stager, Writer
from argosy.testbed.priority import stay_ahead
from argosy.testbed.training.data import share
from argosy.testbed.training.model import Accelerator, Transformer, local_loss
from argosy.testbed.training.shape import Pace, Shape

RANKS_DIVIDE = 24  # vectors are padded to a multiple, so that 1, 2, 3, 4, 6, 8 ranks have equal slices


def main(path: Path) -> None:
    """Run the cases of a plan, or go on with the one in which the job was killed."""
    plan = json.loads(path.read_text(encoding="utf-8"))
    torch.set_num_threads(1)
    stay_ahead()
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    saver = dist.new_group(backend="gloo")  # a save's messages do not mix with the step's
    reached = 0
    for case in plan["cases"]:
        reached = _Trainer(case, saver).run(reached)
    dist.barrier()
    dist.destroy_process_group()


class _Trainer:
    """The state of a rank, its steps, and its saves."""

    def __init__(self, case: dict[str, Any], saver: Any) -> None:
        self.case, self.saver = case, saver
        self.rank, self.ranks = dist.get_rank(), dist.get_world_size()
        self.attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
        faults = case["faults"]
        self.fault = faults[self.attempt] if self.attempt < len(faults) else None
        self.root = Path(case["root"])
        self.log = os.open(
            f"{case['events']}-{self.rank}.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644
        )
        self.mesh = init_device_mesh("cpu", (self.ranks,))
        shape = Shape(**case["shape"])
        self.accelerator = Accelerator(Pace.of(case["pace"]))
        self.model = Transformer(shape, accelerator=self.accelerator)
        self._flatten()
        self.progress = {"steps": 0, "samples": 0}
        self.size = sum(part.numel() * part.element_size() for part in self._parts().values())
        self.saves = 0
        self.saving: Any = None
        rates = case["rates"]
        self.to_host, self.to_storage, self.from_storage = (Link(rates[k]) for k in ("copy", "write", "load"))
        self.stager = Stager(self.to_host, self.size, self._reached)

    def _flatten(self) -> None:
        """Weights and gradients become parts of flat vectors; the optimiser gets this rank's slice."""
        weights = list(self.model.parameters())
        count = sum(weight.numel() for weight in weights)
        padded = -(-count // RANKS_DIVIDE) * RANKS_DIVIDE
        self.flat, self.gradient = torch.zeros(padded), torch.zeros(padded)
        first = 0
        for weight in weights:
            part = slice(first, first + weight.numel())
            self.flat[part] = weight.detach().reshape(-1)
            weight.data = self.flat[part].view_as(weight)
            weight.grad = self.gradient[part].view_as(weight)
            first = part.stop
        slice_ = padded // self.ranks
        # A copy, not a view: torch's stager takes the whole storage behind a view, and fails where it does not begin at 0.
        self.mine = torch.nn.Parameter(self.flat[self.rank * slice_ : (self.rank + 1) * slice_].clone())
        self.mine.grad = torch.zeros(slice_)
        self.optimizer = torch.optim.AdamW([self.mine], lr=1e-3)
        self.optimizer.state[self.mine] = {
            "step": torch.tensor(0.0),
            "exp_avg": torch.zeros(slice_),
            "exp_avg_sq": torch.zeros(slice_),
        }

    def _parts(self) -> dict[str, torch.Tensor]:
        """This rank's slices of what is saved."""
        moments = self.optimizer.state[self.mine]
        return {
            "weights": self.mine.detach(),
            "exp_avg": moments["exp_avg"],
            "exp_avg_sq": moments["exp_avg_sq"],
        }

    def _state(self) -> dict[str, Any]:
        """As torch.distributed.checkpoint takes it: slices of vectors, and where the job is in its samples."""
        whole = torch.Size([self.flat.numel()])
        state: dict[str, Any] = {
            name: DTensor.from_local(part, self.mesh, [Shard(0)], run_check=False, shape=whole, stride=(1,))
            for name, part in self._parts().items()
        }
        return state | {"progress": dict(self.progress)}

    def run(self, reached: int) -> int:
        """Restore what there is, then steps and saves; the last step. `reached`: that of the case before."""
        self._restore()
        self._warm_up()
        dist.barrier()
        self.accelerator.wait_over()
        self._tell("up", at=time.monotonic(), steps=self.progress["steps"])
        until = self.case["until"]
        if until is None:
            until = max(reached, self.progress["steps"]) + self.case["further"]
        if self.fault is not None:
            until = sys.maxsize
        while self.progress["steps"] < until:
            self._step()
            if self.case["interval"] and self.progress["steps"] % self.case["interval"] == 0:
                self._save()
                self.accelerator.wait_over()
            if self.case["sums_every"] and self.progress["steps"] % self.case["sums_every"] == 0:
                self._tell("state", steps=self.progress["steps"], crc32=self._sum_of_state())
        if self.saving is not None:
            self.saving.result()
        dist.barrier()
        self._tell("ended", at=time.monotonic(), steps=self.progress["steps"])
        return int(self.progress["steps"])

    def _warm_up(self) -> None:
        """A step's arithmetic and messages on nothing that counts: first ones take longer."""
        local_loss(self.model, range(self.case["batch"] // self.ranks), self.case["batch"]).backward()
        dist.reduce_scatter_single(torch.empty_like(self.mine.detach()), self.gradient)
        self.gradient.zero_()

    def _step(self) -> None:
        begun = time.monotonic()
        samples, batch = self.progress["samples"], self.case["batch"]
        numbers = share(range(samples, samples + batch), self.rank, self.ranks)
        self.gradient.zero_()
        loss = local_loss(self.model, numbers, batch)
        loss.backward()
        total = loss.detach().double()
        dist.all_reduce(total)
        dist.reduce_scatter_single(self.mine.grad, self.gradient)
        self.optimizer.step()
        dist.all_gather_single(self.flat, self.mine.detach())
        self.accelerator.wait_over()
        self.progress = {"steps": self.progress["steps"] + 1, "samples": samples + batch}
        self._tell(
            "step",
            steps=self.progress["steps"],
            begun=begun,
            at=time.monotonic(),
            loss=float(total).hex(),
            samples=[numbers[0], numbers[-1] + 1] if len(numbers) else [0, 0],
        )

    def _save(self) -> None:
        """Begin a checkpoint and return when the job may go on; the next one waits until this one is safe."""
        steps, begun = self.progress["steps"], time.monotonic()
        if self.saving is not None:
            self.saving.result()
        waited = copied = time.monotonic()
        self.saves += 1
        writer = Writer(self.root, steps, self.to_storage, self.size, self._reached, self._committed)
        if self.case["mode"] == "async":
            self.saving = dcp.async_save(
                self._state(), storage_writer=writer, async_stager=self.stager, process_group=self.saver
            )
        else:
            staged = self.stager.stage(self._state())
            copied = time.monotonic()
            dcp.save(staged, storage_writer=writer, process_group=self.saver)
        self._tell("saved", steps=steps, begun=begun, waited=waited, copied=copied, at=time.monotonic())

    def _restore(self) -> None:
        """The latest whole checkpoint into this number of ranks; rank 0 removes torn ones before anybody saves."""
        begun = time.monotonic()
        found: list[Any] = [None]
        if self.rank == 0:
            folder, passed = commit.latest_whole(self.root)
            commit.remove_torn(self.root)
            found = [{"folder": str(folder) if folder else None, "passed": passed}]
        dist.broadcast_object_list(found, src=0)
        folder, read = found[0]["folder"], time.monotonic()
        if folder is not None:
            state = self._state()
            reader = Reader(Path(folder), self.from_storage, self.size, self._reached)
            dcp.load(state, storage_reader=reader)
            self.progress = dict(state["progress"])
            self.optimizer.state[self.mine]["step"].fill_(self.progress["steps"])
        loaded = time.monotonic()
        if folder is not None:
            dist.all_gather_single(self.flat, self.mine.detach())
        self._tell(
            "restored",
            **found[0],
            steps=self.progress["steps"],
            begun=begun,
            read=read,
            at=loaded,
            crc32=self._sum_of_state() if folder else None,
            bytes=self.size,
        )

    def _sum_of_state(self) -> list[int]:
        """CRC-32 of the whole vectors, the same for any number of ranks."""
        sums = []
        for part in self._parts().values():
            whole = torch.empty_like(self.flat)
            dist.all_gather_single(whole, part)
            sums.append(zlib.crc32(whole.numpy().tobytes()))
        return sums

    def _reached(self, point: str, share_: float) -> None:
        """Where the plan says so, this rank is killed here, as from outside."""
        fault = self.fault
        if fault is None or fault["rank"] != self.rank or fault["point"] != point:
            return
        if (point == "load" or self.saves == fault["save"]) and share_ >= fault["share"]:
            self._tell("killed", at=time.monotonic(), point=point, steps=self.progress["steps"])
            os.kill(os.getpid(), signal.SIGKILL)

    def _committed(self, steps: int) -> None:
        self._tell("committed", steps=steps, at=time.monotonic())

    def _tell(self, event: str, **values: Any) -> None:
        """One line, in one write: a kill leaves lines whole."""
        line = json.dumps(
            {"case": self.case["name"], "event": event, "attempt": self.attempt, "rank": self.rank, **values}
        )
        os.write(self.log, line.encode() + b"\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
