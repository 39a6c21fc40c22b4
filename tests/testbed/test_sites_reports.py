"""The pages of the failover and of the two sites, drawn from answers of known figures."""

from __future__ import annotations

import pytest
from test_sites_predictions import found, world  # noqa: F401  the fixture

from argosy.report.testbed import failover, pages, sites
from argosy.testbed.failover.disturbances import NAMES
from argosy.testbed.sites import experiment

HEAD = {"version": "0", "schema": "argosy.testbed-x/1"}


def test_page_of_the_sites(monkeypatch, tmp_path, world):  # noqa: F811
    monkeypatch.setattr(experiment, "why_not", lambda: None)
    monkeypatch.setattr(experiment, "_run", lambda cases, seconds: found(world))
    written = pages.write_page("sites", {**HEAD, **experiment.run(True)}, tmp_path / "sites.md")
    text = written[0].read_text()
    assert "15 of 15" in text and "site 1: 3; site 2: 3" in text
    assert [path.name for path in written[1:]] == ["testbed-sites-steps.svg"]
    assert "DiLoCo" in written[1].read_text()


def policy(name):
    figures = {"mean wait": 0.02, **{f"{what} of the time": 0.1 for what in ("mean", "p50", "p95", "p99")}}
    return {
        "policy": name,
        "predicted": figures,
        "measured": figures,
        "tried_again": 12,
        "most_tries": 1,
        "kills": [{"killed": 5.0, "down": 6.25, "up": 7.5}],
        "series": {"at_s": [5.0, 5.05, 9.0], "inside": [3, 4, 2], "tried_again_s": [5.1, 5.2]},
    }


def test_page_of_the_failover(tmp_path):
    beyond = {
        "load_left": 1.2,
        "shed": 0.21,
        "shed_predicted": 0.2,
        "shed_at_least": 0.17,
        "errors_before_noticed": 7,
    }
    answer = {
        **HEAD,
        "hosts": "loopback",
        "reason": "root is needed",
        "machine": {"cores": 2, "kernel": "6", "load_average": 0.5},
        "summary": {"judged": 1, "within_bar": 1},
        "comparisons": [],
        "notes": ["a note"],
        "fleet": {"replicas": 4},
        "policies": [policy(name) for name in NAMES],
        "upgrade": {"serving": [[0.0, 4], [2.0, 3], [3.0, 4]]},
        "beyond": beyond,
    }
    written = pages.write_page("failover", answer, tmp_path / "failover.md")
    text = written[0].read_text()
    assert "on the loopback: root is needed" in text and "21% of" in text
    assert "| least connections | 12 | 1 | 1.25 |" in text
    assert len(written) == 4 and all(path.stat().st_size > 1000 for path in written[1:])


@pytest.mark.parametrize("module", [failover, sites])
def test_pages_say_what_they_are(module):
    assert module.TITLE and "argosy testbed" in module.INTRODUCTION
