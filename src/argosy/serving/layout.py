"""How one replica of a model is spread over accelerators."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ReplicaLayout:
    """Parallel degrees of one replica: `gpus` = tp · pp · dp accelerators.

    `tp`: tensor parallelism of attention (and of dense feed-forwards); `pp`: pipeline stages; `dp`: attention
    replicas that share the experts (DP-attention; 1 for dense models); `ep`: ranks over which whole experts are
    spread, the rest of tp · dp cutting each expert. ValueError where a degree is below 1 or `ep` does not divide
    tp · dp.
    """

    tp: int = 1
    pp: int = 1
    dp: int = 1
    ep: int = 1

    def __post_init__(self) -> None:
        for name in ("tp", "pp", "dp", "ep"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; write 1 or more")
        if self.tp * self.dp % self.ep:
            raise ValueError(
                f"ep {self.ep} does not divide tp · dp = {self.tp * self.dp}; write a divisor of it"
            )

    @property
    def gpus(self) -> int:
        """Accelerators of one replica."""
        return self.tp * self.pp * self.dp

    @property
    def moe_tp(self) -> int:
        """Ranks that cut one expert between them."""
        return self.tp * self.dp // self.ep

    def __str__(self) -> str:
        names = [f"{name}{getattr(self, name)}" for name in ("tp", "pp", "dp", "ep")]
        kept = [
            name
            for name, given in zip(names, ("tp", "pp", "dp", "ep"), strict=True)
            if getattr(self, given) > 1
        ]
        return " ".join(kept or ["tp1"])
