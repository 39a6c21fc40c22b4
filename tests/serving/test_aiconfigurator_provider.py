"""The optional provider: refused with advice where the package is missing, near the roofline where it is there."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import numpy as np
import pytest

from argosy.serving import ReplicaLayout, StepTimeProvider, roofline, table
from argosy.serving.aiconfigurator import Aiconfigurator, ProviderUnavailable
from argosy.spec.architectures import resolve

installed = pytest.mark.skipif(
    find_spec("aiconfigurator_core") is None,
    reason="aiconfigurator-core is not installed (extra `aiconfigurator`)",
)


def test_without_the_package_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiconfigurator_core", None)
    monkeypatch.setitem(sys.modules, "aiconfigurator_core.sdk", None)
    provider = Aiconfigurator(roofline(resolve("llama-3.1-8b"), "H100"))
    with pytest.raises(ProviderUnavailable, match=r"pip install argosy\[aiconfigurator\]"):
        provider.decode_s(1, 100)


@installed
def test_it_stands_in_for_the_built_in_provider_and_remembers() -> None:
    base = roofline(resolve("llama-3.1-8b"), "H100", precision="fp8", engine_name="trtllm")
    provider = Aiconfigurator(base)
    assert isinstance(provider, StepTimeProvider)
    batch = np.array([1.0, 16, 128])
    assert provider.decode_s(batch, 1500.0) == pytest.approx(base.decode_s(batch, 1500.0), rel=0.5)
    assert provider.prefill_s(2048) == pytest.approx(base.prefill_s(2048), rel=0.6)
    mixed = provider.mixed_s(2048, 1024, batch, 1500.0)
    assert (mixed > provider.decode_s(batch, 1500.0)).all()
    asked = len(provider._seen)
    provider.decode_s(batch, 1500.0)
    assert len(provider._seen) == asked
    grids = table(provider, most_context=4096, most_batch=64, most_prefill_tokens=2048, per_octave=1).grids
    assert (grids.decode > 0).all()


@installed
def test_what_it_does_not_know_is_told() -> None:
    with pytest.raises(ValueError, match="aiconfigurator has no MI300X"):
        Aiconfigurator(roofline(resolve("llama-3.1-8b"), "MI300X")).decode_s(1, 100)
    with pytest.raises(ValueError, match="give model_path"):
        Aiconfigurator(roofline(resolve("grok-1"), "H100", ReplicaLayout(tp=8))).decode_s(1, 100)
