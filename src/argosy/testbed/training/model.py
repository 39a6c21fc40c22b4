"""The small transformer itself, and the accelerator whose time it takes. torch: only ranks import this.

The accelerator's time is a wait: a block is done when its seconds have passed since the accelerator became free, and what the
processor computes meanwhile is part of them. Gradients, losses and weights are real.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from argosy.testbed.training import data
from argosy.testbed.training.shape import Pace, Shape


class Accelerator:
    """Emulated: `ready` is when it will have done all that it was given (time.monotonic).

    Call `wait_over()` after whatever it idled for (a message, a barrier, a checkpoint), so that its next block begins then.
    `factor`: it takes this many times its pace.
    """

    def __init__(self, pace: Pace, factor: float = 1.0) -> None:
        self.pace, self.factor = pace, factor
        self.ready = time.monotonic()
        self.busy_s = 0.0

    def wait_over(self) -> None:
        """Nothing was left to do until now."""
        self.ready = max(self.ready, time.monotonic())

    def spend(self, seconds: float) -> None:
        """Work of `seconds`, after all that it was given before; returns when it is done."""
        seconds *= self.factor
        self.busy_s += seconds
        self.ready += seconds
        left = self.ready - time.monotonic()
        if left > 0:
            time.sleep(left)


class _Spend(torch.autograd.Function):
    """Lets the accelerator take seconds of a block: these on the way forward, those on the way back."""

    @staticmethod
    def forward(
        ctx: Any, x: torch.Tensor, accelerator: Accelerator, forward_s: float, backward_s: float
    ) -> torch.Tensor:
        ctx.accelerator, ctx.backward_s = accelerator, backward_s
        accelerator.spend(forward_s)
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        ctx.accelerator.spend(ctx.backward_s)
        return gradients[0], None, None, None


class Embedding(nn.Module):
    """Tokens and their places."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.tokens = nn.Embedding(shape.vocab, shape.hidden)
        self.places = nn.Embedding(shape.context, shape.hidden)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.tokens(tokens) + self.places.weight[: tokens.shape[1]]


class Layer(nn.Module):
    """Causal attention and a feed-forward of four times the width, each after a norm and added to its input."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        h = shape.hidden
        self.heads = shape.heads
        self.norm_1, self.norm_2 = nn.LayerNorm(h), nn.LayerNorm(h)
        self.qkv, self.out = nn.Linear(h, 3 * h), nn.Linear(h, h)
        self.up, self.down = nn.Linear(h, 4 * h), nn.Linear(4 * h, h)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        samples, places, h = x.shape
        parts = self.qkv(self.norm_1(x)).view(samples, places, 3, self.heads, h // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(samples, places, h))
        return x + self.down(functional.gelu(self.up(self.norm_2(x))))


class Head(nn.Module):
    """Last norm, and a logit for every token."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(shape.hidden)
        self.logits = nn.Linear(shape.hidden, shape.vocab, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.logits(self.norm(x))


class Transformer(nn.Module):
    """Blocks `first` … `last` − 1 of a shape (all by default): a whole model, or a pipeline stage.

    A block's first weights depend on the shape's seed and its number alone: stages together equal the whole. The first block
    takes tokens (samples, places), others the hidden state (samples, places, hidden).

    The accelerator's seconds of a backward pass come before the processor's arithmetic, so that no gradient is there before
    them; `whole`: behind it, for stages that hand over nothing but a block's last gradient: arithmetic is then part of them.
    """

    def __init__(
        self,
        shape: Shape,
        first: int = 0,
        last: int | None = None,
        accelerator: Accelerator | None = None,
        whole: bool = False,
    ) -> None:
        super().__init__()
        self.shape, self.first, self.whole = shape, first, whole
        self.accelerator = accelerator
        last = shape.blocks if last is None else last
        self.blocks = nn.ModuleList(_block(shape, number) for number in range(first, last))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for number, block in enumerate(self.blocks, self.first):
            if self.accelerator is None or not self.accelerator.pace.forward_s[number]:
                x = block(x)
                continue
            ahead, behind = self.accelerator.pace.forward_s[number], self.accelerator.pace.backward_s[number]
            if self.whole:
                x = _Spend.apply(x, self.accelerator, 0.0, behind)
            x = _Spend.apply(block(x), self.accelerator, ahead, 0.0 if self.whole else behind)
        return x


def _block(shape: Shape, number: int) -> nn.Module:
    """Block `number`, its weights drawn from its own generator (normal, 0.02; biases 0, norms 1)."""
    made = torch.get_rng_state()
    kind = Embedding if number == 0 else Head if number == shape.blocks - 1 else Layer
    block = kind(shape)
    torch.set_rng_state(made)
    draw = torch.Generator().manual_seed(shape.seed * 1_000_003 + number)
    with torch.no_grad():
        for weight in block.parameters():
            if weight.dim() > 1:
                weight.normal_(0.0, 0.02, generator=draw)
        for name, weight in block.named_parameters():
            if name.endswith("bias"):
                weight.zero_()
    return block.to(getattr(torch, shape.dtype))


def tokens_of(numbers: Sequence[int], shape: Shape, seed: int = 0) -> torch.Tensor:
    """Samples by number as int64 (samples, context + 1)."""
    return torch.from_numpy(data.batch(numbers, shape.context, shape.vocab, seed))


def loss_of(logits: torch.Tensor, tokens: torch.Tensor, global_batch: int) -> torch.Tensor:
    """These samples' share of a step's loss: their summed mean cross-entropies over `global_batch`. Shares of all ranks add
    up to the loss, and their gradients to its gradient, however the samples are divided (reduce by SUM, not by AVG).
    """
    places = tokens.shape[1] - 1
    summed = functional.cross_entropy(
        logits.reshape(-1, logits.shape[-1]), tokens[:, 1:].reshape(-1), reduction="sum"
    )
    return summed / (places * global_batch)


def local_loss(model: Transformer, numbers: Sequence[int], global_batch: int, seed: int = 0) -> torch.Tensor:
    """`loss_of` of a whole model on these samples; a scalar to call backward on."""
    tokens = tokens_of(numbers, model.shape, seed)
    return loss_of(model(tokens[:, :-1]), tokens, global_batch)
