"""Rows of equal visible settings whose times contradict each other are named, others not."""

from argosy.validation.contradictions import contradicted_rows, contradiction


def row(row_id: str, measured: float, predicted: float = 10.0, **changes: object) -> dict[str, object]:
    return {
        "row_id": row_id,
        "source": "s",
        "accelerator": "a",
        "n_gpus": 8,
        "stack": "megatron-core",
        "model": "m",
        "framework": "f",
        "layout": {"tp": 1, "grad_accumulation": 4},
        "measured_step_time_s": measured,
        "predicted_step_time_s": predicted,
        "error": predicted / measured - 1,
        **changes,
    }


def test_a_slow_twin_is_contradicted_by_the_fast_one_and_not_the_other_way_round():
    fast, slow = row("1", 10.0), row("2", 20.0)
    assert (
        contradiction(slow, [fast, slow])
        == "contradicted: row 1, of equal visible settings, took 1/2.0 of the time"
    )
    assert contradiction(fast, [fast, slow]) == ""
    assert sum("contradicted: row" in line for line in contradicted_rows([fast, slow])) == 1


def test_twins_are_compared_per_micro_batch_and_need_the_same_prediction():
    longer = row("2", 20.0, 20.0, layout={"tp": 1, "grad_accumulation": 8})  # twice the batch, twice the time
    other_model = row("3", 30.0, predicted=25.0)
    assert contradiction(longer, [row("1", 10.0), longer]) == ""
    assert contradiction(other_model, [row("1", 10.0), other_model]) == ""
