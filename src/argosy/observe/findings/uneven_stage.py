"""A pipeline stage with more to compute than the others, for which all of them wait."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from argosy.observe import thresholds
from argosy.observe.findings.finding import Culprit, Finding, span
from argosy.observe.observed import Observed
from argosy.observe.records import Place
from argosy.observe.replay_table import TableReplay

ID = "uneven-stage"
_ADVICE = (
    "give the stage fewer layers (count the embedding, the output head and the loss as layers), or divide the pipeline "
    "into more virtual stages"
)


def find(observed: Observed) -> list[Finding]:
    """Stages of operation tables and of traces whose compute exceeds the median stage's."""
    found = [finding for replay in observed.replays for finding in _of_table(replay)]
    return found or _of_traces(observed)


def _of_table(replay: TableReplay) -> list[Finding]:
    total = sum(
        np.nansum(times, axis=(3, 4)) for times in replay.measured.compute.values()
    )  # steps, data, stage
    if total.shape[2] < 2:
        return []
    step = float(replay.actual_s.mean())
    per_stage = np.median(total, axis=1)  # steps, stage
    found = []
    for k, stage in enumerate(replay.stages):
        others = np.median(np.delete(per_stage, k, axis=1), axis=1)
        over = per_stage[:, k] / others - 1.0
        alike = np.mean(
            total[:, :, k] - others[:, None] > 0.5 * (per_stage[:, k] - others)[:, None]
        )  # the stage, not a worker
        lasting = float(np.mean(over >= thresholds.UNEVEN_STAGE))
        if np.median(over) < thresholds.UNEVEN_STAGE or lasting <= thresholds.PERSISTENCE or alike < 0.75:
            continue
        saved = replay.without(int(stage))
        if saved < thresholds.LEAST_SHARE * step:
            continue
        ratios = (float(np.median(over)) / thresholds.UNEVEN_STAGE, saved / step / thresholds.LEAST_SHARE)
        found.append(
            Finding(
                ID,
                f"stage {stage} computes {float(np.median(over)):.0%} longer than the median of the others; the job's "
                f"slowdown is {replay.slowdown:.3f}, with this stage alone as measured {replay.by_stage[int(stage)]:.3f}",
                _ADVICE,
                thresholds.confidence(thresholds.INFERRED, ratios, lasting),
                saved / step,
                saved,
                Culprit(stage=int(stage)),
                (Place(replay.table.path, event=f"stage {stage}"),),
            )
        )
    return found


def _of_traces(observed: Observed) -> list[Finding]:
    """Stages told by the traces' metadata. The step of a full pipeline follows its slowest stage: the saving is its excess."""
    late, alignment = observed.lateness, observed.alignment
    if late is None or alignment is None:
        return []
    stages: dict[int, list[int]] = defaultdict(list)
    for i, stage in enumerate(observed.stages):
        if stage is not None:
            stages[stage].append(i)
    if len(stages) < 2:
        return []
    step = float(np.median(late.step_s))
    rows = [np.asarray(trace.activity_s["compute"])[trace.places(late.steps)] for trace in alignment.traces]
    middle = {stage: np.median([rows[i] for i in members], axis=0) for stage, members in stages.items()}
    found = []
    for stage, members in stages.items():
        others = np.median([values for other, values in middle.items() if other != stage], axis=0)
        over = middle[stage] / np.maximum(others, 1e-12) - 1.0
        excess = float(np.median(middle[stage] - others))
        alike = np.mean([np.median(rows[i] - others) > 0.5 * excess for i in members])
        lasting = float(np.mean(over >= thresholds.UNEVEN_STAGE))
        if (
            np.median(over) < thresholds.UNEVEN_STAGE
            or excess < thresholds.LEAST_SHARE * step
            or lasting <= thresholds.PERSISTENCE
            or alike < 0.75
        ):
            continue
        ratios = (float(np.median(over)) / thresholds.UNEVEN_STAGE, excess / step / thresholds.LEAST_SHARE)
        found.append(
            Finding(
                ID,
                f"stage {stage} computes {float(np.median(over)):.0%} longer than the median of the others, "
                f"{span(excess)} a step",
                _ADVICE,
                thresholds.confidence(thresholds.INFERRED, ratios, lasting),
                excess / step,
                excess,
                Culprit(stage=stage, ranks=tuple(alignment.ranks[i] for i in members)),
                tuple(Place(alignment.traces[i].path) for i in members[:4]),
            )
        )
    return found
