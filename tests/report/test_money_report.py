"""`argosy cost` in the terminal: the answer first, then every table of it."""

from __future__ import annotations

import json

import pytest

from argosy.cli.main import run

SCENARIO = """
name: small
fleet: {accelerator: H100-SXM, count: 256}
prices: {PRICES}
training: {name: pretrain, model: llama-3.1-8b, tokens: 1e11, sequence_length: 8192, global_batch: 2 Mtok}
"""


def shown(tmp_path, capsys, prices: str, *options: str) -> str:
    file = tmp_path / "scenario.yaml"
    file.write_text(SCENARIO.replace("PRICES", prices), encoding="utf-8")
    assert run(["cost", str(file), "--draws", "100", *options]) == 0
    return capsys.readouterr().out


def test_an_owned_fleet(tmp_path, capsys) -> None:
    text = shown(tmp_path, capsys, "lifetime: 4 yr, residual: 20 %")
    assert "per accelerator-hour" in text.splitlines()[0]
    for word in (
        "Purchase",
        "4 years",
        "20 %",
        "Market",
        "on-demand",
        "What moves the cost most",
        "making hosts",
    ):
        assert word in text, word
    assert "households" in text and "power plants" in text


def test_a_rented_fleet_has_owning_beside_it_and_its_currency(tmp_path, capsys) -> None:
    prices = "accelerator_hour: 14 CNY/h, show_in: CNY, currencies: {CNY: {usd: 0.14, date: 2026-11-28}}"
    text = shown(tmp_path, capsys, prices)
    assert "bottom-up, owned" in text and "14 an accelerator-hour" in text and "2026-11-28" in text


def test_json_is_the_payload_alone(tmp_path, capsys) -> None:
    payload = json.loads(shown(tmp_path, capsys, "path: contract", "--json"))
    assert payload["schema"] == "argosy.cost/1"
    assert payload["tco"]["usd_per_gpu_hour"] == pytest.approx(2.35)
    assert {"location_based", "market_based", "embodied", "equivalents"} <= set(payload["carbon"])
    assert payload["tco"]["tornado"][0]["fact"] == "prices.H100-SXM.contract"


def test_the_tornado_is_drawn(tmp_path, capsys) -> None:
    shown(tmp_path, capsys, "lifetime: 5 yr", "--chart", str(tmp_path / "tornado.svg"))
    assert "prices.lifetime" in (tmp_path / "tornado.svg").read_text(encoding="utf-8")


def test_a_plan_that_does_not_run_says_why(tmp_path, capsys) -> None:
    file = tmp_path / "scenario.yaml"
    text = SCENARIO.replace("PRICES", "").replace("2 Mtok", "2 Mtok, layout: {tp: 64}")
    file.write_text(text.replace("prices: {}\n", ""), encoding="utf-8")
    assert run(["cost", str(file)]) == 1
    assert "does not run" in capsys.readouterr().err
