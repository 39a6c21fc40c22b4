"""Step time, utilisation, memory and layout search of a training job."""

from argosy.training.device import Device, device_facts
from argosy.training.job import Job, Overlap
from argosy.training.layout import RECOMPUTE, SCHEDULES, Layouts, exclusions
from argosy.training.schedule import Simulation, simulate
from argosy.training.stack import PRESETS, Stack, stack_facts
from argosy.training.step import BREAKDOWN, Steps, evaluate

__all__ = [
    "BREAKDOWN",
    "PRESETS",
    "RECOMPUTE",
    "SCHEDULES",
    "Device",
    "Job",
    "Layouts",
    "Overlap",
    "Simulation",
    "Stack",
    "Steps",
    "device_facts",
    "evaluate",
    "exclusions",
    "simulate",
    "stack_facts",
]
