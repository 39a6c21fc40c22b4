"""The built-in provider by names: model, accelerator, layout, formats, engine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from argosy.fabric import Network
from argosy.facts import Values, load_catalog
from argosy.serving.engine import engine
from argosy.serving.formats import weight_bytes
from argosy.serving.layout import ReplicaLayout
from argosy.serving.roofline import Roofline
from argosy.serving.speculation import Speculation
from argosy.serving.wires import replica_network
from argosy.spec.model import ModelArchitecture
from argosy.training import Device, device_facts


def roofline(
    model: ModelArchitecture,
    accelerator: str,
    layout: ReplicaLayout | None = None,
    *,
    values: Values | None = None,
    precision: str = "bf16",
    attention_precision: str | None = None,
    kv_precision: str | None = None,
    engine_name: str = "vllm",
    network: Network | None = None,
    speculation: Speculation | None = None,
    **engine_changes: Any,
) -> Roofline:
    """The built-in provider of `model` on `accelerator` (a catalog name or alias).

    `attention_precision` None: as the other weights; `kv_precision` None: FP8 where the weights are FP8 or narrower,
    else BF16; `network` None: scale-up domains and cards of the accelerator; `engine_changes`: fields of `Engine`.
    ValueError for unknown formats, engines or layouts that cut heads unevenly; FactError for an unknown accelerator.
    """
    layout = layout or ReplicaLayout()
    name = load_catalog().entry("accelerators", accelerator).name
    values = values or Values({**load_catalog().facts, **device_facts()})
    narrow = weight_bytes(precision) <= weight_bytes("mxfp8")
    check_layout(model, layout)
    return Roofline(
        model=model,
        # The clock that a long training step sustains does not bind here: `compute_efficiency` was fitted in its place.
        device=replace(Device.from_values(values, name), sustained_clock=1.0),
        network=network or replica_network(values, name, layout.gpus),
        layout=layout,
        engine=engine(engine_name, **engine_changes),
        precision=precision,
        attention_precision=attention_precision or precision,
        kv_precision=kv_precision or ("fp8" if narrow else "bf16"),
        speculation=speculation,
    )


def check_layout(model: ModelArchitecture, layout: ReplicaLayout) -> None:
    """ValueError, all faults at once, where a layout cannot hold a model."""
    faults = []
    if model.heads % layout.tp:
        faults.append(f"tp {layout.tp} does not divide {model.heads} attention heads; write a divisor")
    if layout.pp > model.layers:
        faults.append(f"pp {layout.pp} exceeds {model.layers} layers; write fewer stages")
    if model.moe is None and layout.ep > 1:
        faults.append(f"ep {layout.ep} for a model without experts; write 1")
    if model.moe is None and layout.dp > 1:
        faults.append(f"dp {layout.dp} shares experts that the model does not have; use more replicas")
    if model.moe and model.moe.experts % layout.ep:
        faults.append(f"ep {layout.ep} does not divide {model.moe.experts} experts; write a divisor")
    if faults:
        raise ValueError(f"{model.name} on {layout}: " + "; ".join(faults))
