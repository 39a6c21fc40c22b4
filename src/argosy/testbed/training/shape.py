"""The size of the testbed's transformer and the time its emulated accelerator takes; no torch, so predictions read it too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

FLOAT_BYTES = {"float32": 4, "float64": 8}


@dataclass(frozen=True)
class Shape:
    """A decoder-only transformer: `layers` of width `hidden`, `heads` of attention, `vocab` tokens, `context` of them per
    sample; `dtype` of weights and gradients; `seed` of the first weights.

    Blocks are numbered 0 (embeddings), 1 … layers, layers + 1 (last norm and head, not tied).
    """

    layers: int = 8
    hidden: int = 128
    heads: int = 4
    vocab: int = 64
    context: int = 16
    dtype: str = "float32"
    seed: int = 1

    @property
    def blocks(self) -> int:
        """Embeddings, layers and head."""
        return self.layers + 2

    def parameters(self, block: int) -> int:
        """Weights of a block: 12 h² + 13 h of a layer (biases and two norms in it), tokens and places of the embeddings,
        the last norm and the head.
        """
        h = self.hidden
        if block == 0:
            return (self.vocab + self.context) * h
        if block == self.blocks - 1:
            return 2 * h + self.vocab * h
        return 12 * h * h + 13 * h

    def gradient_bytes(self, block: int) -> int:
        """Bytes of a block's gradients, which are those of its weights."""
        return self.parameters(block) * FLOAT_BYTES[self.dtype]

    @property
    def activation_bytes(self) -> int:
        """Bytes of one sample's hidden state, as a pipeline sends it."""
        return self.context * self.hidden * FLOAT_BYTES[self.dtype]

    def to_dict(self) -> dict[str, Any]:
        """As JSON; `Shape(**value)` reads it."""
        return asdict(self)


@dataclass(frozen=True)
class Pace:
    """Seconds that the emulated accelerator spends on each block, (blocks,), forward and backward, whatever the batch."""

    forward_s: tuple[float, ...]
    backward_s: tuple[float, ...]

    @classmethod
    def even(cls, shape: Shape, forward_s: float, backward: float = 2.0) -> Pace:
        """`forward_s` on every layer, `backward` times as much back (2: gradients of inputs and of weights), nothing on
        embeddings and head.
        """
        layers = (0.0, *[forward_s] * shape.layers, 0.0)
        return cls(layers, tuple(backward * seconds for seconds in layers))

    def times(self, factor: float | Sequence[float]) -> Pace:
        """The same, slower by one factor, or by one per block."""
        factors = [factor] * len(self.forward_s) if isinstance(factor, float | int) else list(factor)
        forward = tuple(seconds * f for seconds, f in zip(self.forward_s, factors, strict=True))
        backward = tuple(seconds * f for seconds, f in zip(self.backward_s, factors, strict=True))
        return Pace(forward, backward)

    @property
    def step_s(self) -> float:
        """One forward and one backward of all blocks."""
        return sum(self.forward_s) + sum(self.backward_s)

    def to_dict(self) -> dict[str, Any]:
        """As JSON; `Pace.of` reads it."""
        return asdict(self)

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Pace:
        """From `to_dict`."""
        return cls(tuple(value["forward_s"]), tuple(value["backward_s"]))
