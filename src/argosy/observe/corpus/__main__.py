"""`python -m argosy.observe.corpus write FOLDER`: the corpus, or a part of it, as files."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from argosy.observe.corpus.cases import KINDS, cases, write_case
from argosy.observe.corpus.families import FAMILIES

TUNING = [name for name, family in FAMILIES.items() if not family.set_aside]


def main() -> int:
    """Write cases; one line per case on stderr."""
    parser = argparse.ArgumentParser(prog="python -m argosy.observe.corpus", description=__doc__)
    parser.add_argument("command", choices=["write"])
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--families", nargs="*", choices=FAMILIES, default=TUNING, help="default: not set aside"
    )
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=list(KINDS))
    given = parser.parse_args()
    for case in cases(given.families, given.kinds):
        truth = write_case(case, given.folder / case.name)
        print(f"{case.name}: effect {truth.effect}, {given.folder / case.name / 'files'}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
