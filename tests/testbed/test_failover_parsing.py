"""HAProxy's configuration, log and statistics; replicas' books; users' rows."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from argosy.testbed.failover import measured, proxy
from argosy.testbed.failover.measured import Answers
from argosy.testbed.failover.replica import BUSY, OK, Replica
from argosy.testbed.failover.stage import haproxy
from argosy.testbed.failover.trace import Checks
from argosy.testbed.hosts import TestbedError

SERVERS = ["10.0.0.3:8080", "10.0.0.4:8080"]


@pytest.mark.parametrize("policy", proxy.POLICIES)
def test_haproxy_takes_the_configuration(policy, tmp_path):
    program = shutil.which("haproxy", path="/usr/sbin:/usr/bin:/sbin")
    if program is None:
        pytest.skip("haproxy is not installed")
    path = tmp_path / "haproxy.cfg"
    path.write_text(proxy.configuration("127.0.0.1:18080", SERVERS, tmp_path, policy, Checks(), 4))
    told = subprocess.run([program, "-c", "-f", str(path)], capture_output=True, text=True)
    assert told.returncode == 0, told.stdout + told.stderr


def test_a_queue_in_the_proxy_limits_its_servers():
    def server_line(slots):
        text = proxy.configuration("a:1", SERVERS, Path("/x"), "least-work", Checks(0.25, 4, 3), slots)
        return next(line for line in text.splitlines() if "default-server" in line)

    assert server_line(None).endswith("inter 250ms fall 4 rise 3 weight 100")
    assert server_line(4).endswith("maxconn 4")


def test_a_request_that_was_tried_again_on_another_replica():
    found = proxy.parsed("R 379 r1 200 +2 26 1 114 141 ----", 5.0)
    assert found == proxy.Passed(379, "r1", 200, 2, True, 0.026, 0.001, 0.114, 0.141, "----")
    assert proxy.parsed("R 5 r2 200 0 0 0 9 10 ----", 0.0).redispatched is False


def test_a_replica_found_down_with_the_prefix_of_syslog():
    text = (
        "<129>Nov 30 02:33:01 haproxy[71]: Server replicas/r2 is DOWN, reason: Layer4 connection problem, "
        'info: "Connection refused", check duration: 0ms. 3 active and 0 backup servers left.'
    )
    found = proxy.parsed(text, 7.5)
    assert (found.at, found.server, found.up) == (7.5, "r2", False)
    assert "Connection refused" in found.reason
    assert proxy.parsed("Server replicas/r2 is UP, reason: Layer7 check passed", 8.0).up


@pytest.mark.parametrize(
    "text", ["", "Proxy users started.", "R - r1 200 0 0 0 1 1 ----", "R 5 r1", "Server other/r2 is DOWN, x"]
)
def test_other_messages_are_passed_over(text):
    assert proxy.parsed(text, 0.0) is None


def test_statistics_by_name():
    text = (
        "# pxname,svname,qcur,qmax,scur,smax,status\n"
        "users,FRONTEND,,,7,9,OPEN\nreplicas,r1,0,0,3,4,UP 1/2\nreplicas,r2,1,2,0,4,DRAIN\n"
        "replicas,BACKEND,5,6,7,8,UP\nstats,FRONTEND,,,1,1,OPEN\n"
    )
    found = proxy.seen(text)
    assert found["users"] == proxy.Seen(7, 0, "OPEN")
    assert found["replicas"].queued == 5
    assert found["r1"].up and not found["r2"].up


def test_first_turn_since_a_moment(tmp_path):
    turns = proxy.Turns(tmp_path / "log")
    turns.found += [
        proxy.Turned(1.0, "r1", False, ""),
        proxy.Turned(2.0, "r1", True, ""),
        proxy.Turned(3.0, "r1", False, ""),
    ]
    assert turns.first("r1", False, 1.5).at == 3.0
    assert turns.first("r2", False, 0.0) is None
    turns.start()
    turns.close()


def test_without_haproxy_it_is_said_what_to_type(monkeypatch):
    monkeypatch.setattr("argosy.testbed.failover.stage.machine.program", lambda name: None)
    with pytest.raises(TestbedError, match="apt-get install"):
        haproxy()


def test_a_book_cut_off_by_a_kill():
    found = measured.book("s 1\nq 1.0 0\nr 7 1.1 1.2 1.5\nq 1.05 1\nr 8 1.3 1.")
    assert found.served.tolist() == [[7.0, 1.1, 1.2, 1.5]]
    assert found.samples.tolist() == [[1.0, 0.0], [1.05, 1.0]]
    assert measured.book("").served.shape == (0, 4)


def test_littles_law_on_requests_of_known_length():
    # two requests of 1 s and one of 2 s in 4 s: λT = 4/4 = 1; samples of 10 ms see the same
    came, gone = np.array([0.0, 0.5, 2.0]), np.array([1.0, 1.5, 4.0])
    at = np.arange(0, 4, 0.01)
    inside = measured.inside_over_time(came, gone, at)
    found = measured.little(at, inside, gone - came, 0.0, 4.0)
    assert found.product == pytest.approx(1.0)
    assert found.inside == pytest.approx(1.0, abs=0.02)
    with pytest.raises(ValueError, match="too few"):
        measured.little(at, inside, gone - came, 9.0, 10.0)


def test_the_replicas_together_are_the_sum_of_each():
    books = [
        measured.Book(np.array([[0, 0.0, 0.0, 1.0]]), np.array([[0.0, 1], [1.0, 0]])),
        measured.Book(np.array([[1, 0.0, 0.0, 2.0]]), np.array([[0.0, 1], [1.0, 1]])),
        measured.Book(np.empty((0, 4)), np.empty((0, 2))),
    ]
    found = measured.of_replicas(books, 0.0, 2.0)
    assert (found.inside, found.rate, found.time_s) == pytest.approx((1.5, 1.0, 1.5))


def answers(rows):
    return Answers.of({"rows": rows, "samples": [[0.0, 0], [0.02, 1]]})


def test_time_counts_from_when_a_request_was_due():
    found = answers(
        [[0, 1.0, 1.5, 2.0, 200, "1"], [1, 1.1, 1.1, 1.4, 503, "2"], [2, 1.2, 1.2, 9.0, 0, "OSError"]]
    )
    assert found.time_s.tolist() == pytest.approx([1.0, 0.3, 7.8])
    assert (found.errors, found.late_s) == (2, pytest.approx(0.5))
    with pytest.raises(ValueError, match="once"):
        answers([[0, 1.0, 1.0, 2.0, 200, "1"], [2, 1.0, 1.0, 2.0, 200, "1"]])


def test_a_sampler_that_overslept():
    steady, late = np.arange(0, 10, 0.05), np.array([0.0, 0.05, 1.105, 2.0, 2.05])
    assert measured.stalled([steady], 0.05) == 0.0
    assert measured.stalled([steady, late], 0.05) == pytest.approx((1.0 + 0.84) / 2.05)
    assert measured.stalled([], 0.05) == 0.0


class Handle:
    """What a replica wrote."""

    def __init__(self, tmp_path):
        self.path = tmp_path / "book"
        self.file = self.path.open("w")

    def read(self):
        return measured.book(self.path.read_text())


def test_a_replica_serves_in_order_and_sheds_beyond_its_queue(tmp_path):
    handle = Handle(tmp_path)
    replica = Replica(1, 1, "1", handle.file.fileno())

    async def run():
        return await asyncio.gather(*(replica.serve(str(number), 0.01) for number in range(3)))

    assert asyncio.run(run()) == [OK, OK, BUSY]
    handle.file.close()
    served = handle.read().served
    assert served[:, 0].tolist() == [0.0, 1.0]
    assert served[1, 2] >= served[0, 3] - 0.001  # the second begins when the first ends
    assert replica.inside == 0 and replica.free == 1 and replica.idle.is_set()
