"""What each of several changes gains, one on top of the other at one fixed layout: a ledger diff per change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from argosy import __version__, training
from argosy.facts import FactError
from argosy.ledger import Ledger, diff
from argosy.planning.account import step_ledger
from argosy.planning.context import context
from argosy.planning.job import laid_out, machine, training_job
from argosy.spec import Scenario
from argosy.training import Job, Layouts, Stack, Steps
from argosy.training.kernels import ATTENTION_KERNELS
from argosy.training.layout import exclusions

SCHEMA = "argosy.ablation/1"
MILLION = 1e6
_ROUNDING = 1e-9  # of the whole ledger: below it, a difference is one of floating point
OVERLAPS = ("tp", "pp", "dp", "ep", "cp")
USUAL = (
    "parallel-block",
    "sliding-window:1024",
    "tp-overlap",
    "pp-overlap",
    "dp-overlap",
    "operators",
    "batch:3",
)


@dataclass(frozen=True)
class Setup:
    """What a change may touch: the job (model, batch, overlap), the stack, the layout (an array of one)."""

    job: Job
    stack: Stack
    layout: Layouts


Change = Callable[[Setup], Setup]


def change(text: str) -> Change:
    """The change that a word names.

    `parallel-block`: attention and feed-forward read one norm; `sliding-window:W`: every layer attends to W
    tokens; `tp-overlap` (pp, dp, ep, cp): that communication hides behind compute; `operators[:KERNEL]`: another
    attention kernel (default: flash2) and fused element-wise operations; `batch:N`: N times the batch, by
    more micro-batches. FactError for any other word.
    """
    word, _, number = text.partition(":")
    if word == "parallel-block":
        return lambda setup: _model(setup, parallel_block=True, norms_per_layer=1)
    if word == "sliding-window":
        window = _whole(text, number)
        return lambda setup: _model(
            setup, sliding_window=window, windowed_layers=tuple(range(setup.job.model.layers))
        )
    if word.endswith("-overlap") and word.removesuffix("-overlap") in OVERLAPS:
        name = word.removesuffix("-overlap")
        return lambda setup: replace(
            setup, job=replace(setup.job, overlap=replace(setup.job.overlap, **{name: True}))
        )
    if word == "operators":
        kernel = number or "flash2"
        if kernel not in ATTENTION_KERNELS:
            raise FactError(f"no attention kernel {kernel!r}; write one of {', '.join(ATTENTION_KERNELS)}")
        return lambda setup: replace(setup, stack=replace(setup.stack, attention=kernel, fused=True))
    if word == "batch":
        times = _whole(text, number)
        return lambda setup: replace(
            setup,
            job=replace(setup.job, global_batch_sequences=times * setup.job.global_batch_sequences),
            layout=replace(setup.layout, grad_accumulation=times * setup.layout.grad_accumulation),
        )
    raise FactError(
        f"no change {text!r}; write parallel-block, sliding-window:1024, tp-overlap (pp, dp, ep, cp), "
        "operators:flash2 or batch:3"
    )


def _model(setup: Setup, **fields: Any) -> Setup:
    return replace(setup, job=replace(setup.job, model=setup.job.model.model_copy(update=fields)))


def _whole(text: str, number: str) -> int:
    if not number.isdecimal() or int(number) < 1:
        raise FactError(f"{text!r} needs a whole number, such as {text.partition(':')[0]}:3")
    return int(number)


def ablation(
    scenario: Scenario, changes: Sequence[str] = USUAL, job: str | None = None, attention: str | None = None
) -> dict[str, Any]:
    """The JSON of `argosy ablation`: each change on top of those before it, the layout of the start kept.

    The start is the scenario with all overlap off; `attention` names its kernel (default: the stack's).
    Gains are ratios of tokens per second; ledgers are GPU-seconds per million tokens, so that batches of
    different size compare, and `diff` holds what changed, line by line. FactError for unknown words.
    """
    setting = context(scenario)
    given = training_job(scenario, job)
    if attention is not None and attention not in ATTENTION_KERNELS:
        raise FactError(f"no attention kernel {attention!r}; write one of {', '.join(ATTENTION_KERNELS)}")
    steps = [(text, change(text)) for text in changes]
    exposed = given.model_copy(update={"overlap": type(given.overlap)(**dict.fromkeys(OVERLAPS, False))})
    planned = laid_out(setting, exposed)
    on, main = machine(setting, planned.stack), planned.main
    stack = replace(on.stack, attention=attention) if attention else on.stack
    setup = Setup(main.job, stack, main.layouts)

    def run(setup: Setup) -> Steps:
        model, batch = setup.job.model, setup.job.global_batch_sequences
        _, broken = exclusions(model, setup.job.sequence_length, batch, setup.layout)
        if broken:
            raise FactError(f"the layout of the start cannot run this change: {next(iter(broken))}")
        return training.evaluate(setup.job, on.device, on.network, setup.stack, setup.layout)

    before = run(setup)
    start, tree = before, per_million_tokens(before)
    rows = [_row("start", before, before, before, tree, tree)]
    for text, apply in steps:
        setup = apply(setup)
        after = run(setup)
        now = per_million_tokens(after)
        rows.append(_row(text, start, before, after, tree, now))
        before, tree = after, now
    return {
        "schema": SCHEMA,
        "version": __version__,
        "facts_date": setting.catalog.facts_date,
        "scenario": {"name": scenario.name, "hash": scenario.hash},
        "job": given.name,
        "stage": main.label,
        "stack": planned.stack,
        "attention": stack.attention,
        "layout": main.layouts.to_dict(0),
        "changes": rows,
    }


def per_million_tokens(steps: Steps) -> Ledger:
    """The ledger of one step, in GPU-seconds per million tokens; `steps` holds one layout."""
    gpus = int(steps.layouts.gpus[0])
    tokens = float(steps.tokens_per_s[0]) * float(steps.step_s[0])

    def amounts(values: dict[str, Any]) -> dict[str, float]:
        return {name: float(value[0]) * gpus for name, value in values.items()}

    tree = step_ledger(amounts(steps.compute_parts), amounts(steps.breakdown))
    return tree.scaled(MILLION / tokens, "gpu_s per million tokens")


def _row(text: str, start: Steps, before: Steps, after: Steps, old: Ledger, new: Ledger) -> dict[str, Any]:
    rates = [float(each.tokens_per_s[0]) for each in (start, before, after)]
    return {
        "change": text,
        "step_time_s": float(after.step_s[0]),
        "tokens_per_s": rates[2],
        "gain": rates[2] / rates[1],
        "gain_from_start": rates[2] / rates[0],
        "ledger": new.to_dict(),
        "diff": [
            {"path": line.path, "a": line.a, "b": line.b, "delta": line.delta}
            for line in diff(old, new)
            if abs(line.delta) > _ROUNDING * new.amount
        ],
    }
