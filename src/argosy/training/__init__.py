"""Step time, utilisation, memory and layout search of a training job."""

from argosy.training.device import Device, device_facts, host_numbers
from argosy.training.host import Offload
from argosy.training.job import Job, Overlap
from argosy.training.layout import RECOMPUTE, SCHEDULES, Layouts, exclusions
from argosy.training.schedule import Simulation, simulate
from argosy.training.search import Search, search
from argosy.training.stack import PRESETS, Stack, stack_facts
from argosy.training.step import BREAKDOWN, Steps, evaluate
from argosy.training.timeline import simulate_layout
from argosy.training.uncertainty import (
    GRADES,
    bounded_residual,
    ceiling_seconds,
    grade,
    residual_draws,
    residual_facts,
    residual_sigma,
)

__all__ = [
    "BREAKDOWN",
    "GRADES",
    "PRESETS",
    "RECOMPUTE",
    "SCHEDULES",
    "Device",
    "Job",
    "Layouts",
    "Offload",
    "Overlap",
    "Search",
    "Simulation",
    "Stack",
    "Steps",
    "bounded_residual",
    "ceiling_seconds",
    "device_facts",
    "evaluate",
    "exclusions",
    "grade",
    "host_numbers",
    "residual_draws",
    "residual_facts",
    "residual_sigma",
    "search",
    "simulate",
    "simulate_layout",
    "stack_facts",
]
