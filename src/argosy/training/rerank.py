"""The best few layouts of a search, ordered anew by the event simulation of their pipeline schedules.

The closed form ranks all layouts; among those that it cannot tell apart, the simulation sees what it does not:
chunks that differ in size, and ramps of uneven stages. The answer stays the closed form's, which is what the
published measurements validate; the simulated time stands beside it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from argosy.training.communication import Network
from argosy.training.device import Device
from argosy.training.job import Job
from argosy.training.search import Search
from argosy.training.stack import Stack
from argosy.training.timeline import simulate_layout


def by_schedule(found: Search, job: Job, device: Device, network: Network, stack: Stack) -> Search:
    """The search with its ties ordered by simulated step time; unchanged where fewer than two have a pipeline.

    A layout's simulated step is its step with the pipeline's closed form replaced by the simulation; the order is
    that of the search's own score where the schedule has no simulated order, or no pipeline.
    """
    best, ties = found.best, found.ties
    if best is None or not ties or not np.any(best.layouts.pp[:ties] > 1):
        return found
    seconds = []
    for i in range(ties):
        one = best.layouts.take(slice(i, i + 1))
        step = float(best.step_s[i])
        if int(one.pp[0]) > 1:
            try:
                simulated = simulate_layout(job, device, network, stack, one).seconds
            except ValueError:  # a schedule that these micro-batches do not fill
                simulated = float(best.pipeline_s[i])
            step += simulated - float(best.pipeline_s[i])
        seconds.append(step)
    order = np.argsort(seconds, kind="stable")
    index = np.array([*order, *range(ties, len(best.layouts))])
    return replace(found, best=best.take(index), simulated_s=tuple(seconds[i] for i in order))
