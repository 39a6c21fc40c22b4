"""The fit of kernel curves: recovers known parameters, and regenerates what is shipped."""

from __future__ import annotations

import numpy as np
import pytest

from argosy.training.kernels.curves import table
from argosy.validation import fit_kernels


def test_the_fit_recovers_parameters_that_made_the_times():
    rng = np.random.default_rng(3)
    m, n, k = (rng.choice([1024.0, 2048.0, 4096.0, 8192.0, 6144.0], 300) for _ in range(3))
    truth = np.array([0.62, 220.0, 0.6, 9e-6])
    device = fit_kernels.DEVICES["H100-SXM"]

    def law(p):
        from argosy.training.kernels.gemm import product_time

        return product_time(fit_kernels._curve(p, device, "bf16"), 989e12, 2.8e12, m, n, k)

    times = law(truth) * np.exp(0.01 * rng.standard_normal(300))
    found = fit_kernels.fit(
        law, times, fit_kernels.held_out(n, k), ("ceiling", "k_ramp", "wave_share", "overhead_s"),
        [0.8, 50.0, 0.2, 2e-6], ([0.05, 0.0, 0.0, 0.0], [1.0, 4000.0, 1.0, 3e-5]),
    )  # fmt: skip
    for value, name in zip(truth, ("ceiling", "k_ramp", "wave_share", "overhead_s"), strict=True):
        parameter = found["parameters"][name]
        assert abs(parameter["value"] - value) < max(5 * parameter["standard_error"], 0.02 * value), name
    assert found["fit"]["held_out_mape"] < 0.015


def test_families_go_aside_whole():
    n, k = np.repeat([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], 5), np.ones(40)
    aside = fit_kernels.held_out(n, k).reshape(8, 5)
    assert (aside.all(axis=1) | ~aside.any(axis=1)).all()
    assert aside[:, 0].sum() == 2


def test_the_shipped_table_is_what_the_command_makes(shared_directory):
    data = shared_directory / "data"
    if not (data / "gemm_measured.csv.gz").is_file():
        pytest.skip("no kernel measurements in ../shared/data")
    rows = [
        r
        for r in fit_kernels.read_rows(data / "gemm_measured.csv.gz")
        if r["gpu"] == "h100_sxm" and r["gemm_dtype"] == "fp8"
    ]
    made = fit_kernels.fit_gemm(rows, fit_kernels.DEVICES["H100-SXM"], "fp8")
    shipped = table()["devices"]["H100-SXM"]["gemm"]["fp8"]
    for name in ("ceiling", "k_ramp", "cast_bytes"):
        assert made["parameters"][name]["value"] == pytest.approx(
            shipped["parameters"][name]["value"], rel=1e-2
        )
