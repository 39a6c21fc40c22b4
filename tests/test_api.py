"""The Python interface: the commands' answers, and how they show themselves in a notebook."""

from __future__ import annotations

import subprocess
import sys

import pytest

import argosy

TEXT = (
    "name: api\nfleet: {accelerator: H100-SXM, count: 64}\n"
    "training: {name: pretrain, model: llama-3.1-8b, tokens: 1e11, sequence_length: 8192, "
    "global_batch: 256 sequences, layout: {tp: 2, pp: 1, micro_batch: 1, recompute: none, zero: 1}}\n"
)


@pytest.fixture(scope="module")
def plan() -> argosy.Plan:
    return argosy.plan(argosy.loads(TEXT), draws=100)


def test_a_plan_shows_itself_without_scripts_or_requests(plan):
    html = plan._repr_html_()
    assert "<svg" in html and "days" in html and "feasible" in html
    assert "<script" not in html and "http" not in html.replace("http://www.w3.org", "")
    assert "api: feasible" in repr(plan) and len(repr(plan)) < 200


def test_other_answers_show_themselves(plan, tmp_path):
    other = argosy.plan(argosy.loads(TEXT, changes={"fleet.count": 128}), draws=100)
    difference = argosy.compare(plan, other)
    assert difference["headline"]["days"]["delta"] < 0
    assert "Changed losses" in difference._repr_html_()
    lives = argosy.simulate(argosy.loads(TEXT), replications=20, advice=False)
    assert "goodput" in lives._repr_html_() and lives["schema"] == "argosy.simulate/1"
    (tmp_path / "s.yaml").write_text(TEXT, encoding="utf-8")
    (tmp_path / "q.yaml").write_text("scenario: s.yaml\nfree: {fleet.count: [64, 128]}\n", encoding="utf-8")
    found = argosy.recommend(tmp_path / "q.yaml", "soonest")
    assert found["options"][0]["free"] == {"fleet.count": 128} and "128" in found._repr_html_()
    tornado = argosy.sensitivity(argosy.loads(TEXT), samples=4, draws=100)
    assert "<svg" in tornado._repr_html_() and repr(tornado).startswith("<argosy.sensitivity/1")


def test_every_public_name_is_there_and_importing_is_light():
    for name in argosy.__all__:
        assert getattr(argosy, name) is not None
    code = "import argosy, sys; print([m for m in ('numpy', 'scipy', 'altair', 'numba', 'pydantic') if m in sys.modules])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="plann"):
        argosy.plann  # noqa: B018


def test_a_service_shows_itself():
    answer = argosy.serve(
        argosy.loads(
            "name: s\nfleet: {accelerator: H100-SXM, count: 8}\nserving: {model: llama-3.1-8b, replica: {tp: 1}, "
            "traffic: {rate: 2 req/s, input: {mean: 300}, output: {mean: 40}, duration: 1 min}}\n"
        ),
        seeds=1,
    )
    assert answer["schema"] == "argosy.serving/1"
    assert "argosy.serving/1" in repr(answer)
    assert "<svg" in answer._repr_html_() and "<script" not in answer._repr_html_()


def test_a_queue_shows_itself(tmp_path):
    trace = tmp_path / "jobs.csv"
    trace.write_text("job,submit_s,duration_s,accelerators\na,0,100,8\nb,1,10,16\n")
    answer = argosy.schedule(trace, "fifo", ["easy"], nodes=2)
    assert answer["schema"] == "argosy.schedule/1" and len(answer["compare"]["policies"]) == 2
    assert [job["start_s"] for job in answer["jobs"]] == [0, 100]
    assert "2 jobs start" in answer._repr_html_() and "[bold]" not in answer._repr_html_()
    drawn = argosy.schedule(
        argosy.loads("name: s\nfleet: {accelerator: H100-SXM, count: 64}\nscheduling: {load: 0.5}\n"),
        until="2 h",
    )
    assert drawn["horizon_s"] == 7200
