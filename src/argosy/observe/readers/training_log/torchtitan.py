"""Lines of torchtitan."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from argosy.observe.readers.text import number, stamp_s
from argosy.observe.readers.training_log.collect import Collector

LONGEST_DUMP = 1 << 18  # characters of a configuration over several lines
_STEP = re.compile(r"\bstep:\s*(\d{1,17})\s+loss:\s*(\S+)(.*)")
_FIELD = re.compile(r"\b(tps|tflops|mfu|end_to_end\(s\)|data_loading\(s\)|data_loading\(%\)):\s*(\S+)")
_SIZE = re.compile(r"Model (\S+) (\S+) size: ([\d,]{1,30}) total parameters")
_ARGUMENTS = re.compile(r"\b(\w+)=(-?[\d.]{1,30}(?:e[+-]?\d{1,3})?|True|False|None)")
_TRAINER = re.compile(
    r"local batch size:? (\d{1,12}), global batch size:? (\d{1,12}),(?: gradient accumulation steps:? (\d{1,12}),)? "
    r"sequence length:? (\d{1,12})"
)
_PEAK = re.compile(r"Peak FLOPS used for computing MFU: (\S+)")
_MESH = re.compile(r"Building \d+-D device mesh with (\[[^\]]*\]), (\[[\d, ]*\])")
_COLLECTION = re.compile(r"\[GC\] .*?(?:took )?([\d.]+) seconds")
_SECONDS = re.compile(r"in ([\d.]+) ?seconds")
_DEVICE = re.compile(r"CUDA capacity: (.+?) with ([\d.]+)GiB")
_MODEL = {
    "dim": "hidden",
    "n_layers": "layers",
    "n_heads": "heads",
    "n_kv_heads": "query_groups",
    "vocab_size": "vocabulary",
}


class Torchtitan:
    """Recognises torchtitan's lines. Every rank prints them: only those of the first that printed a step count."""

    def __init__(self, collector: Collector) -> None:
        self._to = collector
        self._speaker: int | None = None
        self._dump: list[str] | None = None
        self._depth = 0
        self._length = 0

    def feed(self, line: int, rank: int | None, text: str) -> bool:
        """Read one line of `rank`; whether it was torchtitan's."""
        if self._dump is not None:
            self._more(text)
            return True
        if "step:" in text and "loss:" in text and (found := _STEP.search(text)):
            return self._step(line, rank, text, found)
        if rank is not None and rank != (self._speaker or 0):
            return False
        if "Running with" in text and ("args: {" in text or "configs: {" in text):
            self._dump, self._depth, self._length = [], 0, 0
            self._more(text[text.index("{") :])
            return True
        return self._settings(text) or self._events(line, text)

    def _step(self, line: int, rank: int | None, text: str, found: re.Match[str]) -> bool:
        fields = dict(_FIELD.findall(found[3]))
        if not {"tps", "mfu", "tflops"} & fields.keys():
            return False
        self._speaker = rank if self._speaker is None else self._speaker
        if rank != self._speaker:
            return True
        step, moment = int(found[1]), stamp_s(text[: found.start()])
        values = {
            "time_s": moment, "loss": number(found[2]), "tokens_per_gpu_s": number(fields.get("tps", "")),
            "flops_per_gpu": number(fields.get("tflops", "")) * 1e12, "mfu": number(fields.get("mfu", "")),
            "step_time_s": number(fields.get("end_to_end(s)", "")),
        }  # fmt: skip
        known = {name: value for name, value in values.items() if not math.isnan(value)}
        self._to.row("torchtitan", line, step, known)
        if "data_loading(s)" in fields:
            self._to.timer("data_loading", number(fields["data_loading(s)"]))
        return True

    def _more(self, text: str) -> None:
        """Another line of the configuration's dump, which may stand on one line or on many."""
        assert self._dump is not None
        self._dump.append(text)
        self._depth += text.count("{") - text.count("}")
        self._length += len(text)
        if self._depth <= 0 or self._length > LONGEST_DUMP:
            self._configure("\n".join(self._dump))
            self._dump = None

    def _configure(self, text: str) -> None:
        try:
            told = json.loads(text[: text.rindex("}") + 1])
        except (ValueError, RecursionError):
            return
        if not isinstance(told, dict):
            return
        self._to.setting("configuration", told)
        for section, name, key in (
            ("training", "seq_len", "sequence_length"),
            ("training", "local_batch_size", "micro_batch"),
            ("training", "batch_size", "micro_batch"),
            ("training", "global_batch_size", "global_batch"),
            ("parallelism", "tensor_parallel_degree", "tensor_parallel"),
            ("parallelism", "pipeline_parallel_degree", "pipeline_parallel"),
            ("parallelism", "context_parallel_degree", "context_parallel"),
            ("metrics", "log_freq", "log_interval"),
        ):
            part = told.get(section)
            value: Any = part.get(name) if isinstance(part, dict) else None
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                self._to.setting(key, value)

    def _settings(self, text: str) -> bool:
        to = self._to
        if "total parameters" in text and (found := _SIZE.search(text)):
            to.setting("model", f"{found[1]} {found[2]}")
            to.setting("parameters_in_all", int(found[3].replace(",", "")))
        elif "global batch size" in text and (found := _TRAINER.search(text)):
            to.setting("micro_batch", int(found[1]))
            to.setting("global_batch", int(found[2]))
            to.setting("sequence_length", int(found[4]))
        elif "Peak FLOPS" in text and (found := _PEAK.search(text)):
            to.setting("peak_flops", number(found[1]))
        elif "device mesh with" in text and (found := _MESH.search(text)):
            sizes = [int(each) for each in re.findall(r"\d{1,9}", found[2])]
            to.setting("world_size", math.prod(sizes))
            to.setting("mesh", found[1] + found[2])
        elif "Building" in text and "ModelArgs(" in text:
            for name, value in _ARGUMENTS.findall(text):
                if name in _MODEL and value.isdigit():
                    to.setting(_MODEL[name], int(value))
                elif name == "max_seq_len" and value.isdigit():
                    to.setting("longest_sequence", int(value))
        elif "CUDA capacity:" in text and (found := _DEVICE.search(text)):
            to.setting("device", found[1])
        else:
            return False
        return True

    def _events(self, line: int, text: str) -> bool:
        if not ("heckpoint" in text or "[GC]" in text or "Training " in text or "Starting job" in text):
            return False
        to = self._to
        seconds = number(found[1]) if (found := _SECONDS.search(text)) else math.nan
        if "Starting job" in text:
            to.start(line, stamp_s(text), text)
        elif "[GC]" in text and (found := _COLLECTION.search(text)):
            to.event("gc", line, stamp_s(text), number(found[1]), text)
        elif "Training starts at step" in text:
            to.event("phase", line, stamp_s(text), text="training starts")
        elif "Finished saving the checkpoint" in text:
            to.event("checkpoint-end", line, stamp_s(text), seconds, text)
        elif re.search(r"Saving (?:the|a) .*checkpoint", text):
            to.event("checkpoint-begin", line, stamp_s(text), text=text)
        elif "Finished loading the checkpoint" in text:
            to.event("load", line, stamp_s(text), seconds, text)
        elif text.rstrip().endswith("Training completed"):
            to.event("exit", line, stamp_s(text), text="completed")
        else:
            return False
        return True
