"""Serving: what an inference engine's iterations take, what a replica holds and delivers."""

from argosy.serving.build import check_layout, roofline
from argosy.serving.layout import ReplicaLayout
from argosy.serving.provider import StepTable, StepTimeProvider, table
from argosy.serving.roofline import Roofline
from argosy.serving.speculation import Speculation

__all__ = [
    "ReplicaLayout",
    "Roofline",
    "Speculation",
    "StepTable",
    "StepTimeProvider",
    "check_layout",
    "roofline",
    "table",
]
