"""DCGM's metrics from text and from a server's HTTP API: values, traps, and servers that misbehave."""

from __future__ import annotations

import importlib.util
import json
import math
import shutil
import sys
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path

import pytest

from argosy.observe.readers import prometheus_server, prometheus_text

TOOL = Path(__file__).parents[2] / "tools/verify_prometheus"
GPU = 'gpu="{}",UUID="GPU-{}",pci_bus_id="00000000:0{}:00.0",Hostname="n1"'
PAGE = f"""# HELP DCGM_FI_DEV_GPU_TEMP GPU temperature (in C).
# TYPE DCGM_FI_DEV_GPU_TEMP gauge
DCGM_FI_DEV_GPU_TEMP{{{GPU.format(0, "a", 1)}}} 41 1772366400000
DCGM_FI_DEV_GPU_TEMP{{{GPU.format(1, "b", 2)},GPU_I_PROFILE="3g.40gb",GPU_I_ID="7"}} 50
DCGM_FI_DEV_GPU_TEMP{{{GPU.format(1, "b", 2)},GPU_I_PROFILE="3g.40gb",GPU_I_ID="8",pod="x"}} 50
DCGM_FI_PROF_SM_ACTIVE{{{GPU.format(1, "b", 2)},GPU_I_ID="7"}} 0.25
DCGM_FI_PROF_SM_ACTIVE{{{GPU.format(1, "b", 2)},GPU_I_ID="8"}} 0.75
# TYPE DCGM_FI_DEV_XID_ERRORS gauge
DCGM_FI_DEV_XID_ERRORS{{{GPU.format(0, "a", 1)},err_msg="say \\"no\\" \\\\ and\\nagain"}} 79
DCGM_FI_DEV_XID_ERRORS{{{GPU.format(1, "b", 2)}}} 0
DCGM_FI_DEV_FB_USED{{gpu="0"}} NaN
DCGM_FI_DEV_POWER_USAGE{{gpu="0"}} 9.223372036854775794e18
DCGM_FI_DEV_POWER_USAGE{{gpu="1"}} +Inf
up 1 # {{trace_id="x"}} 1.0
this is no sample
"""


@pytest.fixture
def text(tmp_path):
    def read(content: str):
        path = tmp_path / "metrics.prom"
        path.write_text(content, encoding="utf-8")
        assert prometheus_text.looks_like(content.encode()[: 64 << 10], path)
        return prometheus_text.read(path)

    return read


def by_metric(batch, metric):
    return [each for each in batch.series if each.metric == metric]


def test_a_scrape(text):
    batch = text(PAGE)
    temperature = by_metric(batch, "DCGM_FI_DEV_GPU_TEMP")
    assert [(each.labels["gpu"], each.value.tolist()) for each in temperature] == [
        ("0", [41.0]),
        ("1", [50.0]),
    ]
    assert temperature[0].time_s.tolist() == [1772366400.0] and math.isnan(temperature[1].time_s[0])
    assert [each.value.tolist() for each in by_metric(batch, "DCGM_FI_PROF_SM_ACTIVE")] == [[0.25], [0.75]]
    assert by_metric(batch, "DCGM_FI_DEV_XID_ERRORS")[0].labels["err_msg"] == 'say "no" \\ and\nagain'
    assert not by_metric(batch, "DCGM_FI_DEV_FB_USED") and not by_metric(batch, "DCGM_FI_DEV_POWER_USAGE")
    assert by_metric(batch, "up")[0].value.tolist() == [1.0]
    (held,) = batch.faults
    assert (held.code, held.kind, held.node, held.pci) == (79, "fallen-off-bus", "n1", "0000:01:00")
    assert math.isnan(held.time_s)  # it may be days old
    messages = [problem.message for problem in batch.input.problems]
    assert batch.input.status == "partial" and batch.input.problems[0].line == 15
    assert any("1 values are DCGM's blanks" in each for each in messages)
    assert any("2 values are NaN" in each for each in messages)


def test_several_scrapes_in_one_file(text):
    name = f"DCGM_FI_DEV_XID_ERRORS{{{GPU.format(0, 'a', 1)}}}"
    pages = [
        f"# 2026-03-01T12:0{i}:00\n# TYPE DCGM_FI_DEV_XID_ERRORS gauge\n" + f"{name} {code}\n"
        for i, code in enumerate((0, 79, 79, 48))
    ]
    batch = text("".join(pages))
    (series,) = batch.series
    assert series.value.tolist() == [0, 79, 79, 48] and series.time_s[1] - series.time_s[0] == 60
    assert [(event.code, event.time_s) for event in batch.faults] == [
        (79, series.time_s[1]),
        (48, series.time_s[3]),
    ]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 100,
        b"# TYPE a gauge\n" + b"a{" + b'b="' * 50000,
        b"# TYPE a gauge\na 1e999\na nan\na 0x1\n",
        b"a 1 " + b"9" * 400,
    ],
)
def test_hostile_text(tmp_path, content):
    path = tmp_path / "a"
    path.write_bytes(content)
    prometheus_text.looks_like(content, path)
    assert prometheus_text.read(path).input.status in ("unreadable", "partial", "read")


class Server:
    """Answers as `answers` says: path → (status, body)."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, bytes]] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                parts = urllib.parse.urlsplit(self.path)
                outer.asked.append((parts.path, dict(urllib.parse.parse_qsl(parts.query))))
                status, body = outer.answers.get(parts.path, (404, b"no"))
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *arguments: object) -> None:
                """Quiet."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def say(self, what: str, data: object) -> None:
        body = json.dumps({"status": "success", "data": data}).encode()
        self.answers[f"/api/v1/{what}"] = (200, body)


@pytest.fixture
def server():
    one = Server()
    yield one
    one.http.shutdown()
    one.http.server_close()


LABELS = {
    "__name__": "DCGM_FI_DEV_XID_ERRORS",
    "gpu": "0",
    "Hostname": "n1",
    "pci_bus_id": "00000000:01:00.0",
}


def test_a_server_is_read_over_a_window(server):
    server.say("series", [LABELS])
    server.say(
        "query_range",
        {
            "resultType": "matrix",
            "result": [{"metric": LABELS, "values": [[1000, "0"], [1015, "79"], [1030, "79"]]}],
        },
    )
    batch = prometheus_server.read_server(
        f"prometheus://user:word@{server.address}/?start=1000&end=1030&step=15"
    )
    assert (
        batch.input.status == "read" and batch.input.path == f"http://{server.address}"
    )  # without the password
    assert batch.series[0].value.tolist() == [0, 79, 79] and batch.series[0].labels["gpu"] == "0"
    assert [(event.code, event.time_s, event.node) for event in batch.faults] == [(79, 1015.0, "n1")]
    path, asked = server.asked[1]
    assert path == "/api/v1/query_range" and asked == {
        "query": LABELS["__name__"],
        "start": "1000.000",
        "end": "1030.000",
        "step": "15.000",
    }


def test_long_windows_are_asked_for_in_parts(server):
    server.say("series", [LABELS])
    server.say("query_range", {"result": []})
    prometheus_server.read_server(f"http://{server.address}?start=1000&end=1000000&step=15")
    asked = [query for path, query in server.asked if path.endswith("query_range")]
    spans = [(float(each["start"]), float(each["end"])) for each in asked]
    assert len(asked) == 7 and spans[0][0] == 1000 and spans[-1][1] == 1000000
    assert all(end - start <= 11_000 * 15 for start, end in spans)
    assert all(after[0] - before[1] == 15 for before, after in pairwise(spans))


WRONG = {
    "error": (400, b'{"status":"error","errorType":"bad_data","error":"parse error: unexpected"}'),
    "html": (200, b"<html>login</html>"),
    "no json": (200, b'{"status":'),
    "deep": (200, b"[" * 100_000),
    "other json": (200, b'{"status":"success","data":{"a":1}}'),
    "digits": (200, b'{"status":"success","data":' + b"9" * 5000 + b"}"),
    "absent": (404, b"not found"),
}


@pytest.mark.parametrize("answer", WRONG.values(), ids=list(WRONG))
@pytest.mark.parametrize("what", ["series", "query_range"])
def test_servers_that_misbehave_are_told(server, what, answer):
    server.say("series", [LABELS])
    server.answers[f"/api/v1/{what}"] = answer
    batch = prometheus_server.read_server(f"http://{server.address}")
    assert batch.input.status == "unreadable" and batch.input.problems and not batch.series


@pytest.mark.parametrize(
    "values",
    [[[1, "x"]], [["a", "1"]], [1], [[]], [[None, None]], "text", [[1, "NaN"], [2, "9223372036854775794"]]],
)
def test_values_that_are_none(server, values):
    server.say("series", [LABELS])
    server.say("query_range", {"result": [{"metric": LABELS, "values": values}]})
    batch = prometheus_server.read_server(f"http://{server.address}")
    assert batch.input.status == "unreadable" and batch.input.problems


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("http://127.0.0.1:1", "cannot be reached"),
        ("http://", "write for example"),
        ("http://a:b", "no port number"),
        ("http://a?begin=1", "'begin' means nothing"),
        ("http://a?start=yesterday", "start=yesterday"),
        ("http://a?start=20&end=10", "start is not before"),
        ("http://a?step=-1", "seconds, such as 30"),
    ],
)
def test_addresses_that_cannot_be_used(address, words):
    assert prometheus_server.is_address(address)
    batch = prometheus_server.read_server(address)
    assert batch.input.status == "unreadable" and words in batch.input.problems[0].message


def test_a_server_is_asked_for_the_time_of_the_logs(server, tmp_path):
    from argosy.observe.diagnosis import diagnose

    server.say("series", [LABELS])
    server.say("query_range", {"result": [{"metric": LABELS, "values": [[1772366400, "0"]]}]})
    log = tmp_path / "train.log"
    rows = [
        f"[2026-03-01 12:0{i}:00] iteration {i}/ 9 | elapsed time per iteration (ms): 60000.0 |\n"
        for i in range(1, 6)
    ]
    log.write_text("".join(rows), encoding="utf-8")
    diagnose([str(log), f"http://{server.address}"])
    path, asked = server.asked[0]
    assert (
        path == "/api/v1/series"
        and float(asked["start"]) == 1772366460 - 600
        and float(asked["end"]) == 1772366700 + 600
    )


def test_paths_are_no_addresses():
    assert not any(
        prometheus_server.is_address(each) for each in ("a/b", "file:///etc/passwd", "http:/x", "C:\\x", "")
    )


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("prometheus") is None, reason="no Prometheus server here: make verify-prometheus installs it"
)
def test_a_real_server(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(TOOL), *sys.path])
    spec = importlib.util.spec_from_file_location("verify_prometheus", TOOL / "__main__.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tool.check(tmp_path) == []


def test_the_default_counters_of_dcgm_exporter_are_asked_for(shared_directory):
    import re

    wanted = re.compile(prometheus_server.MATCH.split('"')[1])
    lines = (shared_directory / "samples/dcgm/default-counters.csv").read_text(encoding="utf-8").splitlines()
    names = [line.strip("# ").split(",")[0].strip() for line in lines if "DCGM_" in line and "," in line]
    assert len(names) > 40 and all(wanted.fullmatch(name) for name in names)
