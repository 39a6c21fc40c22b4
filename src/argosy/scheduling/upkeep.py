"""The life of nodes: failures with replacement inside a gang, drains, maintenance, rolling upgrades."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import numpy as np

from argosy.kernels import placement
from argosy.scheduling import state as events
from argosy.scheduling.jobs import ELASTIC, SERVICE
from argosy.scheduling.life import LEAVING, PENDING, RUNNING, Life
from argosy.scheduling.machine import AWAY, DOWN, DRAINING, UP, Places
from argosy.scheduling.outages import Outages, Planned, Random, Upgrade
from argosy.scheduling.outcome import CODE

if TYPE_CHECKING:
    from argosy.scheduling.engine import Simulation


def plan(sim: Simulation, failures: Outages | Random, seed: int = 0) -> None:
    """Notes all that will happen to nodes."""
    tended = sim.tended
    tended.planned, tended.coming = failures.planned, failures.upgrades
    for number, planned in enumerate(failures.planned):
        sim.at(planned.start_s, events.PLANNED, number)
    for number, upgrade in enumerate(failures.upgrades):
        sim.at(upgrade.start_s, events.UPGRADE, number)
    if isinstance(failures, Outages):
        for at, node, away in zip(failures.at_s, failures.node, failures.away_s, strict=True):
            sim.at(float(at), events.DOWN, int(node), float(away))
    elif failures.per_s > 0:
        tended.random, tended.luck = failures, np.random.default_rng([seed, 1010])
        _next_failure(sim)


def _next_failure(sim: Simulation) -> None:
    random, luck = sim.tended.random, sim.tended.luck
    if random is None or luck is None:
        return
    wait = luck.exponential(1.0 / random.per_s)
    node, away = int(luck.integers(0, sim.cluster.nodes)), luck.exponential(random.repair_s)
    sim.at(sim.now + wait, events.DOWN, node, away)


def handle(sim: Simulation, event: int, subject: int, detail: float) -> None:
    """One event of nodes."""
    sim.anew = True
    if event == events.DOWN:
        if sim.machine.state[subject] in (UP, DRAINING):
            _fail(sim, subject, detail)
        _next_failure(sim)
    elif event == events.UP:
        _come_up(sim, subject)
    elif event == events.PLANNED:
        _drain(sim, sim.tended.planned[subject])
    elif event == events.PATIENCE:
        if subject in sim.tended.draining:
            sim.tended.impatient.add(subject)
    elif event == events.UPGRADE:
        upgrade = sim.tended.coming[subject]
        sim.tended.upgrades.append((upgrade, list(range(sim.cluster.nodes - 1, -1, -1)), set()))


def _fail(sim: Simulation, node: int, away_s: float) -> None:
    sim.log.node(sim.now, CODE["node-down"], node)
    sim.tended.draining.pop(node, None)
    sim.tended.impatient.discard(node)
    struck = [sim.lives[index] for index in sorted(sim.on_node[node])]
    sim.machine.set_state(node, DOWN)
    torn = [life for life in struck if _strike(sim, life, node)]
    for (
        life
    ) in torn:  # only now, that nobody is placed on the failed node or counts on what another one loses
        _mend(sim, life)
    if away_s < inf:
        sim.at(sim.now + away_s, events.UP, node)


def _come_up(sim: Simulation, node: int) -> None:
    sim.machine.set_state(node, UP)
    sim.log.node(sim.now, CODE["node-up"], node)
    for _, _, out in sim.tended.upgrades:
        out.discard(node)


def on(life: Life, node: int) -> Places:
    """The part of a job's places that is on a node."""
    assert life.places is not None
    amount = life.places.amounts[life.places.nodes == node]
    size = int(life.places.amounts.sum()) // life.places.workers
    return Places(np.array([node]), amount, int(amount[0]) // size)


def _strike(sim: Simulation, life: Life, node: int) -> bool:
    """A node fails under a job. True where the rest of it stands, and waits to be mended."""
    life.settle(sim.now)
    here = life.places is not None and bool((life.places.nodes == node).any())
    if life.state == PENDING:  # it only held places
        sim.drop_places(life, on(life, node))
        if life.places is None:
            sim.let_go(life)
        return False
    if life.old is not None or not here or life.places.steps:  # type: ignore[union-attr]
        return _lost(sim, life)
    part = on(life, node)
    left = life.workers - part.workers
    if left == 0:
        return _lost(sim, life)
    if life.state == LEAVING:
        life.fall_back()
        sim.drop_places(life, part)
        return False
    fewest = 1 if life.job.kind == SERVICE else max(life.job.elastic_min, 1)
    if life.job.kind == SERVICE or (life.job.kind == ELASTIC and left >= fewest):
        sim.drop_places(life, part)
        if life.job.kind == ELASTIC:
            life.pause(sim.now, sim.policy.detection_s + life.job.resize_s, "restart")
        sim.replan(life)
        return False
    life.fall_back()
    life.restarts += 1
    sim.drop_places(life, part)
    return True


def _lost(sim: Simulation, life: Life) -> bool:
    """Nothing of the job stands any more (or it was on the move): back to the queue."""
    life.fall_back()
    life.restarts += 1
    sim.stop(life, "fail")
    sim.enqueue(life)
    return False


def _mend(sim: Simulation, life: Life) -> None:
    """A gang that lost workers gets others in place, or holds what it has until the failure is known, and is requeued."""
    policy, job = sim.policy, life.job
    assert life.option is not None
    missing = (life.option.fewest if job.kind == ELASTIC else life.option.workers) - life.workers
    more = more_places(sim, life, missing) if policy.replace else None
    life.phases.clear()
    if more is None:
        if policy.detection_s > 0:
            sim.linger(life, policy.detection_s, "restart", "fail")
        else:
            sim.stop(life, "fail")
            sim.enqueue(life)
        return
    sim.add_places(life, more, "grow")
    life.pause(sim.now, policy.detection_s + job.restart_s, "restart")
    sim.replan(life)


def more_places(sim: Simulation, life: Life, workers: int) -> Places | None:
    """Places for so many further workers of a running job, which keep to its topology; None where there are none."""
    assert life.option is not None and life.places is not None
    machine, request = sim.machine, life.option.of(workers)
    limit = machine.limit(life.shape.cpus, life.shape.memory)
    level = int(request[placement.LEVEL])
    if level == placement.ANY:
        return sim.placer.put(machine.free, request, limit)
    group = machine.groups[placement.LEAF if level == placement.LEAVES else level]
    used = np.unique(group[life.places.nodes])
    request[placement.LEVEL] = placement.ANY
    near = sim.placer.put(np.where(np.isin(group, used), machine.free, 0), request, limit)
    spare = int(request[placement.COUNT]) - len(used)
    if near is not None or level != placement.LEAVES or spare <= 0:
        return near
    request[placement.LEVEL], request[placement.COUNT] = placement.LEAVES, spare
    return sim.placer.put(np.where(np.isin(group, used), 0, machine.free), request, limit)


def _drain(sim: Simulation, planned: Planned) -> None:
    node = planned.node
    if sim.machine.state[node] != UP:
        return  # it is away already
    sim.machine.set_state(node, DRAINING)
    sim.log.node(sim.now, CODE["node-drain"], node)
    sim.tended.draining[node] = planned
    if planned.patience_s < inf:
        sim.at(sim.now + planned.patience_s, events.PATIENCE, node)


def tend(sim: Simulation) -> None:
    """Goes on with what is planned: next nodes of upgrades, moving services off, closing what is empty."""
    tended = sim.tended
    for upgrade in list(tended.upgrades):
        _next_of_upgrade(sim, upgrade)
        if not upgrade[1] and not upgrade[2]:
            tended.upgrades.remove(upgrade)
    for node in list(tended.draining):
        for index in sorted(sim.on_node[node]):
            _move_off(sim, sim.lives[index], node)
        if not sim.on_node[node]:
            _close(sim, node)


def _next_of_upgrade(sim: Simulation, under_way: tuple[Upgrade, list[int], set[int]]) -> None:
    upgrade, coming, out = under_way
    state = sim.machine.state
    most = int((1.0 - upgrade.capacity_floor) * len(state) + 1e-9)
    while coming:
        node = coming[-1]
        if state[node] == DOWN:  # it comes back from repair upgraded
            coming.pop()
            continue
        if out and int((state != UP).sum()) >= most:
            return
        if state[node] != UP:
            return  # on its way out for something else: it is next when it is back
        coming.pop()
        out.add(node)
        _drain(sim, Planned(sim.now, node, upgrade.lasts_s, upgrade.patience_s))


def _close(sim: Simulation, node: int) -> None:
    planned = sim.tended.draining.pop(node)
    sim.tended.impatient.discard(node)
    sim.machine.set_state(node, AWAY)
    sim.log.node(sim.now, CODE["node-maintenance"], node)
    if planned.lasts_s < inf:
        sim.at(sim.now + planned.lasts_s, events.UP, node)


def _move_off(sim: Simulation, life: Life, node: int) -> None:
    """A job on a draining node: services move or thin out down to their floor, elastic jobs to their fewest; others end, or are
    evicted when patience is over."""
    if life.state == PENDING:
        sim.let_go(life)
        return
    if life.state != RUNNING or life.old is not None:
        return
    life.settle(sim.now)
    impatient = node in sim.tended.impatient
    if life.job.kind in (SERVICE, ELASTIC):
        part = on(life, node)
        if life.job.kind == SERVICE:
            more = more_places(sim, life, part.workers)
            if more is not None:
                sim.add_places(life, more, "grow")
                sim.drop_places(life, part)
                sim.replan(life)
                return
        fewest = max(life.job.floor if life.job.kind == SERVICE else life.job.elastic_min, 1)
        if life.workers - part.workers >= fewest:
            sim.drop_places(life, part)
            if life.job.kind == ELASTIC:
                life.pause(sim.now, life.job.resize_s, "restart")
            sim.replan(life)
            return
        if life.job.kind == SERVICE:
            return
    if impatient:
        sim.leave(life, "preempt")
