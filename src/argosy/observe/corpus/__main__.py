"""The fault-injection corpus: write it, or score `argosy diagnose` on it.

python -m argosy.observe.corpus write FOLDER          # the tuning families, for those who tune
python -m argosy.observe.corpus score --set-aside --docs docs/diagnosis-accuracy.md
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from argosy.observe.corpus.cases import KINDS, Case, cases, write_case
from argosy.observe.corpus.families import FAMILIES
from argosy.observe.corpus.real import real_cases
from argosy.observe.corpus.report import page
from argosy.observe.corpus.score import Outcome, score

TUNING = [name for name, family in FAMILIES.items() if not family.set_aside]


def main() -> int:
    """Parse the command line and do it."""
    parser = argparse.ArgumentParser(
        prog="python -m argosy.observe.corpus",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=["write", "score"])
    parser.add_argument("folder", type=Path, nargs="?", help="write: where the cases go")
    parser.add_argument(
        "--families", nargs="*", choices=FAMILIES, default=TUNING, help="default: those not set aside"
    )
    parser.add_argument("--set-aside", action="store_true", help="also the families that nobody tunes on")
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=list(KINDS))
    parser.add_argument("--copies", type=int, default=1, help="of every case, with other luck (default 1)")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--samples", type=Path, default=Path("../shared/samples"), help="real cases, where they lie"
    )
    parser.add_argument("--docs", type=Path, help="score: write the table to this Markdown file")
    parser.add_argument("--json", type=Path, help="score: write every outcome to this file")
    given = parser.parse_args()
    families = list(FAMILIES) if given.set_aside else given.families
    chosen = list(cases(families, given.kinds, given.copies))
    if given.command == "write":
        if given.folder is None:
            parser.error("write needs a folder: python -m argosy.observe.corpus write FOLDER")
        for case in chosen:
            truth = write_case(case, given.folder / case.name)
            print(
                f"{case.name}: effect {truth.effect}, {given.folder / case.name / 'files'}", file=sys.stderr
            )
        return 0
    outcomes = list(scored(chosen, given.processes))
    real = [score_paths(truth, paths) for truth, paths in real_cases(given.samples)]
    text = page(outcomes, real)
    print(text)
    if given.docs:
        given.docs.write_text(text, encoding="utf-8")
    if given.json:
        told = [
            {**each.truth.to_dict(), "found": each.found, "wrong": each.wrong} for each in outcomes + real
        ]
        given.json.write_text(json.dumps(told, indent=1), encoding="utf-8")
    return 0


def scored(chosen: Iterable[Case], processes: int = 2) -> Iterator[Outcome]:
    """Write, diagnose and score cases, in order; one line per case that is not right on stderr."""
    with ProcessPoolExecutor(processes) as pool:
        for name, outcome in pool.map(_one, chosen):
            if outcome.wrong or outcome.found < outcome.expected:
                missed = outcome.expected - outcome.found
                effect = outcome.truth.effect
                told = "" if effect is None else f" (effect {effect:.1%})"
                print(
                    f"{name}{told}: missed {missed}, wrong {', '.join(outcome.wrong) or 'none'}",
                    file=sys.stderr,
                )
            yield outcome


def _one(case: Case) -> tuple[str, Outcome]:
    with TemporaryDirectory() as folder:
        truth = write_case(case, Path(folder))
        return case.name, score_paths(truth, [Path(folder, "files")])


def score_paths(truth: Any, paths: list[Path]) -> Outcome:
    """Diagnose files and score what comes out."""
    from argosy.observe.diagnosis import NothingReadableError, diagnose

    try:
        payload = diagnose(paths).to_dict()
    except NothingReadableError:
        payload = {"findings": []}
    return score(truth, payload)


if __name__ == "__main__":
    raise SystemExit(main())
