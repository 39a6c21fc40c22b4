"""Transformers as work: parameters, operations per layer, FLOPs and activation bytes."""

from argosy.workload.activations import Storage, backward_working_bytes, saved_tensors
from argosy.workload.kinds import is_moe, layer_kind_sequence, layer_kinds
from argosy.workload.layers import layer_work
from argosy.workload.operations import Attention, Gemm, LayerWork, MemoryOperation
from argosy.workload.parameters import LayerParameters, ParameterCount, count, layer_parameters
from argosy.workload.shard import Shard

__all__ = [
    "Attention",
    "Gemm",
    "LayerParameters",
    "LayerWork",
    "MemoryOperation",
    "ParameterCount",
    "Shard",
    "Storage",
    "backward_working_bytes",
    "count",
    "is_moe",
    "layer_kind_sequence",
    "layer_kinds",
    "layer_parameters",
    "layer_work",
    "saved_tensors",
]
