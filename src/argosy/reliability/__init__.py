"""How often a fleet fails, what that costs a job, and what spares and checkpoints do about it."""

from argosy.reliability.checkpoints import Cadence, CheckpointCost, cadence, checkpoint_cost
from argosy.reliability.events import ENDS, EventLives, Gang, Timeline, event_lives, shared_lives, timeline
from argosy.reliability.goodput import Goodput, goodput
from argosy.reliability.hazards import Hazards, Racks, Shock, Slowdown
from argosy.reliability.rates import CategoryRate, FailureRates, failure_rates, presets
from argosy.reliability.recovery import (
    POLICIES,
    Maintenance,
    RackStock,
    Recovery,
    group_start_up_s,
    restart_s,
    spare_wait_share,
    spares_needed,
)
from argosy.reliability.renewal import Lives, lives
from argosy.reliability.stated import racks
from argosy.reliability.states import STATES, FailureEvent

__all__ = [
    "ENDS",
    "POLICIES",
    "STATES",
    "Cadence",
    "CategoryRate",
    "CheckpointCost",
    "EventLives",
    "FailureEvent",
    "FailureRates",
    "Gang",
    "Goodput",
    "Hazards",
    "Lives",
    "Maintenance",
    "RackStock",
    "Racks",
    "Recovery",
    "Shock",
    "Slowdown",
    "Timeline",
    "cadence",
    "checkpoint_cost",
    "event_lives",
    "failure_rates",
    "goodput",
    "group_start_up_s",
    "lives",
    "presets",
    "racks",
    "restart_s",
    "shared_lives",
    "spare_wait_share",
    "spares_needed",
    "timeline",
]
