"""`make verify-prometheus`: a real Prometheus server scrapes a small exporter; Argosy reads it through its HTTP API.

By hand: `.venv/bin/python tools/verify_prometheus`, on Debian or Ubuntu, as root where the package is missing.
"""

from __future__ import annotations

import math
import socket
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "verify_fabric"))

import exporter
import software

from argosy.observe.readers.prometheus_server import read_server

PACKAGES = {"prometheus": "prometheus"}
SCRAPES = 8
READY_S = 60.0
SCRAPED_S = 60.0
CONFIGURATION = """global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
  - job_name: dcgm
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
"""


def main() -> int:
    """Run the check; 0 where everything held."""
    start = time.monotonic()
    try:
        installed = software.install(PACKAGES)
        if installed:
            print(f"installed {', '.join(installed)} in {time.monotonic() - start:.0f} s")
        with tempfile.TemporaryDirectory(prefix="argosy-prometheus-") as folder:
            failures = check(Path(folder))
    except software.Failure as failure:
        print(f"verify-prometheus: {failure}", file=sys.stderr)
        return 1
    for failure in failures:
        print(f"     ! {failure}")
    print(f"{'FAILED: ' + str(len(failures)) if failures else 'all held'}, {time.monotonic() - start:.0f} s")
    return 1 if failures else 0


def check(folder: Path) -> list[str]:
    """Start exporter and server in `folder`, read, compare; what did not hold."""
    with exporter.Exporter() as source:
        configuration = folder / "prometheus.yml"
        configuration.write_text(CONFIGURATION.format(port=source.port), encoding="utf-8")
        port = free_port()
        words = [
            "prometheus", f"--config.file={configuration}", f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}", "--web.enable-lifecycle", "--log.level=warn",
        ]  # fmt: skip
        began = time.time()
        with software.Background(folder, words) as server:
            server.wait_for(lambda: answers(port), READY_S)
            server.wait_for(lambda: source.scrapes >= SCRAPES, SCRAPED_S)
            return compare(port, began)


def compare(port: int, began: float) -> list[str]:
    """What Argosy read against what the exporter said."""
    base = f"127.0.0.1:{port}"
    failures = []

    def expect(held: bool, words: str) -> None:
        print(f"{'ok' if held else 'FAILED':7}{words}")
        if not held:
            failures.append(words)

    batch = read_server(f"prometheus://{base}?start={began - 5:.0f}&end={time.time():.0f}&step=1")
    by_gpu: dict[str, list[float]] = {}
    for series in batch.series:
        if series.metric == "DCGM_FI_DEV_GPU_TEMP":
            by_gpu.setdefault(series.labels["gpu"], []).extend({float(value) for value in series.value})
    names = {series.metric for series in batch.series}
    problems = [problem.message for problem in batch.input.problems]
    expect(
        batch.input.status == "read" and len(problems) == 1,
        f"read; of problems only the one that is NaN: {problems}",
    )
    expect(len(names) == 4, f"four metrics, the one that is NaN left out: {sorted(names)}")
    wanted = {str(gpu): [exporter.TEMPERATURE + gpu] for gpu in range(exporter.GPUS)}
    expect(by_gpu == wanted, f"one series of temperature per GPU, instances or not: {by_gpu}")
    times = [moment for series in batch.series for moment in series.time_s]
    expect(
        bool(times) and min(times) >= began - 1 and max(times) <= time.time() + 1,
        "times lie within the window",
    )
    codes = [(event.code, event.node, event.pci, math.isfinite(event.time_s)) for event in batch.faults]
    expect(
        codes == [(79, "node-1", "0000:03:00", True)],
        f"the sticky Xid gauge gives one event, when it changed: {codes}",
    )
    wrong = read_server(f"http://{base}?match=%7Bbroken")
    expect(
        wrong.input.status == "unreadable" and "400" in wrong.input.problems[0].message,
        "a bad selector is told",
    )
    nobody = read_server(f"http://127.0.0.1:{free_port()}")
    expect(
        nobody.input.status == "unreadable" and bool(nobody.input.problems),
        "a port where nobody listens is told",
    )
    return failures


def answers(port: int) -> bool:
    """Whether the server is ready."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/-/ready", timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def free_port() -> int:
    """A port of this machine that is free now."""
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main())
