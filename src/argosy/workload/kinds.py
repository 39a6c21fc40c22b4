"""Which layers of a model are alike: a kind per layer, so that a stack of hundreds is a handful of
computations.
"""

from __future__ import annotations

from argosy.spec.model import ModelArchitecture

WINDOWED = "_windowed"


def layer_kind_sequence(model: ModelArchitecture) -> tuple[str, ...]:
    """The kind of every layer of the main stack, in order: `dense` or `moe`, `_windowed` appended where
    attention slides.

    Multi-token-prediction modules are not in it; their kind is `mtp`.
    """
    dense = set(range(model.layers)) if model.moe is None else set(model.moe.dense_layers)
    windowed = set(model.windowed_layers) if model.sliding_window else set()
    return tuple(
        ("dense" if i in dense else "moe") + (WINDOWED if i in windowed else "") for i in range(model.layers)
    )


def layer_kinds(model: ModelArchitecture) -> dict[str, tuple[int, ...]]:
    """Kind of layer → indices of the layers that are of it, in order of first appearance."""
    kinds: dict[str, list[int]] = {}
    for index, kind in enumerate(layer_kind_sequence(model)):
        kinds.setdefault(kind, []).append(index)
    return {kind: tuple(indices) for kind, indices in kinds.items()}


def is_moe(kind: str) -> bool:
    """Whether a layer of this kind routes its feed-forward to experts."""
    return kind.startswith("moe")


def window(model: ModelArchitecture, kind: str) -> int | None:
    """Tokens that a layer of this kind attends to; none: all of them."""
    return model.sliding_window if kind.endswith(WINDOWED) else None
