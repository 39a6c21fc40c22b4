"""What people do: plan a preset, move a slider, ask why, share, compare, drop a trace, switch the language."""

from __future__ import annotations

import gzip
import json
import re
import time

import pytest


def until(page, expression, argument=None, seconds=240):
    """Wait until an expression of the page is true; the page's own policy forbids Playwright's waiting for functions."""
    end = time.monotonic() + seconds
    while not page.evaluate(expression, argument):
        assert time.monotonic() < end, expression
        page.wait_for_timeout(100)


def whole(page):
    """Wait for the answer with its draws."""
    page.wait_for_selector("#headline th:has-text('P90')")
    page.wait_for_selector("#answer figure svg")


def filled(page):
    """Wait until everything that was opened shows its content."""
    until(
        page,
        "[...document.querySelectorAll('main details[open] > .later')].every(each => each.hasChildNodes())",
    )


def test_plan_a_preset_move_a_slider_and_ask_why(watched):
    page = watched.open("plan")
    whole(page)
    assert "feasible" in page.inner_text("#verdict")
    before = page.inner_text("#headline tbody tr:first-child td:nth-child(3)")
    page.fill("#field-count", "1024")
    page.press("#field-count", "Enter")
    cell = "document.querySelector('#headline tbody tr:first-child td:nth-child(3)')"
    until(page, f"before => {cell} && {cell}.innerText !== before", before)
    whole(page)
    days = float(page.inner_text("#headline tbody tr:first-child td:nth-child(3)"))
    assert days == pytest.approx(float(before) / 2, rel=0.1)
    page.click("#headline tbody tr:first-child button.why")
    dialog = page.inner_text("dialog[open]")
    assert (
        "steps × step time ÷ goodput" in dialog
        and "tokens ÷ (sequences × length)" in dialog
        and "P10 – P90" in dialog
    )
    page.keyboard.press("Escape")
    assert page.query_selector("dialog[open]") is None
    page.click("#job-pretrain tr:has-text('MFU by 6·N') button.why")
    assert "accelerators.H100-SXM" in page.inner_text("dialog[open]")
    page.keyboard.press("Escape")
    watched.shot("plan")


def test_a_slider_by_keyboard_answers_at_the_layout_that_is_there(watched):
    page = watched.open("plan")
    whole(page)
    page.focus("#field-restart-slider")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Tab")
    until(page, "document.querySelector('#told').innerText !== 'Layouts searched, 2,000 draws.'")
    whole(page)
    until(page, "document.querySelector('#told').innerText.includes('searched')")


def test_no_change_is_lost_to_another(watched):
    page = watched.open("plan")
    whole(page)
    page.evaluate("""() => {
      for (const [id, value] of [["field-count", "768"], ["field-model", "llama-3.1-8b"]]) {
        const field = document.getElementById(id);
        field.value = value;
        field.dispatchEvent(new Event("change", { bubbles: true }));
      }
    }""")
    text = "document.querySelector('#yaml').value"
    until(page, f"{text}.includes('count: 768') && {text}.includes('llama-3.1-8b')", seconds=60)


def test_a_permalink_carries_the_scenario(watched):
    page = watched.open("plan")
    whole(page)
    page.select_option("#field-model", "llama-3.1-8b")
    until(page, "location.hash.length > 100")
    page.click("text=Copy link")
    page.wait_for_selector("text=copied")
    link = page.evaluate("navigator.clipboard.readText()")
    page.click("text=Copy as YAML")
    text = page.evaluate("navigator.clipboard.readText()")
    other = page.context.new_page()
    other.goto(link)
    other.wait_for_selector("#headline th:has-text('P90')", timeout=240_000)
    assert other.input_value("#field-model") == "llama-3.1-8b"
    assert other.input_value("#yaml") == text
    for name, part in (("Copy as Python", "argosy.loads"), ("Copy as command", "argosy plan scenario.yaml")):
        page.click(f"text={name}")
        until(page, "part => navigator.clipboard.readText().then(text => text.includes(part))", part)


def test_a_damaged_permalink_says_so(watched):
    for damaged in ("#/plan/AAAA", "#/plan/%ZZ", "#/plan/" + "A" * 100_000):
        page = watched.page
        page.goto("about:blank")
        page.goto(f"{watched.address}/{damaged}")
        whole(page)
        assert "The link is damaged" in page.inner_text("#told")


def test_another_machines_browser_works_by_the_token(chromium, tmp_path):
    import subprocess
    import sys

    with subprocess.Popen(
        [sys.executable, "-m", "argosy", "web", "--host", "0.0.0.0", "--port", "8397"],
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        address = re.search(r"(http://)[^:]+(:8397/\?token=\S+)", server.stderr.readline())
        url = f"{address[1]}127.0.0.1{address[2]}"
        context = chromium.new_context()
        page = context.new_page()
        said = []
        page.on("console", lambda message: said.append(message.text))
        page.set_default_timeout(240_000)
        page.goto(url)
        whole(page)
        assert said == []
        other = context.new_page()  # by the cookie
        other.set_default_timeout(240_000)
        other.goto(url.partition("?")[0])
        whole(other)
        stranger = chromium.new_context().new_page()
        assert stranger.goto(url.partition("?")[0]).status == 401
        server.terminate()
        context.close()


def test_a_broken_scenario_says_where(watched):
    page = watched.open("plan")
    whole(page)
    page.click("details.text summary")
    page.fill("#yaml", page.input_value("#yaml").replace("count: 512", "cuont: 512"))
    page.wait_for_selector("#told .problems, .form .problems")
    assert re.search(r"\d+:\d+ fleet.cuont: unknown key; write count", page.inner_text(".problems >> nth=0"))


def test_the_explorer_shows_why_shapes_are_out_and_takes_one(watched):
    page = watched.open("plan")
    whole(page)
    page.click("text=Explore all layouts")
    page.wait_for_selector("#more figure svg")
    page.select_option("select[aria-label=Cell]", "0")
    assert page.inner_text("#inspected").startswith("tp 1 × pp 1")
    options = page.eval_on_selector_all(
        "select[aria-label=Cell] option", "all => all.map(each => each.innerText)"
    )
    able = next(index for index, text in enumerate(options) if text.endswith("%") and "pp 4" in text)
    page.select_option("select[aria-label=Cell]", str(able))
    watched.shot("explorer")
    page.click("text=Take this layout")
    until(page, "document.querySelector('#yaml').value.includes('pp: 4')")
    whole(page)


def test_step_life_and_facility_are_drawn_when_they_are_opened(watched):
    page = watched.open("plan")
    whole(page)
    for title in ("One step, stage by stage", "The job's life, simulated", "The facility: power tree"):
        page.click(f"#more >> text={title}")
        opened = page.locator("#more details", has_text=title)
        opened.locator("figure svg").first.wait_for()
        opened.locator("text=Why these numbers?").first.click()
        assert "Formula:" in page.inner_text("dialog[open]")
        page.keyboard.press("Escape")
    page.click("#more tr:has-text('Swing within a step') button.why")
    assert "highest − lowest power" in page.inner_text("dialog[open]")
    page.keyboard.press("Escape")
    watched.shot("facility")


def test_reports_are_kept(watched):
    page = watched.open("plan")
    whole(page)
    with page.expect_download() as download:
        page.click("text=Report (HTML)")
    assert "<!doctype html>" in download.value.path().read_text(encoding="utf-8")
    with page.expect_download() as picture:
        page.click("text=keep as SVG >> nth=0")
    assert picture.value.suggested_filename == "argosy.svg"


def test_compare_two(watched):
    page = watched.open("compare")
    page.fill("#side-b", page.input_value("#side-a").replace("count: 512", "count: 1024"))
    page.click("#run")
    page.wait_for_selector("#difference")
    assert "B against A" in page.inner_text("#difference") and "days less" in page.inner_text("#difference")
    page.wait_for_selector("figure svg")
    watched.shot("compare")


def test_drop_a_trace_and_delete_it(watched, tmp_path):
    trace = tmp_path / "rank0.pt.trace.json.gz"
    events = [
        {
            "ph": "X",
            "cat": "kernel",
            "name": "gemm",
            "pid": 0,
            "tid": 7,
            "ts": 1000 + 100 * i,
            "dur": 80,
            "args": {"stream": 7},
        }
        for i in range(50)
    ]
    content = {"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": events}
    trace.write_bytes(gzip.compress(json.dumps(content).encode()))
    page = watched.open("diagnose")
    page.set_input_files("#files", str(trace))
    page.wait_for_selector("#findings")
    assert "rank0.pt.trace.json.gz" in page.inner_text("#answer")
    watched.shot("diagnose")
    page.click("text=Delete the files")
    page.wait_for_selector("text=The files are deleted.")


def test_the_handbook_opens_claims_and_varies_an_exercise(watched):
    page = watched.open("handbook")
    page.wait_for_selector("text=NVLink 4 over InfiniBand NDR")
    page.click("text=Where the documents are wrong")
    page.wait_for_selector("details:has-text('Where the documents are wrong') table")
    page.click("summary:text-is('Exercises')")
    page.click("summary:has-text('Days of training')")
    page.fill("#given-1-n", "1024")
    page.click("details:has-text('Days of training') >> text=Solve")
    until(page, "/1,?024/.test(document.querySelector('main').innerText)")
    page.click("summary:text-is('Words')")
    page.wait_for_selector("text=Model FLOP utilisation")
    watched.shot("handbook")


def test_the_catalog_shows_sources(watched):
    page = watched.open("catalog")
    page.fill("#asked", "H100")
    page.press("#asked", "Enter")
    page.wait_for_selector("#entry h2")
    assert "datasheet" in page.inner_text("#entry")
    watched.shot("catalog")


def test_serving_sizes_a_fleet(watched):
    page = watched.open("serving")
    page.wait_for_selector("section.service table")
    page.wait_for_selector("#answer figure svg")
    before = page.inner_text("#answer tr:has-text('Replicas') >> nth=0")
    page.click("section.service button.why >> nth=0")
    assert "ttft_p99" in page.inner_text("dialog[open]")
    page.keyboard.press("Escape")
    page.click("details.text summary")
    page.fill("#yaml", page.input_value("#yaml").replace("name: chat\nfleet", "name: chat   # stays\nfleet"))
    page.fill("#field-rate", "60 req/s")  # at once: what was typed into the text is not lost
    page.press("#field-rate", "Enter")
    until(page, "document.querySelector('#yaml').value.includes('rate: 60 req/s')")
    assert "# stays" in page.input_value("#yaml")
    row = "[...document.querySelectorAll('#answer tr')].find(each => each.innerText.includes('Replicas'))"
    until(page, f"before => {row} && {row}.innerText !== before", before)
    page.click("figure:has-text('Why these numbers?') >> nth=0 >> text=Why these numbers?")
    assert "last token − arrival" in page.inner_text("dialog[open]")
    page.keyboard.press("Escape")
    watched.shot("serving")


def test_serving_under_requests_of_ones_own(watched, tmp_path):
    trace = tmp_path / "mine.csv"
    rows = [f"{0.05 * i:.2f},{200 + i % 7},{50 + i % 5}" for i in range(4000)]
    trace.write_text("\n".join(["arrival_s,input_tokens,output_tokens", *rows]) + "\n")
    page = watched.open("serving")
    page.wait_for_selector("section.service table")
    page.set_input_files("#trace", str(trace))
    until(page, "document.querySelector('#told').innerText.includes('the requests of mine.csv')")
    page.click("text=In sentences")
    page.wait_for_selector("#answer li:has-text('4,000 requests')")
    page.click("text=Without it")
    until(page, "document.querySelector('#told').innerText.startsWith('Sized over')")


def test_chinese_all_over(watched):
    page = watched.open("plan")
    whole(page)
    page.select_option("#language", "zh")
    page.wait_for_selector("#headline th:has-text('P90')")
    page.wait_for_selector("text=每一个 GPU 秒的去向")
    assert page.get_attribute("html", "lang") == "zh-CN"
    for title in ("任务的一生", "一步的时间线"):
        page.click(f"#more >> text={title}")
        page.wait_for_selector(f"#more details:has-text('{title}') figure svg")
    page.wait_for_selector("text=何时完成：500 次模拟")
    shown = {
        "compare": "对比",
        "diagnose": "诊断",
        "handbook": "必记数字",
        "catalog": "数据目录",
        "serving": "模型与集群",
    }
    for name, text in shown.items():
        watched.open(name)
        page.wait_for_selector(f"main >> text={text} >> nth=0")
    page.reload()
    page.wait_for_selector("main >> text=模型与集群 >> nth=0")  # it is remembered


ENGLISH = """() => {
  const found = [], walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    if (walker.currentNode.parentElement.closest("textarea, code, option")) continue;
    if (/[A-Za-z]{3,} [a-z]{2,} [a-z]/.test(walker.currentNode.textContent)) found.push(walker.currentNode.textContent.trim());
  }
  return [...new Set(found)];
}"""


def test_no_sentence_of_the_engine_is_english_on_the_chinese_page(watched):
    page = watched.open("plan")
    whole(page)
    page.select_option("#language", "zh")
    page.wait_for_selector("text=每一个 GPU 秒的去向")
    whole(page)
    for title in ("依据", "说明", "表格与来由"):
        page.click(f"summary:has-text('{title}') >> nth=0")
    page.wait_for_selector("details[open] table")
    filled(page)
    cited = ("http", "arXiv", "guide", "sheet")
    assert not [text for text in page.evaluate(ENGLISH) if not any(each in text for each in cited)]
    watched.open("serving")
    page.wait_for_selector("section.service table")
    for title in ("文字说明", "排队定律", "每次运行的校验"):
        page.click(f"summary:has-text('{title}')")
    filled(page)
    assert page.evaluate(ENGLISH) == []
    watched.open("handbook")
    page.click("summary:text-is('全部论断及核对')")
    page.wait_for_selector("text=轨道平面数等于单机网卡数。")
    names = ("Wei et al.", "`argosy guide paradigms`")
    assert not [text for text in page.evaluate(ENGLISH) if not any(each in text for each in names)]
