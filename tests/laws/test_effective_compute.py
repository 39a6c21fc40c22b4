"""Effective compute: no loss counted twice, nothing lost between peak and useful."""

import numpy as np
import pytest

from argosy.laws import effective_compute as law


def test_the_product_of_the_box():
    useful = law.effective_flops(
        1024, 989e12, 0.5, "replica", 0.5, {"checkpoint": 0.03, "failures": 0.1, "maintenance": 0.05}
    )
    assert useful == pytest.approx(1_012_736e12 / 4 * (1 - 0.18))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mfu_scope": "fleet", "scaling_efficiency": 0.5}, "already contains the scaling loss"),
        ({"mfu_scope": "fleet", "losses": {"bubble": 0.05}}, "bubble"),
        (
            {"mfu_scope": "replica", "scaling_efficiency": 0.5, "losses": {"exposed communication": 0.1}},
            "in the step",
        ),
    ],
)
def test_a_loss_is_not_counted_twice(arguments, message):
    with pytest.raises(law.DoubleCountError, match=message):
        law.effective_flops(1024, 989e12, 0.4, **arguments)


def test_a_replica_needs_an_efficiency_and_a_scope_a_name():
    with pytest.raises(ValueError, match="scaling_efficiency"):
        law.effective_flops(1024, 989e12, 0.4, "replica")
    with pytest.raises(ValueError, match="mfu_scope"):
        law.effective_flops(1024, 989e12, 0.4, "both")


def test_without_losses_a_fleet_mfu_is_all_there_is():
    assert law.effective_flops(2, 10.0, 0.4, "fleet") == pytest.approx(8.0)
    with pytest.raises(ValueError, match="more than the whole"):
        law.operational_share({"a": 0.7, "b": 0.4})


def test_waterfall_adds_up():
    parts = law.loss_waterfall(1000.0, {"MFU": 0.5, "scaling": 0.5, "operations": 0.82})
    assert sum(parts.values()) == pytest.approx(1000.0)
    assert parts["useful"] == pytest.approx(205.0)
    assert parts["scaling"] == pytest.approx(250.0)


def test_marginal_worth_against_adding_devices_one_by_one():
    counts = np.arange(1024, 8193)
    efficiency = np.interp(counts, [1024, 8192], [0.5, 0.35])
    added = np.diff(counts * efficiency)  # what each further device brought
    assert law.marginal_worth(1024, 0.5, 8192, 0.35) == pytest.approx(added.mean())
    assert law.marginal_worth(100, 1.0, 200, 1.0) == 1.0
    assert law.marginal_worth(100, 1.0, 200, 0.4) < 0
    with pytest.raises(ValueError, match="same size"):
        law.marginal_worth(8, 1.0, 8, 1.0)


def test_diagnosis_of_the_documents_case():
    found = law.scale_up_diagnosis(2.5, 1024, 4096, 0.5, 0.4)
    assert found["efficiency"] == pytest.approx(0.3125)
    assert found["relative_efficiency"] == pytest.approx(0.625)
    assert found["expected_ratio"] == pytest.approx(3.2)
    assert found["shortfall"] == pytest.approx(0.21875)
    assert law.verdict_on_shortfall(found["shortfall"]) == "engineering"
    assert (
        law.verdict_on_shortfall(law.scale_up_diagnosis(3.2, 1024, 4096, 0.5, 0.4)["shortfall"]) == "physics"
    )
