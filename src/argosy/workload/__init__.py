"""Transformers as work: parameters, operations per layer, FLOPs and activation bytes."""

from argosy.workload.kinds import is_moe, layer_kind_sequence, layer_kinds
from argosy.workload.layers import layer_work
from argosy.workload.operations import Attention, Gemm, LayerWork, MemoryOperation
from argosy.workload.parameters import LayerParameters, ParameterCount, count, layer_parameters

__all__ = [
    "Attention",
    "Gemm",
    "LayerParameters",
    "LayerWork",
    "MemoryOperation",
    "ParameterCount",
    "count",
    "is_moe",
    "layer_kind_sequence",
    "layer_kinds",
    "layer_parameters",
    "layer_work",
]
