"""The arrays of a life, by name: `views.slots(w)[k].node` is the node in slot k, `w` the directory of the world.

See `memory` for what a directory is; `records` for the fields. One pass of the engine writes all of this and the next one
overwrites it.
"""

from __future__ import annotations

import numpy as np

from argosy.kernels import records as r
from argosy.kernels.memory import line, table

fleet = line("fleet", r.FLEET)  # one
pool = line("pool", r.POOL)  # one
jobs = line("jobs", r.JOB)
runs = line("runs", r.RUN)  # one for each job
slots = line("slots", r.SLOT)  # the nodes' places in all jobs
nodes = line("nodes", r.NODE)  # working nodes and spares
ages = table("ages", np.float64)  # (wearing categories, nodes): seconds, or UNKNOWN, ORIGINAL
given = table(
    "given", np.float64
)  # (wearing categories, nodes) at the start, where each node has its own; else (W, 0)
wear = line("wear", r.WEAR)
tables = table("tables", np.float64)  # (wearing categories, T) stationary remaining life ÷ scale over hazard
cohorts = table("cohorts", r.COHORT)  # (jobs, 2 · wearing categories): usual nodes, lemons
node_causes = line("node_causes", r.CAUSE)  # memoryless
job_causes = line("job_causes", r.CAUSE)
shocks = line("shocks", r.SHOCK)
slowdowns = line("slowdowns", r.SLOWDOWN)
slow_until = table("slow_until", np.float64)  # (jobs, slowdowns) active times
clocks = table("clocks", np.float64)  # (jobs, clocks) active times
draws = table("draws", np.int64)  # (jobs, clocks + 1) how many numbers each stream gave
heap_at = line("heap_at", np.float64)  # active times of wearing nodes that entered later, a heap for each job
heap_slot = line("heap_slot", np.int64)
repair_at = line("repair_at", np.float64)  # wall-clock times at which nodes are healthy again, a heap
repair_node = line("repair_node", np.int64)
crew_at = line("crew_at", np.float64)  # when each crew is free
free = line("free", np.int64)  # a ring of spare nodes
shelf = table("shelf", np.int64)  # (racks, places) spares inside racks
shelved = line("shelved", np.int64)  # how many of them
epochs = line("epochs", np.int64)  # how often each rack was exchanged
lemons = line("lemons", np.int64)  # their number, then the nodes
refill_at = line(
    "refill_at", np.float64
)  # wall-clock times of replacements under tolerant policies, a heap for each job
refill_slot = line("refill_slot", np.int64)
missing = line("missing", np.int64)  # slots to be filled, for each job from its first slot on
holes = line("holes", np.int64)  # lost nodes of each copy of each group
counts = table("counts", np.int64)  # (jobs, categories) failures
rows = table("rows", np.float64)  # (R, 3) timeline of the first job
