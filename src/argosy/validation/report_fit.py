"""What was fitted to steps, and what the fit is worth on rows that it did not see: a section of the report."""

from __future__ import annotations

from typing import Any

from argosy.training import Stack
from argosy.training.kernels.fitted import steps_table
from argosy.training.step import SOFTMAX_HOST
from argosy.validation.eras import OMNI_PATH_DELIVERED, UNFORCED_IMBALANCE
from argosy.validation.report_tables import markdown, percent
from argosy.validation.step_parameters import FITTED_CONTAINERS, MIXTURES


def by_hand() -> list[tuple[str, str, str]]:
    """Numbers that measured steps gave outside of the fit: name, value, what they were read from."""
    stack = Stack.preset("generic")
    growth = "growth of 42 series of published steps with the number of accelerators"
    return [
        (
            "`SOFTMAX_HOST`: host time of a layer whose softmax is PyTorch's over one whose is fused",
            f"{SOFTMAX_HOST:g}",
            "vTrain's single-node rows bound by the host: 5.0 against 3.6 ms per layer",
        ),
        (
            "`stack.jitter`: coefficient of variation of compute between accelerators",
            f"{stack.jitter:g}",
            growth,
        ),
        ("`stack.hiccup_s`: mean length of a node's delays, s", f"{stack.hiccup_s:g}", growth),
        ("`stack.hiccup_rate`: delays of a node per s", f"{stack.hiccup_rate:g}", growth),
        (
            "load of the busiest rank of experts over the mean where routing is not forced to balance",
            f"{UNFORCED_IMBALANCE:g}",
            "two pairs of Megatron-MoE-ModelZoo rows that differ in nothing else; both give it",
        ),
        (
            "share that BLOOM's Omni-Path delivers to collectives",
            f"{OMNI_PATH_DELIVERED:g}",
            "the closed form that preceded the model: about 10 of 50 GB/s per node",
        ),
    ]


def parameters_section() -> list[str]:
    """Every fitted number of the step model, and what the fit is worth on rows that it did not see."""
    table = steps_table()
    return [*_numbers(table), *_unseen(table)]


def _numbers(table: dict[str, Any]) -> list[str]:
    """Every number with its meaning, prior, fitted value and left-out range; those read by hand apart."""
    parameters = [
        (
            f"`{p['name']}`",
            p["meaning"],
            f"{p['prior']:.4g} ± {p['prior_width']:.2g}",
            f"{p['value']:.4g} ± {p['standard_error']:.2g}",
            "" if p["left_out_low"] is None else f"{p['left_out_low']:.4g} – {p['left_out_high']:.4g}",
        )
        for p in table["parameters"]
    ]
    return [
        f"## The {len(parameters)} numbers fitted to steps",
        "",
        "Each has a meaning, a prior (published or assumed) and belongs to an accelerator "
        "generation or a framework era; none",
        "belongs to a source or a row. Sources count by the root of their rows. `python -m "
        "argosy.validation.fit_steps`",
        f"regenerates them. The last column is the range over the fits that leave one source out (the last {len(MIXTURES)}: one "
        "model).",
        "",
        *markdown(("number", "meaning", "prior", "fitted", "left out"), parameters),
        "### Numbers read from steps by hand",
        "",
        "They are not in the fit and have no left-out range; rows that they were read from are among the rows scored.",
        "",
        *markdown(("number", "value", "read from"), by_hand()),
    ]


def _unseen(table: dict[str, Any]) -> list[str]:
    """Errors on rows set aside, and with one source or one model left out."""
    groups = []
    for name, kinds in table["errors"].items():
        for kind, found in kinds.items():
            if found:
                groups.append(
                    (
                        name,
                        kind.replace("_", " "),
                        found["n"],
                        percent(found["mape"]),
                        percent(found["bias"], True),
                        percent(found["p90_abs"]),
                    )
                )
    left_out, left_model = (
        [
            (name, f["n"], percent(f["mape"]), percent(f["bias"], True), percent(f["p90_abs"]))
            for name, f in table[key].items()
        ]
        for key in ("left_one_source_out", "left_one_model_out")
    )
    return [
        "### Rows that the fit did not see",
        "",
        "The fit never sees the set-aside rows; the people who built the model did see their errors while they chose its",
        "structure (which effects are in it, the priors, how a row's words are read), so that they are not blind in that sense.",
        "For mixtures that holds most: where the era of June 2026 begins, what it fuses, and where CUDA graphs capture no",
        "layers, were read from public recipe files; what the biases and rotary positions of gpt-oss cost was counted from the",
        "framework's code; that its attention masks a window instead of skipping it was supposed from the errors. Forms that",
        "were tried last and kept: attention at a clock of its own, a power law of boards, unfused products at their roofline,",
        "dropout and layer norms of 2021 as their kernels move bytes, a training library's attention on Hopper, conversions",
        "along two directions, asynchronous tensor parallelism as a switch, H100 mixtures without CUDA graphs. Dropped: unfused",
        "scores in gpt-oss, a peak between two data sheets for torchtitan's boards, clocks of their own for B200 and GB300.",
        "",
        "*Fitted*: vTrain's single-node table, llm-foundry, dgxc-benchmarking, SimuMax; in the second stage (mixtures, and",
        f"Megatron-Bridge on Blackwell) also ModelZoo and the containers {', '.join(FITTED_CONTAINERS)} of Megatron-Bridge.",
        "*Aside*: what the fit never sees: vTrain's multi-node table, BLOOM, Korthikanti, SC21, Megatron's README,",
        "torchtitan, all of Megatron-Bridge in the first stage and its other containers in the second. Containers repeat",
        "one another's recipes, so that the second stage also leaves out one model at a time. *Left one source (or model)",
        "out*: predicted by numbers fitted to all others.",
        "",
        *markdown(("group", "rows are", "rows", "MAPE %", "bias %", "90th percentile %"), groups),
        "Left one source out, dense rows:",
        "",
        *markdown(("source", "rows", "MAPE %", "bias %", "90th percentile %"), left_out),
        "A source whose era no other source shares (vTrain's small models bound by their host, "
        "llm-foundry's Triton kernel,",
        "SimuMax's B200) is then predicted from the priors alone: that is what a stack without "
        "measurements is worth.",
        "",
        "Left one model out, second stage (fitted containers and others together):",
        "",
        *markdown(("model", "rows", "MAPE %", "bias %", "90th percentile %"), left_model),
    ]
