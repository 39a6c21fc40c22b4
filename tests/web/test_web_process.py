"""`argosy web` as a process: one address said, a taken port told, and nothing left behind when it ends."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

FORM = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.log"\r\n\r\n%s\r\n--x--\r\n'
LINES = b"\n".join(
    b" iteration %8d/  100 | elapsed time per iteration (ms): 5000.0 | lm loss: 2.0E+00 |" % number
    for number in range(20)
)


def started(port, *more, folder=None):
    return subprocess.Popen(
        [sys.executable, "-m", "argosy", "web", "--port", str(port), *more],
        stderr=subprocess.PIPE,
        text=True,
        env=None if folder is None else {"TMPDIR": str(folder), "PATH": "/usr/bin:/bin"},
    )


@pytest.fixture
def port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def children(pid):
    return [
        int(each)
        for task in Path(f"/proc/{pid}/task").iterdir()
        for each in (task / "children").read_text().split()
    ]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are found in /proc")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_it_ends_with_its_workers_and_the_files_it_kept(port, tmp_path, how):
    with started(port, folder=tmp_path) as server:
        assert server.stderr.readline().startswith(f"argosy: http://127.0.0.1:{port}/")
        address = f"http://127.0.0.1:{port}/api/diagnose"
        request = urllib.request.Request(
            address, FORM % LINES, {"content-type": "multipart/form-data; boundary=x"}
        )
        with urllib.request.urlopen(request, timeout=120) as answer:
            assert answer.status == 200
        assert list(tmp_path.glob("argosy-diagnose-*"))
        workers = children(server.pid)
        assert len(workers) >= 2
        server.send_signal(how)
        assert (
            server.stderr.read() == "" or how is signal.SIGKILL
        )  # its end says nothing; this waits for the workers' too
        server.wait(timeout=30)
        assert not [
            each
            for each in workers
            if Path(f"/proc/{each}/cmdline").exists() and Path(f"/proc/{each}/cmdline").read_bytes()
        ]
        if how is not signal.SIGKILL:
            assert server.returncode == 0 and not list(tmp_path.glob("argosy-diagnose-*"))


def test_a_port_in_use_is_one_message(port):
    with socket.create_server(("127.0.0.1", port)), started(port) as server:
        said = server.communicate(timeout=60)[1]
    assert server.returncode == 1
    assert f"127.0.0.1:{port}: address already in use; give another --port" in said and "http://" not in said
