"""Serving: what an inference engine's iterations take, what a replica holds and delivers."""

from argosy.serving.layout import ReplicaLayout
from argosy.serving.provider import StepTable, StepTimeProvider, table

__all__ = ["ReplicaLayout", "StepTable", "StepTimeProvider", "table"]
