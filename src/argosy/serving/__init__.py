"""Serving: what an inference engine's iterations take, what a replica holds and delivers."""

from argosy.serving.layout import ReplicaLayout
from argosy.serving.provider import StepTable, StepTimeProvider, table
from argosy.serving.roofline import Roofline, Speculation, roofline

__all__ = ["ReplicaLayout", "Roofline", "Speculation", "StepTable", "StepTimeProvider", "roofline", "table"]
