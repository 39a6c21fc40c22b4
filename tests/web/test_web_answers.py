"""What the page shows is what the commands compute; mistakes come back with their places."""

from __future__ import annotations

import pytest

from argosy.planning import plan
from argosy.spec import loads
from argosy.study.what_if import at_layouts


def ask(page, path, **body):
    return page.post(f"/api/{path}", json=body)


@pytest.fixture(scope="session")
def planned(page, small):
    return ask(page, "plan", text=small).json()


def layouts_of(payload):
    return {job["name"]: [stage["layout"] for stage in job["stages"]] for job in payload["training"]}


def test_a_plan_is_the_commands_plan(planned, small):
    here = plan(loads(small), 2000).payload
    assert planned["plan"]["headline"] == here["headline"]
    assert planned["plan"]["ledger"] == here["ledger"]
    charts = planned["charts"]
    assert charts["ledger"]["$schema"].startswith("https://vega.github.io/schema/vega-lite/")
    assert set(charts["jobs"]["pretrain"]) == {"step", "memory", "layouts"}


def test_what_if_at_the_same_layout_is_the_plans_nominal(page, planned, small):
    found = ask(page, "what-if", text=small, layouts=layouts_of(planned["plan"])).json()["plan"]
    for quick, whole in zip(found["headline"], planned["plan"]["headline"], strict=True):
        assert quick["nominal"] == pytest.approx(whole["nominal"], rel=1e-12)
        assert quick["p10"] is quick["p50"] is quick["p90"] is None
    assert found["scenario"]["hash"] == planned["plan"]["scenario"]["hash"]


def test_a_change_keeps_the_text_and_moves_the_answer(page, planned, small):
    changed = ask(
        page, "change", text=small, changes={"fleet.count": 128, "prices.accelerator_hour": "3 USD/h"}
    ).json()
    assert "# a comment that stays" in changed["text"]
    found = ask(page, "what-if", text=changed["text"], layouts=layouts_of(planned["plan"])).json()["plan"]
    assert found["training"][0]["layout"]["dp"] == 2 * planned["plan"]["training"][0]["layout"]["dp"]
    assert found["cost"]["usd_per_gpu_hour"] == pytest.approx(3.0)


def test_layouts_that_do_not_divide_are_told(page, planned, small):
    text = small.replace("count: 64", "count: 24").replace("256 sequences", "250 sequences")
    answer = ask(page, "what-if", text=text, layouts=layouts_of(planned["plan"]))
    assert answer.status_code == 422 and "layout" in answer.json()["problems"][0]["message"]


@pytest.mark.parametrize("layout", [{"tp": "x"}, {"tp": -1}, {"schedule": "nothing"}, {"recompute": 1}])
def test_what_is_no_layout_is_told(page, small, layout):
    answer = ask(page, "what-if", text=small, layouts={"pretrain": [layout]})
    assert answer.status_code == 422 and next(iter(layout)) in answer.json()["problems"][0]["message"]


def test_a_diagnosis_that_fails_does_not_say_where_the_files_were(page):
    answer = page.post("/api/diagnose", files={"files": ("notes.bin", b"\0\1\2 nothing to read")})
    assert answer.status_code == 422
    assert answer.json()["problems"][0]["message"].startswith("notes.bin: ")


def test_the_map_of_layouts_has_the_best_of_the_search(page, planned, small):
    found = ask(page, "layouts", text=small, job=None).json()
    best = max((cell for cell in found["map"]["cells"] if cell.get("mfu")), key=lambda cell: cell["mfu"])
    layout = planned["plan"]["training"][0]["layout"]
    assert best["mfu"] >= planned["plan"]["training"][0]["mfu"]["parameters_only"] * (1 - 1e-9)
    assert (best["tp"], best["pp"]) == (layout["tp"], layout["pp"])
    for cell in found["map"]["cells"]:
        assert (cell["fit"] > 0) == (cell["reason"] is None) == ("mfu" in cell)


@pytest.mark.parametrize("path", ["timeline", "facility"])
def test_what_takes_longer_has_pictures(page, small, path):
    found = ask(page, path, text=small).json()
    assert found.get("chart") or found["charts"]


def test_two_scenarios_differ_by_what_was_changed(page, small):
    found = ask(page, "compare", a=small, b=small.replace("count: 64", "count: 128")).json()
    assert any(each["path"] == "fleet.count" for each in found["diff"]["inputs"])
    assert (
        found["headline"].startswith("B against A") and found["tables"] and set(found["charts"]) == {"a", "b"}
    )


def test_a_report_is_one_file_without_requests(page, small):
    answer = ask(page, "report", text=small, form="html")
    assert answer.headers["content-disposition"] == 'attachment; filename="plan.html"'
    assert answer.text.startswith("<!doctype html>") and "<script src" not in answer.text
    assert ask(page, "report", text=small, form="md").text.startswith("#")


def test_every_fault_comes_back_with_its_place(page, small):
    answer = ask(page, "check", text=small.replace("count: 64", "cuont: 64").replace("8192", "many"))
    assert answer.status_code == 422
    places = {(each["path"], each["line"]) for each in answer.json()["problems"]}
    assert {path for path, _ in places} >= {"fleet.cuont", "fleet.count"} and all(line for _, line in places)


def test_the_handbook_and_the_catalog_are_the_commands_own(page):
    from argosy import handbook

    assert page.get("/api/handbook/claims").json()["counts"] == handbook.counts(handbook.checked_handbook())
    own = page.post("/api/handbook/exercises/1", json={"settings": {"n": "1024"}}).json()["exercise"]
    assert own == handbook.solve("1", {"n": "1024"}).to_dict()
    drawn = page.post("/api/handbook/exercises/1", json={"seed": 7}).json()["exercise"]
    assert drawn == handbook.variant("1", 7, {}).to_dict()
    assert page.get("/api/catalog/H100").json()["entries"][0]["name"] == "H100-SXM"
    assert page.get("/api/catalog/nothing-like-it").status_code == 422
    for each in ("numbers", "exercises", "guide", "words"):
        assert page.get(f"/api/handbook/{each}").status_code == 200


def test_starts_can_all_be_checked(page):
    starts = page.get("/api/starts").json()
    assert "llama3-70b-512" in starts and len(starts) > 5
    for text in starts.values():
        assert ask(page, "check", text=text).status_code == 200


def test_choices_are_values_that_fields_take(page, small):
    choices = page.get("/api/choices").json()
    for field, key in (
        ("reliability.policy", "policies"),
        ("facility.cooling", "cooling"),
        ("facility.site", "sites"),
    ):
        for value in choices[key][:5]:
            changed = ask(page, "change", text=small, changes={field: value}).json()["text"]
            loads(changed)


def test_at_layouts_needs_one_layout_a_stage(small):
    from argosy.facts import FactError

    with pytest.raises(FactError, match="1 stages, but 0 layouts"):
        at_layouts(loads(small), {})


SERVICE = """name: chat   # ours
fleet: {accelerator: H100-SXM, count: 8}
serving:
  name: chat
  model: llama-3.1-8b   # small
  traffic: {rate: 20 req/s, input: {mean: 500}, output: {mean: 100}, duration: 1 min}
  objectives: {ttft_p99: 1 s, tpot_p95: 30 ms}
"""


def test_the_serving_forms_changes_are_taken_and_comments_stay(page):
    choices = page.get("/api/choices").json()
    changes = {
        "serving.0.model": "llama-3.1-70b", "serving.0.accelerators": 8, "serving.0.replica.tp": 4, "serving.0.precision": "auto",
        "serving.0.kv_precision": choices["formats"][-2], "serving.0.traffic.rate": "2 req/s", "serving.0.traffic.cv": 2,
        "serving.0.traffic.input.0.mean": 900, "serving.0.traffic.output.0.cv": 0.5, "serving.0.traffic.prefix_share": 0.3,
        "serving.0.objectives.ttft_p99": "2 s", "serving.0.objectives.e2e_p95": "30 s",
        "serving.0.objectives.availability": "99.5 %",
        "serving.0.engine.name": choices["engines"][-1], "serving.0.engine.max_batch": 64,
        "serving.0.router": choices["routers"][0],
        "serving.0.speculative.draft_length": 1, "serving.0.disaggregation": {"exposed": 1}, "prices.accelerator_hour": "2 USD/h",
    }  # fmt: skip
    text = ask(page, "change", text=SERVICE, changes=changes).json()["text"]
    assert "# ours" in text and "# small" in text
    taken = loads(text).serving[0]
    assert (taken.model.name, taken.accelerators, taken.replica.tp, taken.precision) == (
        "llama-3.1-70b",
        8,
        4,
        None,
    )
    assert (
        taken.traffic.rate == 2.0 and taken.traffic.input[0].mean == 900 and taken.traffic.output[0].cv == 0.5
    )
    assert taken.objectives.latencies == {"ttft_p99": 2.0, "tpot_p95": 0.03, "e2e_p95": 30.0}
    assert taken.objectives.availability == pytest.approx(0.995)
    assert taken.speculative.draft_length == 1 and taken.disaggregation is not None
    without = ask(
        page,
        "change",
        text=text,
        changes={"serving.0.disaggregation": None, "serving.0.objectives.ttft_p99": None},
    )
    assert loads(without.json()["text"]).serving[0].objectives.latencies == {
        "tpot_p95": 0.03,
        "e2e_p95": 30.0,
    }


def test_a_service_under_requests_that_are_given(page):
    rows = "\n".join(f"{0.1 * i:.1f},{100 + i % 3},{20 + i % 5}" for i in range(300))
    sent = {"file": ("mine.csv", f"arrival_s,input_tokens,output_tokens\n{rows}\n")}
    answer = page.post("/api/serving/trace", files=sent, data={"text": SERVICE}).json()
    (service,) = answer["services"]
    assert service["traffic"]["requests"] == 300 and service["traffic"]["input_tokens_mean"] == pytest.approx(
        101.0
    )
    assert service["scenario"]["inputs"]["serving"][0]["traffic"]["trace"] == "mine.csv"
    assert set(answer["charts"]["chat"]) >= {"latency", "throughput against speed", "queue", "ledger"}
    assert not page.app.state.diagnoses._folders
    broken = page.post(
        "/api/serving/trace", files={"file": ("mine.csv", "a,b\n1,2\n")}, data={"text": SERVICE}
    )
    assert broken.status_code == 422 and "argosy-diagnose" not in broken.text
    other = page.post("/api/serving/trace", files=sent, data={"text": SERVICE, "service": "none-such"})
    assert other.status_code == 422 and "none-such" in other.text
    assert not page.app.state.diagnoses._folders
