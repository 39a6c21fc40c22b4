"""The job's scheduler with hosts that only pretend: who is in the job after what failure, under every policy."""

from __future__ import annotations

from dataclasses import replace

import pytest

from argosy.testbed.hosts import TestbedError
from argosy.testbed.policies import controller, timers
from argosy.testbed.policies.controller import Controller
from argosy.testbed.policies.failures import Strike, strikes
from argosy.testbed.policies.settings import ELASTIC, RESTART, SWAP, Settings
from argosy.testbed.policies.upgrade import Upgrade

BASE = Settings(steps=60, interval=8, queue_s=0.01, repair_s=0.1)


class Clock:
    """Time that passes when somebody listens: no test waits, nor depends on how busy the machine is."""

    def __init__(self):
        self.now = 1_000.0

    def monotonic(self):
        return self.now


CLOCK = Clock()


class Line:
    """What the controller holds of one process."""

    def __init__(self, act):
        self.act = act

    def send(self, **message):
        self.act(message)


class Pretended:
    """Hosts whose agents and ranks answer at once; a step is a call of `hear`."""

    def __init__(self, settings):
        self.settings, self.said, self.lives = settings, [], 0
        self.agents, self.ranks, self.plans, self.versions = {}, {}, {}, {}
        self.step, self.saved, self.running, self.leave = 0, 0, False, False
        self.deaf = set()

    def clear(self):
        pass

    def life(self):
        self.lives += 1
        return self.lives

    def start_agent(self, host, life, version, settings, folder):
        self.agents[host], self.versions[host] = life, version
        self._say(host, life, "agent", lambda message: self._start(host, message))

    def _start(self, host, message):
        self.ranks[host] = message["life"]
        self._say(host, message["life"], "rank", lambda order: self._order(host, message["life"], order))

    def _say(self, host, life, say, act=None, **more):
        self.said.append((Line(act), {"say": say, "host": host, "life": life, **more}))

    def _order(self, host, life, order):
        if self.ranks.get(host) != life:
            return  # dead, which nobody knows yet
        if order["do"] == "halt":
            self._say(host, life, "halted")
            self.plans.pop(host, None)
        elif order["do"] == "leave":
            self.leave = True
        else:
            self.plans[host] = order
            if len(self.plans) == order["ranks"]:
                self._begin(order)

    def _begin(self, order):
        if order["source"] == "checkpoint":
            self.step = self.saved
        self.running, self.leave = True, False
        for host, plan in self.plans.items():
            assert plan["generation"] == order["generation"]
            self._say(host, self.ranks[host], "began", generation=plan["generation"], step=self.step)

    def strike(self, host, kills):
        self.running = False
        self.plans.pop(host, None)
        life = self.ranks.pop(host, None)
        if kills == "rank":
            self._say(host, life, "exit")
        else:
            self.agents.pop(host, None)

    def end_rank(self, host):
        self.plans.pop(host, None)
        self.ranks.pop(host, None)

    def end(self, host):
        self.end_rank(host)
        self.agents.pop(host, None)

    def hear(self, seconds):
        CLOCK.now += 0.001
        for host, life in self.agents.items():
            if host not in self.deaf:
                self._say(host, life, "beat")
        if self.running:
            self._work()
        said, self.said = self.said, []
        return said

    def _work(self):
        self.step += 1
        if self.step % self.settings.interval == 0:
            self.saved = self.step
        if self.step < self.settings.steps and not self.leave:
            return
        self.running = False
        say = "done" if self.step >= self.settings.steps else "left"
        for host in list(self.plans):
            self._say(host, self.ranks[host], say)
        self.plans.clear()


@pytest.fixture(autouse=True)
def _pretended_time(monkeypatch):
    monkeypatch.setattr(controller, "MISSED_S", 0.04)
    monkeypatch.setattr(controller, "time", CLOCK)
    monkeypatch.setattr(timers, "time", CLOCK)


def went(settings, failures, tmp_path):
    machines = Pretended(settings)
    one = Controller(machines, settings, failures, tmp_path / "run", 20.0)
    return one.go(), one, machines


def states(run):
    return [name for _, name in run.phases]


def test_without_failures_there_is_one_generation(tmp_path):
    run, _, machines = went(BASE, [], tmp_path)
    assert states(run) == ["running"]
    assert [(begun.step, begun.ranks) for begun in run.begins] == [(0, 4)]
    assert machines.step == 60


@pytest.mark.parametrize("kills", ["rank", "host"])
def test_restart_starts_all_anew_from_the_checkpoint(kills, tmp_path):
    run, one, _ = went(BASE, [Strike(0.02, 1, kills)], tmp_path)
    assert states(run) == ["running", "detection", "queue", "restart", "running"]
    assert run.begins[1].step == run.begins[1].step // 8 * 8
    assert run.started == 8
    assert [failure["by"] for failure in run.failures] == ["exit" if kills == "rank" else "heartbeat"]
    assert 1 not in [host.number for host in one.members]


@pytest.mark.parametrize("kills", ["rank", "host"])
def test_swap_keeps_the_survivors(kills, tmp_path):
    run, one, _ = went(replace(BASE, policy=SWAP), [Strike(0.02, 2, kills)], tmp_path)
    assert states(run) == ["running", "detection", "restart", "running"]
    assert sorted(host.number for host in one.members) == [0, 1, 3, 4]
    assert run.started <= 6  # five at the start; the failed one's, if it came back before the end


def test_without_a_spare_the_job_waits_for_the_repair(tmp_path):
    one = replace(BASE, policy=SWAP, spares=0, repair_s=0.2)
    run, _, _ = went(one, [Strike(0.02, 2, "rank")], tmp_path)
    assert states(run) == ["running", "detection", "spare_wait", "restart", "running"]
    assert [host for host, _, _ in run.returns] == [2]
    again = replace(one, policy=RESTART)
    run, _, _ = went(again, [Strike(0.02, 2, "rank")], tmp_path / "again")
    assert states(run) == ["running", "detection", "spare_wait", "queue", "restart", "running"]


def test_elastic_shrinks_and_grows_without_going_back(tmp_path):
    one = replace(BASE, policy=ELASTIC, spares=0, steps=400, repair_s=0.1)
    run, _, machines = went(one, [Strike(0.02, 1, "rank"), Strike(0.05, 3, "host")], tmp_path)
    assert min(begun.ranks for begun in run.begins) in (2, 3)
    assert run.begins[-1].ranks == 4
    begun = [begun.step for begun in run.begins]
    assert begun == sorted(begun)
    assert run.started == 4 + 2
    assert machines.step == 400


def test_an_empty_place_is_not_hit(tmp_path):
    one = replace(BASE, policy=ELASTIC, spares=0, steps=150, repair_s=5.0)
    run, _, _ = went(one, [Strike(0.02, 1, "rank"), Strike(0.03, 1, "rank")], tmp_path)
    assert len(run.failures) == 1


def test_an_elastic_job_that_loses_all_goes_back_to_the_checkpoint(tmp_path):
    one = replace(BASE, policy=ELASTIC, spares=0, steps=100, repair_s=0.3)
    failures = [Strike(0.02 + 0.005 * slot, slot, "rank") for slot in range(4)]
    run, _, _ = went(one, failures, tmp_path)
    assert len(run.failures) == 4
    assert "spare_wait" in states(run)
    assert run.begins[-1].ranks >= 1


def test_failures_during_a_restart_begin_it_again(tmp_path):
    one = replace(BASE, policy=SWAP, spares=2, steps=80)
    run, _, _ = went(one, [Strike(0.02, 0, "host"), Strike(0.03, 1, "host")], tmp_path)
    assert len(run.failures) == 2
    assert states(run)[-1] == "running"
    assert states(run).count("detection") in (1, 2)


def test_a_host_whose_heartbeats_stop_is_replaced_though_it_lives(tmp_path):
    one = replace(BASE, policy=SWAP, steps=200)
    machines = Pretended(one)
    machines.deaf.add(2)
    run = Controller(machines, one, [], tmp_path / "run", 20.0).go()
    assert run.broken >= 1
    assert machines.step == 200


def test_a_rolling_upgrade_keeps_three_of_four_and_a_pause_keeps_all(tmp_path):
    one = replace(BASE, policy=ELASTIC, spares=0, steps=1_500)
    machines = Pretended(one)
    run = Upgrade(machines, one, tmp_path / "run", 30.0, 0.02, 0.1).go()
    assert machines.versions == {0: 2, 1: 2, 2: 2, 3: 2}
    assert min(count for _, count in run.capacity) == 3
    assert run.capacity[-1][1] == 4
    assert [count for _, count in run.capacity].count(3) == 4
    assert not run.failures
    assert states(run).count("maintenance") == 1
    assert states(run)[-1] == "running"
    assert run.started == 8  # four at the start, four changed; none for the pause


def test_a_job_that_does_not_end_is_ended(tmp_path):
    machines = Pretended(BASE)
    machines._work = lambda: None
    with pytest.raises(TestbedError, match="did not end in its time"):
        Controller(machines, BASE, [], tmp_path / "run", 0.2).go()


@pytest.mark.parametrize("policy", [RESTART, SWAP, ELASTIC])
def test_failures_at_any_moment_do_not_stop_it(policy, tmp_path):
    one = replace(BASE, policy=policy, spares=0 if policy == ELASTIC else 1, steps=600, anywhere=True)
    failures = strikes(0.08, 4, seed=7, most=200)
    run, _, machines = went(one, failures, tmp_path)
    assert len(run.failures) >= 4
    assert machines.step == 600
    assert all(one["found_s"] is not None for one in run.failures)
