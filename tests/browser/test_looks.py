"""Both themes, both languages, both widths: no rule of axe-core is broken, nothing is wider than the screen."""

from __future__ import annotations

import pytest

PAGES = ("plan", "compare", "diagnose", "serving", "handbook", "catalog")
FOCUSED = "(each => each.id || each.tagName + ':' + each.textContent)(document.activeElement)"
LOOKS = [
    pytest.param(
        {"viewport": {"width": width, "height": 800}, "color_scheme": theme, "locale": locale},
        id=f"{width}-{theme}-{locale}",
    )
    for width, theme, locale in (
        (1280, "light", "en-US"),
        (390, "dark", "en-US"),
        (1280, "dark", "zh-CN"),
        (390, "light", "zh-CN"),
    )
]


@pytest.mark.parametrize("watched", LOOKS, indirect=True)
@pytest.mark.parametrize("name", PAGES)
def test_it_can_be_used_by_everybody(watched, name, request):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="make verify-web installs it"
    ).Axe()
    page = watched.open(name)
    if name == "plan":
        page.wait_for_selector("#headline th:has-text('P90')")
        page.wait_for_selector("#answer figure svg")
    if name == "handbook":
        page.wait_for_selector("table")
    watched.shot(f"look-{request.node.callspec.id}")
    found = axe.run(page)
    broken = [
        f"{each['id']}: {[node['target'] for node in each['nodes']][:4]}"
        for each in found.response["violations"]
    ]
    assert not broken
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_everything_is_reached_by_keyboard(watched):
    page = watched.open("plan")
    page.wait_for_selector("#headline")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate(FOCUSED))
    assert {
        "language",
        "theme",
        "start",
        "field-accelerator",
        "field-count",
        "field-count-slider",
        "A:Handbook",
    } <= reached
