"""Layouts: arithmetic, names, and the reasons why one is out."""

import numpy as np
import pytest

from argosy.training import Layouts, exclusions
from argosy.training.layout import concatenate


def test_gpus_and_batch_are_products():
    layout = Layouts.one(tp=8, pp=16, cp=2, dp=64, micro_batch=2, grad_accumulation=4)
    assert layout.gpus.tolist() == [16384]
    assert layout.global_batch.tolist() == [512]


def test_expert_replicas_fold_into_a_stage():
    layout = Layouts.one(tp=4, cp=2, dp=32, ep=16, etp=2)
    assert layout.expert_dp.tolist() == [8]


def test_scalars_broadcast_and_selection_keeps_fields():
    layouts = Layouts.one(tp=[1, 2, 4], dp=8)
    assert len(layouts) == 3
    assert layouts.take(layouts.tp > 1).tp.tolist() == [2, 4]
    assert layouts.take(1).to_dict()["tp"] == 2
    assert concatenate([layouts, layouts]).dp.tolist() == [8] * 6


def test_defaults_follow_the_other_fields():
    layouts = Layouts.one(tp=[1, 2], pp=2, vp=[1, 2])
    assert layouts.sequence_parallel.tolist() == [False, True]
    assert [layouts.to_dict(i)["schedule"] for i in (0, 1)] == ["1f1b", "interleaved"]


def test_names_of_modes_are_understood_and_unknown_fields_refused():
    assert Layouts.one(recompute="full", schedule="gpipe").to_dict()["recompute"] == "full"
    with pytest.raises(TypeError, match="tensor"):
        Layouts.one(tensor=8)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"tp": 3}, "attention heads"),
        ({"tp": 32, "sequence_parallel": False}, None),  # key/value heads repeat
        ({"cp": 3}, "two chunks per context-parallel rank"),
        ({"pp": 16}, "fewer layers"),
        ({"dp": 3}, "global batch"),
        ({"vp": 2}, "virtual stages without a pipeline"),
        ({"pp": 4, "vp": 2, "grad_accumulation": 6, "dp": 8}, "multiples of the pipeline"),
        ({"ep": 2}, "experts do not divide"),
        ({"dp": 8, "zero": 3, "shard": 3}, "sharding group"),
        ({"pp": 3, "schedule": "dualpipe"}, "DualPipe"),
        ({"pp": 1, "schedule": "zero-bubble"}, "zero-bubble"),
    ],
)
def test_each_rule_names_its_reason(small, fields, reason):
    batch = 48 if "grad_accumulation" in fields else 64
    layout = Layouts.one(**{"grad_accumulation": batch // (8 if "dp" in fields else 1), **fields})
    valid, reasons = exclusions(small, 4096, batch, layout)
    if reason is None:
        assert valid.all() and not reasons
    else:
        assert not valid.any()
        assert len(reasons) == 1 and reason in next(iter(reasons))


def test_counts_add_up_to_what_is_missing(small):
    rng = np.random.default_rng(0)
    layouts = Layouts.one(
        **{name: rng.integers(1, 9, 500) for name in ("tp", "pp", "vp", "cp", "dp", "grad_accumulation")}
    )
    valid, reasons = exclusions(small, 4096, 64, layouts)
    assert sum(reasons.values()) == (~valid).sum() > 0
