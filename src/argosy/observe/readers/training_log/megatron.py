"""Lines of Megatron-LM and of what descends from it (Megatron-DeepSpeed of BigScience, Megatron-Bridge)."""

from __future__ import annotations

import math
import re
from typing import Any

from argosy.observe.readers.text import number, stamp_s
from argosy.observe.readers.training_log.collect import Collector

_ITERATION = re.compile(r"\biteration\s+(\d{1,17})\s*/\s*\d+\s*\|(.*)")
_FIELDS = {  # (name of the line's field, in lower case) → (column, factor to SI)
    "elapsed time per iteration (ms)": ("step_time_s", 1e-3),
    "elapsed time per iteration (s)": ("step_time_s", 1.0),
    "throughput per gpu (tflop/s/gpu)": ("flops_per_gpu", 1e12),
    "tflops": ("flops_per_gpu", 1e12),
    "tokens per gpu per second (tgs)": ("tokens_per_gpu_s", 1.0),
    "tokens/sec/gpu": ("tokens_per_gpu_s", 1.0),
    "tokens per second": ("tokens_per_s", 1.0),
    "lm loss": ("loss", 1.0),
    "loss": ("loss", 1.0),
    "global batch size": ("batch", 1.0),
    "mfu": ("mfu", 1.0),
}
_OLDER = ("tflops", "samples per second", "consumed tokens")  # fields that only the BigScience lineage prints
_SINGLE = re.compile(r"time \(ms\) ?\|(.*)")
_SECTION = re.compile(r"^\s*(\(min, max\) |max )?times? across ranks \(ms\):")
_SPREAD = re.compile(r"^\s{2,8}([\w][\w /.:-]*?) ?\.*: \(\s*([\d.]+),\s*([\d.]+)\)\s*$")
_LARGEST = re.compile(r"^\s{2,8}([\w][\w /.:-]*?) \.{2,}: ([\d.]+)\s*$")
_NAME = re.compile(r"^\s{2}([\w][\w /.-]*):\s*$")
_RANK = re.compile(r"^\s{4,6}rank +(\d{1,9}): ([\d.]+)\s*$")
_ARGUMENT = re.compile(r"(?:^|\])\s{1,4}([A-Za-z][\w-]{1,79}) \.{3,} ?(.*)$")
_WORLD = re.compile(r"using world size: (\d{1,12}), data-parallel[- ]size: (\d{1,12})(.*)")
_SHARD = re.compile(
    r"number of parameters on \(tensor, pipeline\) model parallel rank \((\d{1,9}), (\d{1,9})\): (\d{1,18})"
)
_PHASE = re.compile(r"\[((?:before|after) [^\]]{3,100})\] datetime: ")
_BRIDGE = re.compile(r"Step Time : ([\d.]+)s GPU utilization: ([\d.]+)\s?MODEL_TFLOP/s/GPU")
_SAVE = re.compile(r"saving checkpoint at iteration +(\d{1,17})")
_SAVED = re.compile(r"successfully saved checkpoint (?:from|at) iteration +(\d{1,17})")
_LOADED = re.compile(r"successfully loaded checkpoint from .* at iteration +(\d{1,17})")
_EVALUATED = re.compile(r"validation loss at iteration +(\d{1,17})")
_EXIT = re.compile(r"\bexiting program (?:at|after)\b|\[exiting program after receiving")
NAMES = {  # arguments → settings
    "world_size": "world_size", "data_parallel_size": "data_parallel", "tensor_model_parallel_size": "tensor_parallel",
    "pipeline_model_parallel_size": "pipeline_parallel", "context_parallel_size": "context_parallel",
    "expert_model_parallel_size": "expert_parallel", "num_layers": "layers", "hidden_size": "hidden",
    "num_attention_heads": "heads", "num_query_groups": "query_groups", "ffn_hidden_size": "feed_forward",
    "seq_length": "sequence_length", "micro_batch_size": "micro_batch", "global_batch_size": "global_batch",
    "padded_vocab_size": "vocabulary", "recompute_granularity": "recompute", "log_interval": "log_interval",
    "save_interval": "save_interval", "train_batch_size": "global_batch",
}  # fmt: skip
_LATER = {"data-parallel": "data_parallel", "tensor-model-parallel": "tensor_parallel",
          "context-parallel": "context_parallel", "pipeline-model-parallel": "pipeline_parallel"}  # fmt: skip
_SETUP = ("model-and-optimizer-setup", "train/valid/test-data-iterators-setup", "optimizer-setup")
_CHECKPOINTS = {"load-checkpoint": "load", "save-checkpoint": "checkpoint-end"}


class Megatron:
    """Recognises Megatron's lines; some of its timers stand on several."""

    def __init__(self, collector: Collector) -> None:
        self._to = collector
        self._section = ""  # of the timers that follow: "", "spread", "ranks"
        self._name = ""
        self._columns: dict[str, tuple[str, float, bool]] = {}

    def feed(self, line: int, text: str) -> bool:
        """Read one line; whether it was Megatron's."""
        if self._section:
            if self._timers(text):
                return True
            self._section = ""
        if "iteration" in text and (found := _ITERATION.search(text)):
            return self._iteration(line, text, found)
        if "time (ms)" in text and (found := _SINGLE.search(text)):
            for part in found[1].split("|"):
                name, _, value = part.rpartition(":")
                self._timer(name.strip(), number(value) / 1e3, line)
            return True
        if "across ranks (ms)" in text and (found := _SECTION.match(text)):
            self._section, self._name = ("spread" if found[1] else "ranks"), ""
            return True
        if " ..." in text and (found := _ARGUMENT.search(text)):
            return self._argument(line, found[1], found[2].strip(), "[config.py" in text)
        return self._other(line, text)

    def _iteration(self, line: int, text: str, found: re.Match[str]) -> bool:
        values = {"time_s": stamp_s(text[: found.start()][-80:])}
        older = "deepspeed" in self._to.job.settings.get("arguments", {})
        for part in found[2].split("|")[:64]:
            name, _, told = part.partition(":")
            column = self._columns.get(name)
            if column is None:
                column = self._column(name)
            if column[0] and told and not told.isspace():
                values[column[0]] = number(told.split()[0]) * column[1]
            elif column[0] == "" and column[1]:
                return False  # NeMo's
            older = older or column[2]
        known = {name: value for name, value in values.items() if not math.isnan(value)}
        if known.get("batch", 0.0) >= 1.0:
            self._to.setting("global_batch", int(known["batch"]))
        self._to.row("bigscience" if older else "megatron", line, int(found[1]), known)
        return True

    def _column(self, name: str) -> tuple[str, float, bool]:
        """(column, factor, whether only the BigScience lineage prints it) of a field's name; NeMo's own has a factor alone."""
        plain = name.strip().lower().replace("lm-loss", "lm loss")
        column, factor = _FIELDS.get(plain, ("", 1.0 if plain == "train_step_timing in s" else 0.0))
        found = (column, factor, plain in _OLDER)
        if len(self._columns) < 10_000:
            self._columns[name] = found
        return found

    def _timers(self, text: str) -> bool:
        """One line of a list of timers over ranks."""
        if len(text) > 400:
            return False
        if self._section == "spread":
            if found := _SPREAD.match(text):
                self._timer(found[1], number(found[3]) / 1e3, 0)
                self._to.timer(f"{found[1]} (least)", number(found[2]) / 1e3)
                return True
            if found := _LARGEST.match(text):
                self._timer(found[1], number(found[2]) / 1e3, 0)
                return True
            return False
        if found := _NAME.match(text):
            self._name = found[1]
            return True
        if self._name and (found := _RANK.match(text)):
            self._to.rank_timer(self._name, int(found[1]), number(found[2]) / 1e3)
            return True
        return False

    def _timer(self, name: str, seconds: float, line: int) -> None:
        if not name or math.isnan(seconds):
            return
        if name in _CHECKPOINTS:
            kind = _CHECKPOINTS[name]
            if any(event.kind == kind for event in self._to.job.events[-50:]):
                self._to.lasted(kind, seconds)
            else:
                self._to.event(kind, line, seconds=seconds, text=name)
        elif name in _SETUP:
            self._to.event("setup", line, seconds=seconds, text=name)
        else:
            self._to.timer(name, seconds)

    def _argument(self, line: int, name: str, text: str, deepspeed: bool) -> bool:
        value = cast(text)
        key = name.replace("-", "_")
        if deepspeed:  # its world size is that of one pipeline stage's replicas
            if key == "train_batch_size" and isinstance(value, int):
                self._to.setting("global_batch", value)
            return True
        if key == "world_size" and self._to.job.settings.get("arguments", {}).get("world_size") is not None:
            self._to.start(line, math.nan, "arguments")
        if key in NAMES and value is not None:
            self._to.setting(NAMES[key], value)
        self._to.argument(key, value)
        return True

    def _other(self, line: int, text: str) -> bool:
        to = self._to
        if "world size" in text and (found := _WORLD.search(text)):
            to.start(line, stamp_s(text), text)
            to.setting("world_size", int(found[1]))
            to.setting("data_parallel", int(found[2]))
            for name, size in re.findall(r"([a-z-]+-parallel)[- ]size:? (\d{1,12})", found[3][:1000]):
                if name in _LATER:
                    to.setting(_LATER[name], int(size))
        elif "model parallel rank (" in text and (shards := _SHARD.findall(text)):
            for tensor, pipeline, count in shards:
                to.job.settings.setdefault("parameters_by_shard", {})[f"{tensor},{pipeline}"] = int(count)
        elif "datetime:" in text and (found := _PHASE.search(text)):
            kind = "exit" if found[1] == "after training is done" else "phase"
            to.event(kind, line, stamp_s(text), text=found[1])
        elif "MODEL_TFLOP" in text and (found := _BRIDGE.search(text)):
            to.ahead({"step_time_s": number(found[1]), "flops_per_gpu": number(found[2]) * 1e12})
        elif "arguments ----" in text:
            to.start(line, stamp_s(text), "arguments")
        else:
            return self._checkpoint(line, text)
        return True

    def _checkpoint(self, line: int, text: str) -> bool:
        if "checkpoint" not in text and "validation loss" not in text and "exiting program" not in text:
            return False
        for kind, pattern in (
            ("checkpoint-begin", _SAVE),
            ("checkpoint-end", _SAVED),
            ("load", _LOADED),
            ("evaluation", _EVALUATED),
            ("exit", _EXIT),
        ):
            if found := pattern.search(text):
                iteration = int(found[1]) if found.groups() else -1
                self._to.event(kind, line, stamp_s(text), text=text, iteration=iteration)
                return True
        return False


def cast(text: str) -> Any:
    """An argument's value as Python prints it: number, True, False, None, or the text itself."""
    words = {"None": None, "True": True, "False": False}
    if text in words:
        return words[text]
    if re.fullmatch(r"-?\d{1,18}", text):
        return int(text)
    value = number(text)
    return text[:400] if math.isnan(value) else value
