"""What `argosy diagnose` says of the traces and logs that the testbed's own jobs left, beside what was planted in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from argosy.observe.diagnosis import diagnose
from argosy.testbed.comparison import counted
from argosy.testbed.training import cases

Row = dict[str, Any]
# What the first finding that blames somebody must say; None: nobody is blamed.
PLANTED: Mapping[str, tuple[str, str] | None] = {
    "healthy": None,
    "slow-rank": ("straggler-rank", f"rank {cases.SLOW_RANK}"),
    "slow-loader": ("data-starvation", f"rank {cases.READING_RANK}"),
    "even-stages": None,
    "uneven-stages": ("uneven-stage", "stage 1"),
    "healthy-links": None,
    "slow-link": ("slow-link", f"rank {cases.SLOW_HOST}"),
}
NOBODY = "nobody"


def blamed(paths: Sequence[Path]) -> tuple[str, dict[str, Any]]:
    """Whom a diagnosis of these files blames, in order (`straggler-rank: rank 2`; `nobody`), and the whole diagnosis."""
    found = diagnose(paths).to_dict()
    names = [f"{each['id']}: {who}" for each in found["findings"] if (who := _who(each["culprit"]))]
    return "; ".join(names) or NOBODY, found


def _who(culprit: Mapping[str, Any]) -> str | None:
    """A rank, else a stage, else what else is named; None where nobody is."""
    for key in ("rank", "stage"):
        if culprit.get(key) is not None:
            return f"{key} {culprit[key]}"
    named = [str(culprit[key]) for key in ("link", "node") if culprit.get(key)]
    return named[0] if named else None


def wrong(folder: Path) -> dict[str, str]:
    """Folders of traces there whose diagnosis does not blame as planted, and whom it blames."""
    found = {name: blamed([folder / name])[0] for name in PLANTED if (folder / name).is_dir()}
    return {name: who for name, who in found.items() if who != _told(PLANTED[name])}


def comparisons(folder: Path) -> list[Row]:
    """A row per folder of traces there, and one for the slow rank's log without its traces."""
    rows = []
    for name, planted in PLANTED.items():
        if (folder / name).is_dir():
            who, _ = blamed([folder / name])
            rows.append(counted(f"blamed in the traces of {name}", _told(planted), who))
    if (log := folder / "slow-rank" / "train.log").exists():
        who, _ = blamed([log])
        rows.append(counted("blamed in the log of slow-rank alone", _told(PLANTED["slow-rank"]), who))
    return rows


def _told(planted: tuple[str, str] | None) -> str:
    return NOBODY if planted is None else ": ".join(planted)
