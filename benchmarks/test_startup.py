"""How long the command takes to say hello, against the bare libraries that it is made of."""

import subprocess
import sys

import pytest

BARE = "import typer, rich; app = typer.Typer(); app.command()(lambda: None); app(['--help'], standalone_mode=False)"


def seconds(command: list[str], rounds: int = 7) -> float:
    """Median wall-clock seconds of a whole process."""
    import time

    taken = []
    for _ in range(rounds + 1):
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        taken.append(time.perf_counter() - started)
    return sorted(taken[1:])[rounds // 2]


@pytest.mark.benchmark(group="start-up")
def test_help_against_bare_typer_and_rich(benchmark):
    bare = seconds([sys.executable, "-c", BARE])
    command = [sys.executable, "-m", "argosy", "--help"]
    benchmark.pedantic(
        lambda: subprocess.run(command, check=True, capture_output=True), rounds=7, warmup_rounds=1
    )
    ratio = benchmark.stats.stats.median / bare
    benchmark.extra_info["ratio to bare typer and rich"] = round(ratio, 2)
    assert ratio < 2.0


@pytest.mark.benchmark(group="start-up")
def test_import_against_a_bare_interpreter(benchmark):
    bare = seconds([sys.executable, "-c", "pass"])
    command = [sys.executable, "-c", "import argosy"]
    benchmark.pedantic(
        lambda: subprocess.run(command, check=True, capture_output=True), rounds=7, warmup_rounds=1
    )
    benchmark.extra_info["milliseconds beyond a bare interpreter"] = round(
        1e3 * (benchmark.stats.stats.median - bare), 1
    )
    assert benchmark.stats.stats.median / bare < 3.0
