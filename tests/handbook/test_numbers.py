"""The quick card and the tables: computed, dated, directed."""

import numpy as np
import pytest

from argosy.facts import FactError, load_catalog
from argosy.handbook import card, efficiency_sets, is_right, quiz, scaling_efficiency, tables


@pytest.fixture(scope="module")
def by_id():
    return {each["id"]: each for each in tables()}


def column(table, name, unit=None):
    place = next(
        n for n, each in enumerate(table["columns"]) if each["name"] == name and unit in (None, each["unit"])
    )
    return [row[place] for row in table["rows"]]


def test_the_card_has_the_eight_rows_of_the_document():
    rows = {row["id"]: row for row in card()}
    expected = {
        "nvlink-over-ndr": 9,
        "ndr": 50,
        "ndr-latency": 5,
        "mtbf-8192": 366.21,
        "mtbf-100k": 30,
        "ckpt-175b": 2450,
        "time-left": 0.77,
        "air-limit": 30,
        "pue-liquid": 1.06,
        "h100-w": 700,
    }
    for name, value in expected.items():
        assert rows[name]["value"] == pytest.approx(value, rel=1e-4), name
    assert rows["mfu"]["value"] == [0.38, 0.552]


def test_every_number_has_a_source_or_a_law_and_ratios_stand_apart():
    for row in card():
        assert row["kind"] in ("ratio", "value")
        assert row["source"] or row["laws"], row["id"]
        assert row["use"], row["id"]
    assert {row["direction"] for row in card() if "NDR" in row["label"]} == {"both one-way", "one-way"}


def test_the_card_follows_the_catalog():
    facts = load_catalog().facts
    ratio = facts["accelerators.H100-SXM.scale_up_bandwidth"].value / (facts["links.NDR.rate"].value / 8)
    assert next(row for row in card() if row["id"] == "nvlink-over-ndr")["value"] == pytest.approx(ratio)


def test_bandwidths_count_one_way(by_id):
    links = dict(zip(column(by_id["bandwidth"], "link"), column(by_id["bandwidth"], "one-way"), strict=True))
    assert links["NVLink 5 (B200)"] == 900
    assert links["TPU v5p interconnect"] == 600
    assert links["InfiniBand HDR"] == 25
    ordered = column(by_id["bandwidth"], "one-way")
    assert ordered == sorted(ordered, reverse=True)


def test_distance_costs_five_microseconds_per_kilometre(by_id):
    delays = dict(zip(column(by_id["latency"], "link"), column(by_id["latency"], "one-way"), strict=True))
    assert delays["100 km of fibre"] == pytest.approx(490, rel=0.01)
    assert delays["InfiniBand NDR"] == pytest.approx(5)


def test_both_dated_sets_are_shown(by_id):
    assert column(by_id["scaling"], "2024, as printed") == pytest.approx([0.9, 0.7, 0.5, 0.4, 0.35])
    assert column(by_id["scaling"], "2026-10, authors' data") == pytest.approx([0.9, 0.87, 0.83, 0.65, 0.56])
    assert set(column(by_id["pue"], "PUE")) >= {1.06, 1.12, 1.40, 1.55, 1.58}


def test_efficiency_by_date():
    assert scaling_efficiency("2024", 4096) == pytest.approx(0.4)
    assert scaling_efficiency("2026-10", np.array([256, 1024])) == pytest.approx([0.87, 0.83])
    assert all(each["source"] and each["conditions"] for each in efficiency_sets().values())
    with pytest.raises(FactError, match="2024, 2026-10"):
        scaling_efficiency("1999", 32)


def test_tables_of_the_document(by_id):
    assert column(by_id["failures"], "MTBF", "min")[0] == pytest.approx(11718.75)
    assert column(by_id["failures"], "within 24 h")[1] == pytest.approx(62.58, abs=0.01)
    assert column(by_id["checkpoints"], "size") == pytest.approx([98, 980, 2450, 14000])
    assert column(by_id["checkpoints"], "write") == pytest.approx([0.98, 9.8, 24.5, 140])
    assert column(by_id["overheads"], "left so far") == pytest.approx([95, 92, 82, 77])
    assert column(by_id["pue"], "over 1 MW of IT")[0] == pytest.approx(60)
    assert column(by_id["racks"], "air at 15 K")[2] == pytest.approx(1.66, abs=0.01)
    assert column(by_id["growth"], "doubles in")[0] == pytest.approx(1.69, abs=0.01)
    assert column(by_id["hardware"], "BF16")[1:5] == pytest.approx([989.4, 989.4, 2250, 1307.4])


def test_every_table_names_its_sources_and_has_whole_rows(by_id):
    for name, each in by_id.items():
        assert each["source"] or name == "hardware", name
        assert all(len(row) == len(each["columns"]) for row in each["rows"]), name


def test_quiz_asks_the_same_for_the_same_seed_and_knows_its_answers():
    questions = quiz(5, 1)
    assert questions == quiz(5, 1)
    assert len({each["id"] for each in questions}) == 5
    for each in questions:
        assert is_right(each, each["answer"])
        assert is_right(each, each["answer"] * 1.05)
        assert not is_right(each, each["answer"] * 1.5)
    assert len(quiz(1000, 1)) > 10
