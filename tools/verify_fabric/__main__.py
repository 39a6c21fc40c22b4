"""`make verify-fabric`: fabrics that Argosy drew, given to the programs that run real ones.

opensm routes them on ibsim, an emulated InfiniBand fabric; ibdmchk walks every path; slurmctld reads a tree. Run by
hand: `.venv/bin/python tools/verify_fabric [--large]`, on Debian or Ubuntu, as root where packages are missing.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import cases
import infiniband
import scheduler
import software


def main() -> int:
    """Run all cases; 0 where every check held, 1 where one did not or a program is missing."""
    parser = argparse.ArgumentParser(prog="verify_fabric", description=__doc__)
    parser.add_argument(
        "--large", action="store_true", help="4,096 and 16,384 cards: minutes, and 2 GB of memory"
    )
    parser.add_argument("--keep", type=Path, help="work in this folder, and keep it")
    options = parser.parse_args()
    start = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started is ended on the way out
    try:
        installed = software.install()
    except software.Failure as failure:
        print(f"verify-fabric: {failure}", file=sys.stderr)
        return 1
    if installed:
        print(f"installed {', '.join(installed)} in {time.monotonic() - start:.0f} s")
    failed = 0
    for number, (name, check) in enumerate(checks(options.large)):
        with tempfile.TemporaryDirectory(prefix="argosy-fabric-") as temporary:
            folder = options.keep / str(number) if options.keep else Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            try:
                report = check(folder)
            except (software.Failure, OSError) as failure:
                report = infiniband.Report(name, failures=[str(failure)])
        show(report)
        failed += bool(report.failures)
    print(f"{'FAILED: ' + str(failed) if failed else 'all held'}, {time.monotonic() - start:.0f} s")
    return 1 if failed else 0


def checks(large: bool) -> list[tuple[str, Callable[[Path], infiniband.Report]]]:
    """Every check with its name."""
    fabrics = cases.large() if large else cases.usual()
    trees = [] if large else list(scheduler.CASES)
    return [
        *((case.name, partial(infiniband.check, case)) for case in fabrics),
        *((name, partial(scheduler.check, name)) for name in trees),
    ]


def show(report: infiniband.Report) -> None:
    """One case for people."""
    steps = ", ".join(f"{step} {seconds:.1f}" for step, seconds in report.seconds.items())
    print(f"{'FAILED' if report.failures else 'ok':7}{report.name} ({steps} s)")
    for fact in report.facts:
        print(f"       {fact}")
    for failure in report.failures:
        print(f"     ! {failure}")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
