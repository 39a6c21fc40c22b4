"""Namespaces: what is left behind is found and taken away; a real run where root may make them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace

import pytest

from argosy.testbed import experiment, hosts
from argosy.testbed.fabrics import Case, fabric, one_group, pair
from argosy.testbed.namespaces import FOLDER, counters
from argosy.testbed.predict import Baseline
from argosy.testbed.wiring import Wiring


@pytest.fixture(scope="module")
def real():
    """Skips where namespaces cannot be had."""
    reason = hosts.why_not()
    if reason:
        pytest.skip(reason)


def own():
    """Namespaces of this process."""
    prefix = f"argosy-{os.getpid()}-"
    return [path.name for path in FOLDER.iterdir() if path.name.startswith(prefix)] if FOLDER.is_dir() else []


def test_only_our_dead_are_leftovers():
    names = ["argosy-10-host-1", "argosy-11-leaf-1", "argosy-x-host-1", "other-10-host-1", "argosy-10-leaf-1"]
    assert hosts.leftovers(names, lambda number: number == 11) == ["argosy-10-host-1", "argosy-10-leaf-1"]


def test_a_failing_program_is_told_with_what_it_said(monkeypatch, tmp_path):
    broken = tmp_path / "ip"
    broken.write_text("#!/bin/sh\necho no such thing >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(hosts, "program", lambda name: str(broken))
    with pytest.raises(hosts.TestbedError, match="no such thing"):
        hosts.batch("ip", ["link add"])
    assert "no such thing" in hosts.why_not()


def test_missing_programs_are_named(monkeypatch):
    monkeypatch.setattr(hosts, "program", lambda name: None if name == "tc" else name)
    assert hosts.why_not() == "no tc: install iproute2"


def test_without_namespaces_the_loopback_is_said(monkeypatch):
    monkeypatch.setattr(hosts, "why_not", lambda: "not permitted")
    monkeypatch.setattr(
        experiment,
        "run_ranks",
        lambda one, seats, cases, repeats: [{"times_s": [0.1], "right": True} for _ in cases],
    )
    answer = experiment.collectives([fabric("flat", 1 << 20)])
    assert (answer["hosts"], answer["reason"]) == ("loopback", "not permitted")
    assert all(row["predicted_time_s"] is None for row in answer["rows"])


def test_hosts_are_gone_after_an_exception(real):
    with pytest.raises(RuntimeError, match="stop"), hosts.Hosts(Wiring.of(pair())) as made:
        assert sorted(own()) == sorted(made.namespaces)
        assert set(counters(made.namespaces)[made.namespaces[0]]) == {"lo", "eth0", "ctl0"}
        raise RuntimeError("stop")
    assert own() == []


KILLED = """
import sys, time
from argosy.testbed.fabrics import pair
from argosy.testbed.hosts import Hosts
from argosy.testbed.wiring import Wiring
with Hosts(Wiring.of(pair())) as made:
    print(made.prefix, flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGKILL])
def test_what_a_killed_run_left_is_taken_away(real, sign):
    process = subprocess.Popen([sys.executable, "-c", KILLED], stdout=subprocess.PIPE, text=True)
    prefix = process.stdout.readline().strip()
    process.stdout.close()
    assert [path for path in FOLDER.iterdir() if path.name.startswith(prefix)]
    process.send_signal(sign)
    process.wait(timeout=30)
    left = [path for path in FOLDER.iterdir() if path.name.startswith(prefix)]
    assert bool(left) == (sign == signal.SIGKILL)
    hosts.clean()
    assert not [path for path in FOLDER.iterdir() if path.name.startswith(prefix)]


def test_a_small_ring_really_runs(real):
    pytest.importorskip("mpi4py")
    one = replace(fabric("rail", 1 << 20), cases=(Case("ring", 256 << 10, one_group(8)),))
    base = Baseline(0.99, 0.001)
    (row,) = experiment.measure(one, base, repeats=1)
    assert row["sums_right"] and row["dropped_packets"] == 0
    assert row["bytes_over_predicted"]["min"] >= 1.0 and row["bytes_over_predicted"]["max"] < 1.1
    assert json.dumps(row)
    assert own() == []


CONNECT = """
import socket, sys, time
from argosy.testbed.namespaces import enter
enter(sys.argv[1])
start = time.monotonic()
try:
    socket.create_connection((sys.argv[2], 9), timeout=float(sys.argv[3]))
except (ConnectionRefusedError, TimeoutError) as error:
    print(type(error).__name__, time.monotonic() - start)
"""


def connected(one, seconds):
    """What comes of a connection from the first host to the second, and after how long."""
    with hosts.Hosts(Wiring.of(one)) as made:
        words = [sys.executable, "-c", CONNECT, made.namespace(0), "10.10.0.2", str(seconds)]
        told = subprocess.run(words, capture_output=True, text=True, timeout=60)
    name, took = told.stdout.split()
    return name, float(took)


def test_a_long_cable_takes_its_time(real):
    name, took = connected(replace(pair(), delay_s={0: 0.05}), 30)
    assert name == "ConnectionRefusedError"
    assert took >= 0.1  # there and back, whatever else the machine does


def test_a_cable_may_lose_what_it_carries(real):
    assert connected(replace(pair(), loss={0: 1.0}), 0.3)[0] == "TimeoutError"
    assert connected(replace(pair(), loss={0: 0.0}), 30)[0] == "ConnectionRefusedError"


def test_the_plans_of_killed_runs_are_taken_away(monkeypatch, tmp_path):
    monkeypatch.setattr(hosts.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(hosts, "FOLDER", tmp_path / "none")
    gone, kept = tmp_path / "argosy-999999999-testbed-x", tmp_path / f"argosy-{os.getpid()}-testbed-x"
    gone.mkdir()
    kept.mkdir()
    hosts.clean()
    assert kept.exists() and not gone.exists()
