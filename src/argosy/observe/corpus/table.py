"""A pipelined run as a table of its operations, in the columns that ByteDance's straggler study published."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from argosy.observe.corpus.job import Healthy
from argosy.observe.corpus.replay import RankRun

COLUMNS = (
    "dp_rank",
    "stage",
    "rank",
    "step",
    "optype",
    "start_ts",
    "duration",
    "seq_id",
    "mc",
    "gmc",
    "mb_id",
)


def write_table(path: Path, job: Healthy, runs: Iterable[RankRun]) -> Path:
    """Write the operations of the first rank of every tensor-parallel group as Parquet."""
    import duckdb

    rows = []
    for run in runs:
        tensor, data, stage = job.place(run.rank)
        if tensor:
            continue
        begins = {span.step: span.start for span in run.spans if span.kind == "step"}
        numbers: dict[tuple[int, str], int] = {}
        for span in sorted(run.operations, key=lambda each: each.start):
            number = numbers.get((span.step, span.kind), 0)
            numbers[span.step, span.kind] = number + 1
            computes = span.kind.endswith("compute")
            start = span.start - begins[span.step]
            chunk = span.chunk // job.work.pp
            rows.append(
                (
                    data,
                    stage,
                    run.rank,
                    span.step,
                    span.kind,
                    start,
                    span.end - span.start,
                    number,
                    chunk,
                    span.chunk,
                    span.micro_batch if computes else -1,
                )
            )
    text = path.with_suffix(".csv")
    text.write_text("\n".join([",".join(COLUMNS), *(",".join(map(str, row)) for row in rows)]) + "\n")
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT * FROM read_csv('{text}')) TO '{path}' (FORMAT parquet)")
    text.unlink()
    return path
