"""Lines of NeMo, DeepSpeed, AtorchTrainer (DLRover's events) and the Trainer of Hugging Face."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Mapping
from typing import Any

from argosy.observe.readers.text import number, stamp_s
from argosy.observe.readers.training_log.collect import Collector

_NEMO = re.compile(r"\biteration (\d{1,17})/\d+ ?\|(.*)")
_NEMO_BAR = re.compile(r"(\d{1,17})/\d+ \[[^\]]{0,1000}?train_step_timing in s=([\d.]+)[^\]]{0,1000}\]")
_NEMO_SAVE = re.compile(
    r"Checkpoint Save : Rank ?: ?\d+ : Iteration ?: ?(\d{1,17}) : Start time ?: ?([\d.]+)s? : Save duration ?: ?([\d.]+)s"
)
_DEEPSPEED = re.compile(r"global_step=(\d{1,17}),.{0,200}?CurrSamplesPerSec=([\d.eE+-]+)")
_DEEPSPEED_PIPE = re.compile(
    r"\bsteps: (\d{1,17}) loss: (\S+) iter time \(s\): ([\d.]+) samples/sec: ([\d.]+)"
)
_DEEPSPEED_STEP = re.compile(r"\[Rank \d+\] step=(\d{1,17}), skipped=")
# The name of a checkpoint is its tag: global_step50 unless the user gave another.
_DEEPSPEED_SAVE = re.compile(r"Checkpoint (\S{1,200}?(\d{0,17})) is (about to be saved|ready now)")
_ATORCH = re.compile(
    r"^\s*\[([^\]]+)\] \[\d+\] \[(\w+)\] \[\w*[Tt]rainer\w*\] \[#(\w+)\] \[(BEGIN|END|INSTANT)\] (\{.*\})"
)
_BAR = re.compile(r"(\d{1,12})/(\d{1,12}) \[((?:\d+:)?\d+:\d\d)<[^,\]]{1,20}, *([\d.]+)(s/it|it/s)")
_BAR_START = re.compile(r"(?:^|[\r\]])\s*\d{1,3}%\|")
_HF_DICT = re.compile(r"\{'[\w ]+': [^{}]{1,2000}\}")
_FINE = (
    20.0  # s per step from which the clock of a progress bar (whole seconds) is finer than its smoothed rate
)


class Frameworks:
    """Recognises the lines of four frameworks, each by itself."""

    def __init__(self, collector: Collector) -> None:
        self._to = collector
        self._began: dict[str, tuple[str, float]] = {}  # AtorchTrainer's ids, DeepSpeed's tags: (what, when)
        self._tokens: tuple[int, float] = (-1, math.nan)  # of the step before
        self._elapsed: tuple[int, float] = (-1, math.nan)  # of the progress bar
        self._samples_per_s: list[float] = []

    def feed(self, line: int, text: str) -> bool:
        """Read one line; whether it was of one of these."""
        if "train_step_timing in s" in text:
            return self._nemo(line, text)
        if "Checkpoint Save :" in text and (found := _NEMO_SAVE.search(text)):
            began, lasted = number(found[2]), number(found[3])
            self._to.event("checkpoint-end", line, began + lasted, lasted, text, int(found[1]))
            return True
        if "] Checkpoint " in text and (found := _DEEPSPEED_SAVE.search(text)):
            return self._saved(line, text, found)
        if "SamplesPerSec" in text or "samples/sec" in text or "skipped=" in text:
            return self._deepspeed(line, text)
        if "[#" in text and (found := _ATORCH.match(text)):
            return self._atorch(line, found)
        if ("s/it" in text or "it/s" in text) and "%|" in text:
            return self._bars(line, text)
        if "{'" in text:
            return self._printed(line, text)
        if "***** Running training *****" in text:
            self._to.start(line, stamp_s(text), text)
            return True
        return False

    def _nemo(self, line: int, text: str) -> bool:
        if found := _NEMO.search(text):
            fields = dict(_pairs(found[2], ":"))
            step = fields.get("global_step", "")
            iteration = int(step) if step.isdecimal() and len(step) < 18 else int(found[1])
        elif found := _NEMO_BAR.search(text):
            fields = dict(_pairs(found[0][found[0].index("[") + 1 : -1], "=", ","))
            iteration = int(found[1])
        else:
            return False
        values = {
            "time_s": stamp_s(text[:80]), "step_time_s": number(fields.get("train_step_timing in s", "")),
            "loss": number(fields.get("reduced_train_loss", "")), "batch": number(fields.get("global_batch_size", "")),
            "flops_per_gpu": number(fields.get("TFLOPS_per_GPU", "")) * 1e12,
            "tokens_per_gpu_s": number(fields.get("tokens_per_sec_per_gpu", "")),
        }  # fmt: skip
        self._to.row("nemo", line, iteration, _known(values))
        return True

    def _deepspeed(self, line: int, text: str) -> bool:
        if found := _DEEPSPEED_PIPE.search(text):
            values = {"loss": number(found[2]), "step_time_s": number(found[3]), "time_s": stamp_s(text)}
            values["batch"] = number(found[3]) * number(found[4])
            self._to.row("deepspeed", line, int(found[1]), _known(values))
            return True
        if found := _DEEPSPEED.search(text):
            rate, batch = number(found[2]), _setting(self._to, "global_batch")
            values = {"time_s": stamp_s(text), "step_time_s": batch / rate if rate > 0 else math.nan}
            self._to.row("deepspeed", line, int(found[1]), _known(values))
            return True
        if (found := _DEEPSPEED_STEP.search(text)) and int(found[1]):
            self._to.row("deepspeed", line, int(found[1]), _known({"time_s": stamp_s(text)}))
            return True
        return False

    def _saved(self, line: int, text: str, found: re.Match[str]) -> bool:
        """DeepSpeed tells when it begins a checkpoint and when all of it is written, not how long that took."""
        tag, moment = found[1], stamp_s(text)
        iteration = int(found[2]) if found[2] else -1
        if found[3] == "about to be saved":
            if len(self._began) < 10_000:
                self._began[tag] = ("save", moment)
            self._to.event("checkpoint-begin", line, moment, text=text, iteration=iteration)
            return True
        began = self._began.pop(tag, ("save", math.nan))[1]
        self._to.event("checkpoint-end", line, moment, moment - began, text, iteration)
        return True

    def _atorch(self, line: int, found: re.Match[str]) -> bool:
        moment, ident, what, phase = stamp_s(found[1]), found[2], found[3], found[4]
        try:
            told = json.loads(found[5])
        except (ValueError, RecursionError):
            return False
        step = told.get("global_step") if isinstance(told, dict) else None
        step = step if isinstance(step, int) and 0 <= step < 2**53 else -1
        began = math.nan
        if phase == "BEGIN":
            if len(self._began) < 10_000:
                self._began[ident] = (what, moment)
        elif phase == "END":
            began = self._began.pop(ident, (what, math.nan))[1]
        if what == "step" and phase == "END" and step >= 0:
            self._to.row("atorch", line, step, _known(self._atorch_step(told, step, moment, began)))
        elif what == "log":
            logs = told.get("logs")
            if isinstance(logs, dict) and step >= 0:
                self._atorch_log(line, step, moment, logs)
        elif what in ("save", "load", "init", "evaluate", "train"):
            kind = {"load": "load", "init": "setup", "evaluate": "evaluation", "train": "phase"}.get(what)
            kind = kind or ("checkpoint-begin" if phase == "BEGIN" else "checkpoint-end")
            if what == "save" or phase != "BEGIN":
                self._to.event(kind, line, moment, moment - began, f"{what} {phase.lower()}", step)
        return True

    def _atorch_step(
        self, told: Mapping[str, Any], step: int, moment: float, began: float
    ) -> dict[str, float]:
        consumed = told.get("consumed_train_tokens")
        before, self._tokens = self._tokens, (step, _float(consumed))
        seconds = moment - began
        tokens = self._tokens[1] - before[1] if before[0] == step - 1 else math.nan
        rate = tokens / seconds if tokens > 0 and seconds > 0 else math.nan
        return {"time_s": moment, "step_time_s": seconds, "tokens_per_s": rate}

    def _atorch_log(self, line: int, step: int, moment: float, logs: Mapping[str, Any]) -> None:
        values = {
            "time_s": moment, "loss": _float(logs.get("lm loss", logs.get("loss"))),
            "step_time_s": _float(logs.get("elapsed time per iteration (ms)")) / 1e3,
            "flops_per_gpu": _float(logs.get("TFLOPS")) * 1e12, "batch": _float(logs.get("global batch size")),
        }  # fmt: skip
        known = _known(values)
        if not self._to.row("atorch", line, step, known):
            for name in ("step_time_s", "loss", "flops_per_gpu"):
                if name in known:
                    self._to.amend(name, known[name])  # with what lies between two steps

    def _bars(self, line: int, text: str) -> bool:
        """Progress bars of tqdm without a description: those of the training loop. One line may hold many, each by `\\r`."""
        if not _BAR_START.search(text):
            return False
        for found in _BAR.finditer(text):
            step, elapsed = int(found[1]), _clock(found[3])
            if step == 0 or step <= self._to.last:
                continue
            before, at = self._elapsed if self._elapsed[0] < step else (-1, math.nan)
            rate = number(found[4])
            seconds = rate if found[5] == "s/it" else 1.0 / rate if rate > 0 else math.nan
            if seconds >= _FINE and before >= 0 and elapsed > at:
                seconds = (elapsed - at) / (step - before)
            self._elapsed = (step, elapsed)
            self._to.row("huggingface", line, step, _known({"step_time_s": seconds}))
        return True

    def _printed(self, line: int, text: str) -> bool:
        """`{'loss': 2.3, 'learning_rate': 5e-05, 'epoch': 0.1}`, which names no step, and the summary at the end."""
        found = _HF_DICT.search(text)
        if found is None:
            return False
        try:
            told = ast.literal_eval(found[0])
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return False
        if not isinstance(told, dict):
            return False
        if "loss" in told and "epoch" in told:
            self._to.amend("loss", _float(told["loss"]))
        elif "train_runtime" in told:
            seconds = _float(told["train_runtime"])
            self._to.event("exit", line, stamp_s(text), seconds, "training completed")
            for name in ("train_samples_per_second", "train_steps_per_second", "train_tokens_per_second"):
                if not math.isnan(_float(told.get(name))):
                    self._to.setting(name, _float(told[name]))
        else:
            return False
        return True


def _pairs(text: str, colon: str, comma: str = "|") -> list[tuple[str, str]]:
    parts = (part.partition(colon) for part in text.split(comma)[:64])
    return [(name.strip(), value.strip()) for name, _, value in parts]


def _known(values: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in values.items() if math.isfinite(value)}


def _float(value: Any) -> float:
    """A JSON number (also one in a text); NaN for anything else, and for what float64 cannot hold."""
    try:
        return float(value) if not isinstance(value, bool) else math.nan
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _setting(collector: Collector, name: str) -> float:
    value = collector.job.settings.get(name)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan


def _clock(text: str) -> float:
    """Seconds of `1:02:03` or `02:03`."""
    seconds = 0.0
    for part in text.split(":"):
        seconds = 60.0 * seconds + float(part)
    return seconds
