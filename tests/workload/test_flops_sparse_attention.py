"""Sparse attention: the FLOPs of a layer's operations and of the closed form agree, and stop growing with the square."""

from __future__ import annotations

import pytest

from argosy.spec.architectures import resolve
from argosy.workload import layer_kinds, layer_work
from argosy.workload.flops import attention_per_token, forward_per_token


def test_operations_and_closed_form_agree() -> None:
    model, length = resolve("glm-5"), 8192.0
    total = 0.0
    for kind, indices in layer_kinds(model).items():
        work = layer_work(model, kind, sequence_length=length, micro_batch=1.0, sequence_parallel=False)
        total += len(indices) * sum(float(op.flops_forward) for op in (*work.gemms, *work.attentions))
    head = 2.0 * model.hidden * model.vocab
    assert total / length + head == pytest.approx(forward_per_token(model, length), rel=1e-9)


def test_only_the_scores_of_the_index_grow_beyond_top_k() -> None:
    model = resolve("glm-5")
    assert model.sparse_attention is not None
    longer = attention_per_token(model, 262144.0) - attention_per_token(model, 131072.0)
    scores = 78 * 131072 * 32 * 128
    assert longer == pytest.approx(scores, rel=0.01)
    dense = model.model_copy(update={"sparse_attention": None})
    assert attention_per_token(model, 2048.0) > attention_per_token(dense, 2048.0)
    assert attention_per_token(model, 65536.0) < 0.5 * attention_per_token(dense, 65536.0)
