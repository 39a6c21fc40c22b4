"""The small transformer itself, and one real run on the loopback; skipped, visibly, where torch is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not there: pip install 'argosy[testbed]'")

from argosy.testbed.torch_launch import Job  # noqa: E402
from argosy.testbed.training import cases  # noqa: E402
from argosy.testbed.training.model import Accelerator, Transformer, local_loss, loss_of, tokens_of  # noqa: E402
from argosy.testbed.training.shape import Pace, Shape  # noqa: E402

SMALL = Shape(layers=2, hidden=16, heads=2, context=8, dtype="float64")


def test_the_model_has_the_parameters_of_its_shape() -> None:
    for number, block in enumerate(Transformer(SMALL).blocks):
        assert sum(weight.numel() for weight in block.parameters()) == SMALL.parameters(number)


def test_stages_together_are_the_whole() -> None:
    tokens = tokens_of(range(3), SMALL)
    x = tokens[:, :-1]
    for first, last in ((0, 2), (2, 3), (3, 4)):
        x = Transformer(SMALL, first, last, whole=True)(x)
    assert torch.equal(x, Transformer(SMALL)(tokens[:, :-1]))


def test_shares_of_a_loss_and_their_gradients_add_up() -> None:
    whole, parts = Transformer(SMALL), Transformer(SMALL)
    local_loss(whole, range(5), 5).backward()
    total = 0.0
    for numbers in (range(1), range(1, 5)):
        loss = local_loss(parts, numbers, 5)
        loss.backward()
        total += float(loss.detach())
    tokens = tokens_of(range(5), SMALL)
    assert total == pytest.approx(float(loss_of(whole(tokens[:, :-1]), tokens, 5).detach()), rel=1e-12)
    for a, b in zip(whole.parameters(), parts.parameters(), strict=True):
        assert torch.allclose(a.grad, b.grad, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("whole", [False, True])
def test_a_step_takes_the_accelerators_time(whole: bool) -> None:
    accelerator = Accelerator(Pace.even(SMALL, 0.001), factor=2.0)
    local_loss(Transformer(SMALL, accelerator=accelerator, whole=whole), range(2), 2).backward()
    assert accelerator.busy_s == pytest.approx(2 * 2 * 0.001 * 3)


def small(case: dict[str, Any]) -> dict[str, Any]:
    bounds = {"bounds": [0, 2, 4]} if case["kind"] == "pipeline" else {}
    pace = Pace.even(SMALL, 0.0)
    return {**case, "shape": SMALL.to_dict(), "pace": pace.to_dict(), "batch": 8, "steps": 3, **bounds}


def test_all_forms_have_the_single_processs_losses(tmp_path: Path) -> None:
    """Two real ranks on the loopback."""
    plan = [small(cases.data_parallel("reference", False, 3))]
    plan += [
        small(cases.data_parallel(form, overlap, 3, blocks=blocks))
        for form, blocks in (("all-reduce", 1), ("sharded", 3), ("cube", 1))
        for overlap in (False, True)
        if form != "cube" or not overlap
    ]
    plan += [small(cases.pipeline(schedule, (0, 2, 4), 3)) for schedule in ("gpipe", "1f1b")]
    (tmp_path / "plan.json").write_text(json.dumps({"cases": plan}), encoding="utf-8")
    with Job(None, "argosy.testbed.training.rank_main", [str(tmp_path)], [0, 1], 1, tmp_path, 120.0) as job:
        job.check(job.wait())
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    reference = found[0][0]["losses"]
    assert len(reference) == 3 and reference[2] < reference[0]
    for each in found[1:]:
        assert each[0]["losses"] == pytest.approx(reference, rel=1e-9)
