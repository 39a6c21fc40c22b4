"""What a planted fault changes in the replay of a job. Factors are 1 and seconds small where nothing is wrong."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

LOADER_S = 1.5e-3  # a batch that lies ready


@dataclass(frozen=True)
class Pause:
    """A host that stops for `seconds` at a fraction `at` of a step's work: `kind` is gc or recompile."""

    rank: int
    step: int
    at: float
    seconds: float
    kind: str


@dataclass(frozen=True)
class Fault:
    """`compute`: factor on kernels by step (cyclic) and rank; `launch`: host time of a launch as a share of its kernel, by
    rank; `chunk`: factor on a stage's work; `data_s`: what the loader takes, by step (cyclic) and rank; `link`: the share
    of its rate that a rank's NIC gives; `network`: factor on all transfers between nodes; `sequences`: sigma of what
    micro-batches need beyond the mean, by `seed`; `recompute`: whether forwards are repeated.
    """

    compute: np.ndarray
    launch: np.ndarray
    chunk: np.ndarray
    data_s: np.ndarray
    link: np.ndarray
    network: float = 1.0
    sequences: float = 0.0
    seed: int = 0
    pauses: tuple[Pause, ...] = field(default=())

    @classmethod
    def none(cls, ranks: int, stages: int) -> Fault:
        """Nothing is wrong."""
        one = np.ones(ranks)
        return cls(one[None], 0.0 * one, np.ones(stages), LOADER_S * one[None], one)

    def compute_at(self, rank: int, step: int) -> float:
        """Factor on kernels of a rank in a step."""
        return float(self.compute[step % len(self.compute), rank])

    def sequence_extra(self, step: int, data: int, micro_batch: int) -> float:
        """Attention that a micro-batch needs beyond the mean, as a share of its pass: long documents, few of them."""
        if not self.sequences:
            return 0.0
        rng = np.random.default_rng((self.seed, step, data, micro_batch))
        return self.sequences * float(np.minimum(rng.exponential(1.0), 4.0))

    def exchange_factor(self, ranks: list[int], ranks_per_node: int, role: str) -> float:
        """Factor on a transfer: the slowest NIC of those that leave their node; nobody leaves it inside one node."""
        if len({rank // ranks_per_node for rank in ranks}) < 2:
            return 1.0
        return self.network / float(min(self.link[rank] for rank in ranks))
