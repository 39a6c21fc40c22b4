"""Training jobs: model, stages, precision, layout, overlap, search."""

from __future__ import annotations

from math import log2
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, WithJsonSchema, field_validator, model_validator

from argosy import units
from argosy.spec.model import ModelArchitecture
from argosy.spec.quantity import (
    ByName,
    Fraction,
    OneOrMany,
    Scalar,
    Section,
    Shorthand,
    Unit,
    Word,
    from_file,
    required,
    setting,
)

Schedule = Literal["1f1b", "interleaved", "gpipe", "zero-bubble", "dualpipe"]
Format = Literal["fp32", "tf32", "bf16", "fp16", "fp8", "fp4"]
MEGATRON = "Megatron-LM's mixed precision (arXiv:1710.03740; NVIDIA/Megatron-LM, core/optimizer)"

Tokens = Annotated[float, Field(gt=0, le=1e18), Unit("token", "15.2e12", bare=True)]
# A batch "of 16M tokens" is 2^24: the rounded name is within 5 % of the power of two that it means.
_POWER_OF_TWO_WITHIN = 0.05
_BATCH_EXAMPLE = "write for example 16 Mtok or 2048 sequences"


class Precision(Section):
    """Numeric formats of a training job."""

    compute: Format = setting(
        "bf16",
        "format of the matrix products",
        "the common practice since 2021 (e.g. Llama 3, arXiv:2407.21783)",
    )
    parameters: Literal["fp32", "bf16", "fp16", "fp8"] = setting(
        "bf16", "format of the weights that compute reads", MEGATRON
    )
    gradients: Literal["fp32", "bf16"] = setting(
        "fp32", "format in which gradients are accumulated and reduced", MEGATRON
    )
    master: Literal["fp32", "none"] = setting("fp32", "master copy of the weights in the optimizer", MEGATRON)
    optimizer: Literal["fp32", "bf16", "int8", "fp8"] = setting(
        "fp32", "format of the two Adam moments", MEGATRON
    )


class Layout(Section):
    """A parallel layout. A field left out (or `auto`) is chosen by the search; gpus = tp · pp · cp · dp."""

    tp: Annotated[int | None, Word("auto")] = setting(None, "tensor-parallel ranks", "searched", gt=0)
    pp: Annotated[int | None, Word("auto")] = setting(None, "pipeline stages", "searched", gt=0)
    vp: Annotated[int | None, Word("auto")] = setting(
        None, "virtual stages per pipeline rank", "searched", gt=0
    )
    cp: Annotated[int | None, Word("auto")] = setting(None, "context-parallel ranks", "searched", gt=0)
    ep: Annotated[int | None, Word("auto")] = setting(None, "expert-parallel ranks", "searched", gt=0)
    etp: Annotated[int | None, Word("auto")] = setting(
        None, "tensor-parallel ranks inside an expert", "searched", gt=0
    )
    dp: Annotated[int | None, Word("auto")] = setting(
        None, "data-parallel replicas", "count ÷ (tp · pp · cp)", gt=0
    )
    micro_batch: Annotated[int | None, Word("auto")] = setting(
        None, "sequences per micro-batch", "searched", gt=0
    )
    zero: Annotated[Literal[0, 1, 2, 3] | None, Word("auto")] = setting(
        None, "0 replicated, 1 optimizer sharded over dp, 2 and gradients, 3 and weights (FSDP)", "searched"
    )
    recompute: Annotated[Literal["none", "selective", "full"] | None, Word("auto")] = setting(
        None, "activations computed again in the backward pass", "searched: the least that fits memory"
    )
    sequence_parallel: Annotated[bool | None, Word("auto")] = setting(
        None, "norms and dropout sharded over tp", "on where tp > 1 (arXiv:2205.05198)"
    )
    schedule: Annotated[Schedule | None, Word("auto")] = setting(
        None, "pipeline schedule", "searched: 1f1b, interleaved where vp > 1"
    )

    @property
    def given(self) -> dict[str, Any]:
        """The fields that are fixed, by name."""
        return {name: value for name, value in self if value is not None}

    @property
    def is_auto(self) -> bool:
        """True where the search chooses everything."""
        return not self.given


_AUTO = Shorthand(lambda given: {} if given == "auto" else given, {"const": "auto"})


class Overlap(Section):
    """Which communication the job hides behind compute; how much of it then hides is the stack's property."""

    tp: bool = setting(True, "tensor-parallel collectives", "assumption: switched on")
    dp: bool = setting(True, "gradient and parameter exchange", "assumption: switched on")
    pp: bool = setting(True, "pipeline sends", "assumption: switched on")
    ep: bool = setting(True, "expert all-to-all", "assumption: switched on")
    cp: bool = setting(True, "context-parallel exchange", "assumption: switched on")


class Offload(Section):
    """What the host's memory holds instead of the accelerator's."""

    optimizer: Fraction = setting(
        0.0, "share of the optimizer's state, which the host then updates", "nothing offloaded"
    )
    activations: Fraction = setting(
        0.0, "share of the activations kept for the backward pass", "nothing offloaded"
    )


class Search(Section):
    """What the layout search looks for and how far."""

    objective: Literal["time", "cost", "energy"] = setting(
        "time", "what the best layout has least of", "the usual question"
    )
    micro_batch_max: int = setting(8, "largest micro-batch tried, in sequences", "assumption", gt=0)
    memory_margin: float = setting(
        0.0,
        "share of the memory that must stay free (0–1)",
        "assumption: the memory model's own overhead",
        ge=0,
        lt=1,
    )


_LARGEST_BATCH = 100_000_000  # sequences; a thousand times the largest batch that anybody trained with


def batch_in_sequences(given: str, sequence_length: int) -> int:
    """Sequences per step from `15360 sequences` or `16 Mtok`; raises ValueError with what to write instead.

    A batch in tokens is a rounded name for a whole number of sequences: the nearest power of two within 5 %,
    otherwise the nearest multiple of the largest power of two not above an eighth of it.
    """
    number, _, word = given.partition(" ")
    if word.strip() in ("sequences", "sequence", "seq"):
        try:
            amount = float(number)
        except ValueError:
            amount = 0.0
        if amount < 1 or amount != int(min(amount, _LARGEST_BATCH + 1.0)):
            raise ValueError(
                f"{given!r} is not a whole number of sequences from 1 to {_LARGEST_BATCH:,}; {_BATCH_EXAMPLE}"
            )
        return int(amount)
    exact = units.parse(given, "token") / sequence_length
    if exact < 1:
        raise ValueError(f"{given!r} is less than one sequence of {sequence_length} tokens; {_BATCH_EXAMPLE}")
    if exact > _LARGEST_BATCH:
        raise ValueError(f"{given!r} is more than {_LARGEST_BATCH:,} sequences; {_BATCH_EXAMPLE}")
    power = 2 ** round(log2(exact))
    if abs(power / exact - 1) <= _POWER_OF_TWO_WITHIN:
        return int(power)
    step = 2 ** max(0, int(log2(exact / 8)))
    return int(round(exact / step) * step)


class Stage(Section):
    """A stretch of training at one sequence length and one batch size."""

    name: str = setting("", "a name for reports", "stage-1, stage-2…")
    tokens: Tokens = required("tokens trained in this stage")
    sequence_length: int = required("tokens per sequence", gt=0, le=100_000_000)
    global_batch: Annotated[
        int, WithJsonSchema({"type": "string", "examples": ["2048 sequences", "16 Mtok"]})
    ] = required(
        "sequences per step; a file writes `2048 sequences`, or tokens: `16 Mtok` is rounded to the nearest "
        "power of two of sequences within 5 %",
        gt=0,
        json_schema_extra={"unit": "sequence"},
    )

    @field_validator("global_batch", mode="before")
    @classmethod
    def _batch_in_sequences(cls, given: Any, info: ValidationInfo) -> Any:
        """A file says the batch's unit; Python gives sequences."""
        length = info.data.get("sequence_length")
        if isinstance(given, str):
            # Without a valid length, that fault alone is reported.
            return 1 if length is None else batch_in_sequences(given, length)
        if from_file(info):
            raise ValueError(f"{given!r} could be tokens or sequences; {_BATCH_EXAMPLE}")
        return given

    layout: Annotated[Layout | None, _AUTO] = setting(
        None, "another layout than the job's, for this stage", "the job's layout"
    )

    @property
    def global_batch_tokens(self) -> int:
        """Tokens per step."""
        return self.global_batch * self.sequence_length

    @property
    def steps(self) -> float:
        """Optimizer steps of the stage."""
        return self.tokens / self.global_batch_tokens


class Training(Section):
    """One training job."""

    name: str = setting("training", "a name for reports and assertions", "the kind of job")
    model: Annotated[ModelArchitecture, ByName] = required(
        "a catalog name, a path of a config.json, or the fields of an architecture"
    )
    precision: Precision = setting(Precision, "numeric formats", "see its fields")
    stages: tuple[Stage, ...] = required(
        "in order; one stage may be given flat, beside `model`", min_length=1
    )
    layout: Annotated[Layout, _AUTO] = setting(Layout, "`auto`, or the fields that are fixed", "searched")
    overlap: Overlap = setting(Overlap, "communication hidden behind compute", "see its fields")
    offload: Offload = setting(Offload, "state kept in the host's memory", "see its fields")
    search: Search = setting(Search, "the layout search", "see its fields")
    stack: str = setting(
        "auto", "software generation, e.g. megatron-core-2024", "the accelerator's usual one"
    )
    assume: dict[str, Scalar] = setting(
        dict, "numbers of the training room that this scenario changes, by name", "none changed"
    )

    @model_validator(mode="before")
    @classmethod
    def _flat_stage(cls, given: Any) -> Any:
        """Moves the fields of a stage given beside `model` into a list of one stage."""
        flat = {"tokens", "sequence_length", "global_batch"}
        if isinstance(given, dict) and "stages" not in given and flat & set(given):
            stage = {key: value for key, value in given.items() if key in flat}
            return {**{key: value for key, value in given.items() if key not in flat}, "stages": [stage]}
        return given

    @property
    def tokens(self) -> float:
        """Tokens of all stages."""
        return sum(stage.tokens for stage in self.stages)


TrainingJobs = Annotated[tuple[Training, ...], OneOrMany]
