"""Parallel layouts as a struct of arrays: one layout is an array of length one, a search is a long one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from argosy.spec.model import ModelArchitecture

SCHEDULES = ("1f1b", "interleaved", "gpipe", "zero-bubble", "dualpipe")
RECOMPUTE = ("none", "selective", "full")
ONE_FORWARD_ONE_BACKWARD, INTERLEAVED, GPIPE, ZERO_BUBBLE, DUALPIPE = range(len(SCHEDULES))
NO_RECOMPUTE, SELECTIVE, FULL = range(len(RECOMPUTE))


@dataclass(frozen=True)
class Layouts:
    """L parallel layouts. Every field is an array of shape (L,); scalars are broadcast when it is made.

    Ranks are laid out fastest first as tp, cp, dp, pp, so that `gpus = tp · pp · cp · dp`. Expert layers re-
    use the tp · cp · dp ranks of a pipeline stage: `ep · etp` divides them, and `expert_dp` replicas of each
    expert remain (Megatron-Core's parallel folding).
    """

    tp: np.ndarray  # tensor-parallel ranks
    pp: np.ndarray  # pipeline stages
    vp: np.ndarray  # virtual stages (model chunks) per pipeline rank
    cp: np.ndarray  # context-parallel ranks
    ep: np.ndarray  # expert-parallel ranks
    etp: np.ndarray  # tensor-parallel ranks inside one expert
    dp: np.ndarray  # data-parallel replicas
    micro_batch: np.ndarray  # sequences per micro-batch
    grad_accumulation: np.ndarray  # micro-batches per step and replica
    zero: (
        np.ndarray
    )  # 0: replicated (DDP), 1: optimizer, 2: and gradients, 3: and weights sharded over dp (FSDP)
    recompute: np.ndarray  # index into RECOMPUTE
    sequence_parallel: np.ndarray  # bool: norms and dropout sharded over tp
    schedule: np.ndarray  # index into SCHEDULES
    shard: np.ndarray  # ranks that share one copy of what ZeRO shards; 0: all dp · cp, fewer: hybrid

    def __post_init__(self) -> None:
        columns = [np.atleast_1d(np.asarray(getattr(self, f.name))) for f in fields(self)]
        shape = np.broadcast_shapes(*(column.shape for column in columns))
        for field, column in zip(fields(self), columns, strict=True):
            kind = bool if field.name == "sequence_parallel" else np.int64
            object.__setattr__(self, field.name, np.broadcast_to(column.astype(kind), shape))

    def __len__(self) -> int:
        return len(self.tp)

    @classmethod
    def one(cls, **given: Any) -> Layouts:
        """One or more layouts from named fields; what is not given is 1, or off.

        `recompute` and `schedule` also take their names. Sequence parallelism defaults to on where tp > 1,
        the schedule to `interleaved` where vp > 1 and to `1f1b` elsewhere, ZeRO to stage 1.
        """
        unknown = set(given) - {f.name for f in fields(cls)}
        if unknown:
            raise TypeError(f"no layout field {sorted(unknown)}; fields are {[f.name for f in fields(cls)]}")
        ones = dict.fromkeys(
            ("tp", "pp", "vp", "cp", "ep", "etp", "dp", "micro_batch", "grad_accumulation", "zero"), 1
        )
        values: dict[str, Any] = {**ones, "recompute": NO_RECOMPUTE, "shard": 0, **given}
        values.setdefault("sequence_parallel", np.asarray(values["tp"]) > 1)
        values.setdefault(
            "schedule", np.where(np.asarray(values["vp"]) > 1, INTERLEAVED, ONE_FORWARD_ONE_BACKWARD)
        )
        for name, words in (("recompute", RECOMPUTE), ("schedule", SCHEDULES)):
            if isinstance(values[name], str):
                values[name] = words.index(values[name])
        return cls(**values)

    @property
    def gpus(self) -> Any:
        """Accelerators that the layout takes, (L,)."""
        return self.tp * self.pp * self.cp * self.dp

    @property
    def shards(self) -> Any:
        """Ranks that share one copy of the sharded state of dense weights, (L,)."""
        return np.where(self.shard > 0, self.shard, self.dp * self.cp)

    @property
    def gathers_per_micro_batch(self) -> Any:
        """Where sharded weights and gradients travel in every micro-batch, (L,).

        ZeRO-2 and 3 without a pipeline. Under a pipeline frameworks keep what they gathered until the step
        ends (Llama 3, arXiv:2407.21783, section 3.3.2; torchtitan's default), and the exchange is that of
        ZeRO-1.
        """
        return (self.zero >= 2) & (self.pp == 1)

    @property
    def expert_dp(self) -> Any:
        """Replicas of each expert: tp · cp · dp ÷ (ep · etp), (L,)."""
        return self.tp * self.cp * self.dp // (self.ep * self.etp)

    @property
    def global_batch(self) -> Any:
        """Sequences per step, (L,)."""
        return self.micro_batch * self.grad_accumulation * self.dp

    def take(self, selection: Any) -> Layouts:
        """The layouts that a mask, an index array or a slice selects."""
        return Layouts(**{f.name: np.atleast_1d(getattr(self, f.name)[selection]) for f in fields(self)})

    def to_dict(self, i: int = 0) -> dict[str, Any]:
        """Layout `i` as JSON-ready data, with the names of the contract."""
        row: dict[str, Any] = {f.name: getattr(self, f.name)[i].item() for f in fields(self)}
        row["gpus"] = int(self.gpus[i])
        row["global_batch_sequences"] = int(self.global_batch[i])
        row["recompute"] = RECOMPUTE[row["recompute"]]
        row["schedule"] = SCHEDULES[row["schedule"]]
        return row


def concatenate(parts: list[Layouts]) -> Layouts:
    """All layouts of `parts`, in order."""
    return Layouts(
        **{f.name: np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(Layouts)}
    )


Rule = Callable[[ModelArchitecture, int, int, Layouts], Any]

# Each rule names why a layout is out; a rule is true where the layout breaks it. Megatron-Core's own checks
# are the source of all but the last two, which are the schedules' own preconditions.
RULES: dict[str, Rule] = {
    "attention heads do not divide by tensor parallelism": lambda m, s, b, x: m.heads % x.tp != 0,
    "key/value heads neither divide nor are divided by tensor parallelism": lambda m, s, b, x: (
        (m.kv_heads % x.tp != 0) & (x.tp % m.kv_heads != 0)
    ),
    "feed-forward width does not divide by tensor parallelism": lambda m, s, b, x: m.ffn % x.tp != 0,
    "sequence does not divide into two chunks per context-parallel rank": lambda m, s, b, x: (
        (x.cp > 1) & (s % (2 * x.cp) != 0)
    ),
    "sequence does not divide by tensor parallelism": lambda m, s, b, x: (
        x.sequence_parallel & (s // x.cp % x.tp != 0)
    ),
    "fewer layers than pipeline stages": lambda m, s, b, x: (
        m.layers + m.mtp_modules + 2 * (x.pp > 1) < x.pp * x.vp  # the end chunks may hold no layer
    ),
    "global batch does not divide by data parallelism and micro-batch": lambda m, s, b, x: (
        x.global_batch != b
    ),
    "sharding group does not divide the replicas": lambda m, s, b, x: (x.dp * x.cp) % x.shards != 0,
    "virtual stages without a pipeline": lambda m, s, b, x: (x.vp > 1) & (x.pp < 2),
    "interleaving needs micro-batches in multiples of the pipeline": lambda m, s, b, x: (
        (x.schedule == INTERLEAVED) & (x.vp > 1) & (x.grad_accumulation % x.pp != 0)
    ),
    "experts do not divide by expert parallelism": lambda m, s, b, x: (
        (m.moe.experts if m.moe else 1) % x.ep != 0
    ),
    "expert width does not divide by expert tensor parallelism": lambda m, s, b, x: (
        (m.moe.expert_ffn if m.moe else 1) % x.etp != 0
    ),
    "expert parallelism does not divide a stage's ranks": lambda m, s, b, x: (
        x.tp * x.cp * x.dp % (x.ep * x.etp) != 0
    ),
    "expert tensor parallelism without tensor parallelism": lambda m, s, b, x: x.etp > x.tp,
    "tensor parallelism of experts without sequence parallelism": lambda m, s, b, x: (
        (x.tp > 1) & (x.ep > 1) & ~x.sequence_parallel
    ),
    "zero-bubble needs a pipeline of one chunk per rank": lambda m, s, b, x: (
        (x.schedule == ZERO_BUBBLE) & ((x.pp < 2) | (x.vp > 1))
    ),
    "DualPipe needs an even pipeline and two micro-batches per stage": lambda m, s, b, x: (
        (x.schedule == DUALPIPE) & ((x.pp % 2 != 0) | (x.grad_accumulation < 2 * x.pp) | (x.vp > 1))
    ),
}


def exclusions(
    model: ModelArchitecture, sequence_length: int, global_batch: int, layouts: Layouts
) -> tuple[np.ndarray, dict[str, int]]:
    """Which layouts can run this model at all, and how many are out for which reason.

    `sequence_length` in tokens, `global_batch` in sequences. Returns the mask of valid layouts (L,) and the
    count per broken rule; a layout that breaks several is counted at the first, so that counts add up to
    what is missing.
    """
    valid = np.ones(len(layouts), bool)
    reasons: dict[str, int] = {}
    for reason, breaks in RULES.items():
        broken = valid & np.broadcast_to(breaks(model, sequence_length, global_batch, layouts), valid.shape)
        if broken.any():
            reasons[reason] = int(broken.sum())
            valid = valid & ~broken
    return valid, reasons
