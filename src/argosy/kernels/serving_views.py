"""The arrays of a fleet's run, by name: `serving_views.replicas(w)[r].kv`, `w` the directory of the world; see `memory`."""

from __future__ import annotations

import numpy as np

from argosy.kernels import serving_records as s
from argosy.kernels.memory import line, table

settings = line("settings", s.SETTINGS)  # one
pools = line("pools", s.POOL)
requests = line("requests", s.REQUEST)  # in order of arrival
planned = line("planned", s.PLANNED)  # in order of time
replicas = line("replicas", s.REPLICA)
due = line("due", np.float64)  # clock at which each running sequence ends: a heap for each replica
due_request = line("due_request", np.int64)
next_at = line("next_at", np.float64)  # when something happens at each replica: a tournament
next_winner = line("next_winner", np.int64)
load = table("load", np.float64)  # (pools, places) outstanding tokens of each replica that takes requests
load_winner = table("load_winner", np.int64)
queue_first = table("queue_first", np.int64)  # (replicas, classes) waiting requests, a list for each class
queue_last = table("queue_last", np.int64)
delayed_at = line(
    "delayed_at", np.float64
)  # requests on their way or to be tried again, spares in repair: a heap
delayed_item = line("delayed_item", np.int64)
delayed_size = line("delayed_size", np.int64)
book = table("book", np.float64)  # (pools, BOOK)
reuse = line("reuse", np.float64)  # tokens that lie in front of a block when it is used again
marks = line("marks", np.float64)  # times at which the books are copied, in order
marked = table("marked", np.float64)  # (marks · pools, BOOK) the books then
series = line("series", s.SERIES)
desired = table(
    "desired", np.int64
)  # (pools, delay + 1) what the autoscaler wanted at the last ticks, a ring
