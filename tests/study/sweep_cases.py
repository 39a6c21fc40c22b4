"""Small studies that the sweep's tests share."""

from __future__ import annotations

from pathlib import Path

SCENARIO = (
    "name: small\nfleet: {accelerator: H100-SXM, count: 64}\n"
    "training: {name: pretrain, model: llama-3.1-8b, tokens: 1e11, sequence_length: 8192, "
    "global_batch: 256 sequences, stack: megatron-core, "
    "layout: {tp: 2, pp: 1, vp: 1, cp: 1, micro_batch: 1, recompute: none, zero: 1, schedule: 1f1b}}\n"
)


def study_file(folder: Path, axes: str, more: str = "") -> Path:
    """A study of the small scenario; `axes` is the inside of a YAML flow mapping."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "small.yaml").write_text(SCENARIO, encoding="utf-8")
    path = folder / "study.yaml"
    path.write_text(f"scenario: small.yaml\naxes: {{{axes}}}\n{more}", encoding="utf-8")
    return path


# 3 × 16 points of structure: three chunks.
STRUCTURE = (
    "training.pretrain.global_batch: [128 sequences, 256 sequences, 512 sequences], "
    "fleet.count: {from: 32, to: 512, steps: 16}"
)


def content(folder: Path) -> bytes:
    """All rows of a results folder, as bytes in the order of the chunks' names."""
    return b"".join(path.read_bytes() for path in sorted(folder.glob("chunk-*.parquet")))
