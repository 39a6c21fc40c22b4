"""A load test's CSV as a provider: exact where measured, graded or refused beyond, bad lines told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from argosy.serving import Roofline, StepTimeProvider, roofline
from argosy.serving.measured import Measured, read_load_test, with_engine
from argosy.serving.steady import steady_state
from argosy.spec.architectures import resolve
from argosy.spec.problems import ScenarioError


@pytest.fixture(scope="module")
def base() -> Roofline:
    return roofline(resolve("llama-3.1-8b"), "H100")


def write(path: Path, base: Roofline, factor: float) -> Path:
    lines = ["concurrency,input_tokens,output_tokens,tpot_ms,ttft_ms"]
    for clients in (1, 16, 128):
        for input in (500, 4000):
            steady = steady_state(base, base.engine, input, 400, clients)
            lines.append(
                f"{clients},{input},400,{float(steady.tpot_s) * factor * 1e3},{float(steady.ttft_s) * 1e3}"
            )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_it_returns_what_was_measured_and_lies_between(base: Roofline, tmp_path: Path) -> None:
    provider = Measured(base, read_load_test(write(tmp_path / "test.csv", base, 1.3)))
    assert isinstance(provider, StepTimeProvider)
    found = steady_state(provider, base.engine, 500, 400, np.array([1, 16, 128]))
    expected = 1.3 * np.asarray(steady_state(base, base.engine, 500, 400, np.array([1, 16, 128])).tpot_s)
    assert np.asarray(found.tpot_s) == pytest.approx(expected, rel=1e-6)
    assert provider.decode_s(40, 2000) == pytest.approx(1.3 * base.decode_s(40, 2000), rel=1e-6)
    assert provider.grade_at(40, 2000) == "measured-like"


def test_beyond_the_points_it_says_so_or_refuses(base: Roofline, tmp_path: Path) -> None:
    test = read_load_test(write(tmp_path / "test.csv", base, 1.2))
    provider = Measured(base, test)
    assert provider.grade_at(40, 50_000) == "extrapolated"
    assert provider.decode_s(40, 50_000) == pytest.approx(1.2 * base.decode_s(40, 50_000), rel=1e-6)
    with pytest.raises(ValueError, match="measured 1 to 128 clients at contexts of 700 to 4200 tokens"):
        Measured(base, test, strict=True).decode_s(500, 2000)
    assert with_engine(provider, max_batch=8).max_batch == 8


def test_every_bad_line_is_told_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(
        "concurrency,input_tokens,output_tokens,tpot_ms\n1,500,400,7\n-2,500,400,7\n4,abc,400,\n",
        encoding="utf-8",
    )
    with pytest.raises(ScenarioError) as told:
        read_load_test(path)
    places = [(p.line, p.path) for p in told.value.problems]
    assert places == [(3, "concurrency"), (4, "input_tokens"), (4, "tpot_ms")]
    path.write_text("clients,tpot_ms\n1,7\n", encoding="utf-8")
    with pytest.raises(ScenarioError, match="lacks the columns concurrency, input_tokens, output_tokens"):
        read_load_test(path)
    path.write_text("concurrency,input_tokens,output_tokens,tpot_ms\n", encoding="utf-8")
    with pytest.raises(ScenarioError, match="has no measured points"):
        read_load_test(path)
