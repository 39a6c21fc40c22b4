"""Write docs/serving-accuracy.md from the shipped table and published serving measurements.

python -m argosy.validation.serving_accuracy PATH/published_serving.csv [docs/serving-accuracy.md]
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from argosy.serving.engine import engines_table
from argosy.validation import validate
from argosy.validation.contradictions import CONTRADICTED
from argosy.validation.fit_serving import KEYS, PROMPTS_PER_CLIENT, TTFT_CLIENTS
from argosy.validation.report_tables import HEADER, errors_row, markdown, percent
from argosy.validation.serving_contradictions import MIXED
from argosy.validation.serving_groups import HELD_OUT_ACCELERATORS, HELD_OUT_MODELS, HELD_OUT_SOURCE
from argosy.validation.serving_rows import of_metric
from argosy.validation.summary import statistics

TARGET = Path(__file__).parents[3] / "docs" / "serving-accuracy.md"
NAMES = {
    "tpot_ms": "time per output token",
    "output_tok_s_per_gpu": "offline throughput per accelerator",
    "ttft_ms": f"time to first token, at most {TTFT_CLIENTS} clients",
}
BARS = {"tpot_ms": 0.12, "output_tok_s_per_gpu": 0.15, "ttft_ms": 0.30}
# What is known of the worst groups, by words of their names.
REASONS = (
    (("GLM-5",), "sparse attention is modelled (indexer, top-k); its kernels were measured nowhere here"),
    (("Qwen3-32B", "GB200"), "the rows contradict one another: less time with more clients"),
    (
        ("GPT-OSS", "H200"),
        "MXFP4 experts at large batches on Hopper, whose kernels were measured nowhere here",
    ),
    (
        ("Qwen3-30B", "GB200"),
        "some of its rows are far below the same test on B200, which is no faster (contradicted)",
    ),
    (
        ("Llama 4 Scout", "GB200"),
        "one of its rows is far below the same test on B200, which is no faster (contradicted)",
    ),
)
MISS = 0.25  # a group whose mean error is beyond this is listed as a miss

INTRO = """# How accurate the serving model is

Written by `python -m argosy.validation.serving_accuracy PATH/published_serving.csv`; the numbers of engines by
`python -m argosy.validation.fit_serving PATH/published_serving.csv`. Row by row: `argosy validate PATH/published_serving.csv`.

The step-time provider is a roofline with kernel curves and collectives of the training model; what engines add was fitted
to the rows below, with whole groups set aside before any error was looked at. Errors are predicted over measured, less one.
Steady state in closed form (`serving.steady`); the event simulation of one replica agrees with it in the test suite.
"""


def scored(answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows that were predicted and are not flagged."""
    return [row for row in answers if row["status"] == "ok" and not row["flag"]]


def headline(rows: list[dict[str, Any]]) -> list[str]:
    """Every metric against its bar, fitted and set aside apart."""
    lines: list[tuple[str, ...]] = []
    for key, name in NAMES.items():
        of_key = [of_metric(row, key) for row in rows if key in row["errors"]]
        if key == "ttft_ms":
            of_key = [row for row in of_key if row["ttft_in_scope"]]
        for label, wanted in (("fitted", False), ("set aside", True)):
            found = statistics([row for row in of_key if row["set_aside"] is wanted])
            if found["n"]:
                met = "met" if found["mape"] <= BARS[key] else "missed"
                bar = f"{percent(BARS[key])} ({met})" if wanted else ""
                cells = errors_row(f"{name}, {label}", found)
                lines.append((*cells, bar))
                ours = [row for row in of_key if row["set_aside"] is wanted]
                for what, mark in (("rows", "contradicted"), ("series", "in_mixed_series")):
                    kept = [row for row in ours if not row[mark]]
                    if len(kept) < len(ours):
                        words = f"{name}, {label}, without contradicted {what}"
                        lines.append((*errors_row(words, statistics(kept)), ""))
    return [
        "## Against the bars",
        "",
        *markdown((*HEADER, "bar on rows set aside, %"), lines),
        f"*Contradicted row*: it takes more than {CONTRADICTED:g} times as long per token as another of the same settings and as",
        f"many or more clients. *Contradicted series*: equal settings, any lengths, with {percent(MIXED)} % and more of its",
        "rows contradicted. Of offline maxima: the same edition's same test on an accelerator with no higher rate and no more",
        f"memory made {CONTRADICTED:g} times the throughput. All are told from measured columns and nameplates, not from",
        "predictions, and the rows are in all other lines.",
        "",
    ]


def left_out_section() -> list[str]:
    """What the fit says of models that it has not seen."""
    lines = []
    for key in KEYS:
        for name, found in engines_table()["errors"][key].items():
            if found["n"]:
                lines.append(
                    (
                        NAMES[key],
                        name.replace("_", " "),
                        found["n"],
                        percent(found["mape"]),
                        percent(found["bias"], True),
                        percent(found["p90_abs"]),
                    )
                )
    return [
        "## The fit's own account",
        "",
        "Rows that repeat another count once here; errors of times (for throughput of its inverse). *Left one model out*:",
        "every model of the fitted rows predicted by numbers fitted without it.",
        "",
        *markdown(("", "rows", "n", "MAPE %", "bias %", "90th percentile %"), lines),
        "Set aside, never seen by the fit: the accelerators "
        + ", ".join(HELD_OUT_ACCELERATORS)
        + "; the models "
        + ", ".join(HELD_OUT_MODELS)
        + f"; the edition {HELD_OUT_SOURCE} of TensorRT-LLM's performance overview.",
        "What the model is made of was chosen by the errors of fitted rows. The errors of rows set aside were seen five times in",
        "sum and twice by group while it was made, so that they are not blind in that sense: that a narrow product is never",
        "slower than BF16 was added after Qwen3-235B on H200 showed curves beyond their range, the grades were bound to models",
        "and contradicted rows marked after such looks. A second round knew these errors by group (the page before it) and",
        "added, each from a source or from fitted rows: sparse attention's indexer (papers and config.json); the reduction that",
        "norms over all heads need (vLLM); the host's work beside the device's (TensorRT-LLM, SGLang: documented defaults);",
        "NVIDIA's per-tensor FP8 checkpoints in its own overview (named there); rates of grouped products before Blackwell",
        "(measured kernels); the cache's format (fitted rows, below). Its rows set aside were scored once, at its end.",
        "A third round, which knew that page too, looked at errors of fitted rows alone while it chose: offline maxima as runs",
        "of a known number of requests, with attention replicated in mixtures (the source's own words); popular experts as a",
        "power law; exchanges of all tokens with all ranks of a host, caches kept whole under windows (engines' defaults); the",
        "host's work on sequences after the device's; keys and values read at a rate of their own before Blackwell. It scored",
        "the rows set aside twice: in its final form (time per token 11.4 %, offline throughput 17.3 %, first token 21.9 %), and",
        "in one that also slowed NVFP4's experts like dense products and gave runs 95 % of the memory. That one told fitted",
        "offline maxima better (8.6 %), but models left out worse (time per token 12.8 %, first token 48 %), which decided",
        "against it; so it did rows set aside (14.4 % by the fit's account).",
        "A fourth round, the third look by rounds that knew errors by group, began from two of them: its subjects were the",
        "busiest expert rank and MXFP4 on Hopper, whose misses set aside were on this page. It chose by fitted rows and models",
        "left out alone: rows of the busiest rank by drawn routing (they were a fifth too few on eight ranks; models left out:",
        "time per token 12.0 to 11.6 %, throughput 13.2 to 12.7 %); a rate of its own where MXFP4 experts are widened to BF16",
        "(to 11.0 and 11.8 %). One rate for widening INT4 and MXFP4 alike it gave up: time per token of fitted INT4 rows",
        "went from 7.1 to 10.7 %. Rows set aside were scored once, in this form. What format the cache had in the offline",
        "rows neither they nor their source's column say: it stays as assumed below.",
        "No number was fitted to a row set aside, but for the spread of grades.",
        "",
    ]


def parameters_section() -> list[str]:
    """The fitted numbers."""
    rows = [
        (
            path,
            entry["meaning"],
            f"{entry['start']:.3g}",
            f"{entry['value']:.3g}",
            f"{entry['low']:.3g} to {entry['high']:.3g}",
        )
        for path, entry in engines_table()["parameters"].items()
    ]
    residuals = [
        (grade, *(percent(values[kind]) for kind in ("decode", "throughput", "first_token")))
        for grade, values in engines_table()["residuals"].items()
    ]
    return [
        f"## The {len(rows)} numbers of engines",
        "",
        "None belongs to a row, a model or a source; `any` holds for all engines. Start: the prior's centre.",
        "",
        *markdown(("number", "meaning", "start", "fitted", "90 %"), rows),
        "vLLM's `launch_s` is told badly: 10 or 40 µs, with other numbers moved within their ranges, fit alike; SGLang's stays",
        "at its start, since no fitted row of it is bound by launches. `older_kv_efficiency` runs into its limit: one dense",
        "model on H100 decides it, and it may stand for something else that Hopper does faster. `older_widening_efficiency`",
        "rests on one model too (GPT-OSS on H100); `routing_skew`, far from its start, has few rows on expert ranks to tell it.",
        "",
        "Standard deviation of ln(measured ÷ predicted) by grade, %, from which the 90 % intervals follow. `measured-like`:",
        "of the fitted rows; `interpolated`: the larger of the models left out and the rows set aside, whose intervals",
        "therefore cover nine of ten by construction; `extrapolated`: half as much again, an assumption.",
        "",
        *markdown(("grade", "iterations", "offline throughput", "first token"), residuals),
    ]


def reason(group: str) -> str:
    """What is known of a group's error."""
    return next((why for words, why in REASONS if all(word in group for word in words)), "not explained")


def groups_section(rows: list[dict[str, Any]]) -> list[str]:
    """Errors by model, accelerator, engine and precision; misses first in a list of their own."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        if row["metric"]:
            kind = "offline" if row["metric"] == "output_tok_s_per_gpu" else "closed loop"
            aside = "set aside" if row["set_aside"] else "fitted"
            groups[
                row["model"], row["accelerator"], row["framework"], row["precision"].lower(), kind, aside
            ].append(row)
    found = {group: statistics(members) for group, members in groups.items()}
    lines = [(", ".join(group), *errors_row("", each)[1:]) for group, each in sorted(found.items())]
    misses = [
        (
            ", ".join(group),
            each["n"],
            percent(each["mape"]),
            percent(each["bias"], True),
            reason(", ".join(group)),
        )
        for group, each in sorted(found.items(), key=lambda item: -item[1]["mape"])
        if each["mape"] > MISS
    ]
    return [
        "## Misses",
        "",
        f"Groups with a mean error beyond {percent(MISS)} %:",
        "",
        *markdown(("group", "rows", "MAPE %", "bias %", "what is known"), misses),
        "## By group",
        "",
        *markdown(HEADER, lines),
    ]


def left_section(answers: list[dict[str, Any]]) -> list[str]:
    """What was skipped or flagged, and why."""
    skipped = Counter(row["reason"] for row in answers if row["status"] in ("skipped", "oom"))
    flagged = Counter(row["flag"] for row in answers if row.get("flag"))
    remarks = Counter(remark for row in answers if row["status"] == "ok" for remark in row["remarks"])
    return [
        "## Rows left out",
        "",
        *markdown(("rows", "skipped because"), ((n, why) for why, n in skipped.most_common())),
        *markdown(
            ("rows", "flagged: predicted, scored apart"), ((n, why) for why, n in flagged.most_common())
        ),
        "## What was assumed",
        "",
        f"- The benchmark's clients send {PROMPTS_PER_CLIENT} requests each and all begin at once (the burst is in the mean"
        " time to first token).",
        "- The KV cache is FP8 where NVIDIA's checkpoints (NVFP4, per-tensor FP8) say so and, whatever the checkpoint, on"
        " Blackwell (there every fitted group of closed-loop rows is told better so); else BF16, the engines' default:"
        " block-scaled FP8 and MXFP4 on Hopper. Llama 4 in FP8 has BF16 (fitted rows of both models on H100: errors of 63"
        " and 45 % become 13 %, all lengths). Prompts find nothing in a prefix cache.",
        "- Offline maxima are runs of as many requests as TensorRT-LLM's performance overview says for their lengths, all queued"
        " at once: waves, the last with who is left (`serving.steady.finite_run`). Mixtures on several accelerators replicate"
        " attention and spread experts, whatever the table's heading (its `enable_attention_dp`). trtllm-bench's own limits: at"
        " most 4,096 sequences and batch · (1 + ISL/OSL) tokens per iteration of an attention replica.",
        "- Engines have their documented defaults (`serving.engine.SETTINGS`), no speculative decoding.",
        "- Ten rows without a layout name one in their id (`_tp2_epnone`), which leaves the number of clients open. The seven on"
        " H100 took half the time per token that the column's clients need on so few accelerators: all stay left out.",
        "",
        *markdown(("rows", "remark"), ((n, what) for what, n in remarks.most_common())),
    ]


def document(path: Path) -> str:
    """The whole page."""
    answers = validate(path)["rows"]
    rows = scored(answers)
    counts = Counter(row["status"] for row in answers)
    lines = [
        INTRO,
        f"{len(answers)} rows: "
        + ", ".join(f"{n} {status}" for status, n in counts.items())
        + f"; {len(rows)} scored.",
        "",
        *headline(rows),
        *left_out_section(),
        *groups_section(rows),
        *parameters_section(),
        *left_section(answers),
    ]
    return "\n".join(lines).rstrip() + "\n"


def main(arguments: list[str] | None = None) -> None:
    """Command line: write the page."""
    given = sys.argv[1:] if arguments is None else arguments
    if not given:
        sys.exit(__doc__)
    target = Path(given[1]) if len(given) > 1 else TARGET
    target.write_text(document(Path(given[0])), encoding="utf-8")
    print(f"wrote {target}")


if __name__ == "__main__":
    main()
