"""Who may ask and how much: hosts, origins, token, sizes, time, and headers on every response."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from argosy.web import Limits, create_app
from argosy.web.app import STATIC
from argosy.web.diagnoses import Diagnoses
from argosy.web.security import HEADERS, Guard

BASE = "http://127.0.0.1:8321"


def test_every_response_has_the_headers_and_scripts_come_from_here_alone(page):
    for path in ("/", "/static/app.js", "/api/starts", "/api/nothing", "/openapi.json", "/vega.js"):
        answer = page.get(path)
        for name in HEADERS:
            assert name in answer.headers, (path, name)
    policy = page.get("/").headers["content-security-policy"]
    assert "script-src 'self';" in policy and "unsafe-eval" not in policy and "default-src 'none'" in policy


def test_no_file_of_the_page_names_another_machine():
    for file in STATIC.rglob("*.*"):
        named = set(re.findall(r"https?://[^\s\"'`)]+", file.read_text(encoding="utf-8")))
        assert named <= {"http://www.w3.org/2000/svg"}, file


def test_the_interactive_documents_that_load_from_elsewhere_are_off(page):
    assert page.get("/docs").status_code == page.get("/redoc").status_code == 404
    assert page.get("/openapi.json").json()["info"]["title"] == "Argosy"


@pytest.mark.parametrize("host", ["example.com", "127.0.0.1.example.com", "", "localhost.evil:8321"])
def test_another_name_of_this_machine_is_refused(page, host):
    assert page.get("/api/starts", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("host", ["localhost:8321", "127.0.0.1:9", "[::1]:8321", "localhost"])
def test_its_own_names_are_not(page, host):
    assert page.get("/api/starts", headers={"host": host}).status_code == 200


def test_another_pages_requests_are_refused(page, small):
    body = {"text": small}
    assert page.post("/api/check", json=body, headers={"origin": "https://example.com"}).status_code == 403
    assert page.post("/api/check", json=body, headers={"origin": BASE}).status_code == 200


def test_too_much_is_refused_said_or_not(page):
    limit = Limits().body_bytes
    assert page.post("/api/check", content=b"x" * (limit + 1)).status_code == 413
    stream = (b"x" * 65536 for _ in range(limit // 65536 + 2))
    assert page.post("/api/check", content=stream).status_code in (400, 413, 422)
    assert page.post("/api/check", headers={"content-length": "many"}).status_code in (400, 413)


@pytest.mark.parametrize("levels, status", [(30, 200), (60, 422), (500, 422)])
def test_what_is_nested_too_deeply_is_refused(page, small, levels, status):
    deep = "[" * levels + "]" * levels
    body = f'{{"text": {json.dumps(small)}, "changes": {{"fleet.count": {deep}}}}}'
    answer = page.post("/api/change", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == status


@pytest.mark.parametrize(
    "line",
    [
        "extends: [/etc/passwd]",
        "extends: [../../../../etc/passwd]",
        "assumptions: {overrides: /etc/passwd}",
        "facility: {carbon: {profile: /etc/passwd}}",
    ],
)
def test_no_file_is_read_by_its_path(page, small, line):
    answer = page.post("/api/plan", json={"text": small + line + "\n"})
    assert answer.status_code == 422 and "root:" not in answer.text


def test_paths_below_the_static_files_stay_there(page):
    for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static//etc/passwd"):
        assert page.get(path).status_code == 404


def test_every_refusal_has_its_problems_and_heads_are_answered(page):
    assert page.head("/").status_code == page.head("/static/app.js").status_code == 200
    for answer in (page.get("/api/nothing"), page.put("/api/plan"), page.get("/static/nothing.js")):
        assert answer.status_code in (404, 405) and answer.json()["problems"][0]["message"]


def test_a_body_that_does_not_come_is_given_up():
    told = []

    async def never():
        await asyncio.sleep(60)

    async def app(scope, receive, send):
        told.append(await receive())

    async def answered(message):
        raise AssertionError("nothing was to be answered")

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/plan",
        "query_string": b"",
        "headers": [(b"host", b"localhost")],
    }
    asyncio.run(Guard(app, Limits(part_seconds=0.01))(scope, never, answered))
    assert told == [{"type": "http.disconnect"}]


def test_a_server_for_others_wants_its_token():
    with pytest.raises(ValueError, match="needs a token"), TestClient(create_app(hosts=()), base_url=BASE):
        pass
    app = create_app(Limits(workers=1), hosts=(), token="secret")
    with TestClient(app, base_url="http://fleet.example:8321") as other:
        assert other.get("/api/catalog").status_code == 401
        assert other.get("/api/catalog", headers={"authorization": "Bearer wrong"}).status_code == 401
        assert other.get("/api/catalog", headers={"authorization": "Bearer secret"}).status_code == 200
        first = other.get("/?token=secret")
        assert first.status_code == 200 and "HttpOnly; SameSite=Strict" in first.headers["set-cookie"]
        assert other.get("/api/catalog").status_code == 200  # by the cookie


def test_what_takes_too_long_is_given_up_and_the_next_is_answered(small):
    with TestClient(create_app(Limits(workers=1, seconds=0.01)), base_url=BASE) as hasty:
        answer = hasty.post("/api/plan", json={"text": small})
        assert answer.status_code == 503 and "more than 0.01 s" in answer.text
        assert hasty.get("/api/starts").status_code == 200


def test_more_than_may_wait_are_turned_away(small):
    with TestClient(create_app(Limits(workers=1, waiting=0)), base_url=BASE) as full:
        assert full.post("/api/check", json={"text": small}).status_code == 503


class Given:
    def __init__(self, filename: str | None, content: bytes) -> None:
        self.filename, self._content = filename, content

    async def read(self, size: int = -1) -> bytes:
        content, self._content = self._content, b""
        return content


async def _kept(limits: Limits) -> list[Path]:
    store = Diagnoses(limits)
    names = [Given("../../etc/passwd", b"a"), Given(None, b"b"), Given("日志.log", b"c"), Given("..", b"d")]
    folders = [(await store.keep(names))[1] for _ in range(3)]
    files = sorted(str(path.relative_to(folders[-1])) for path in folders[-1].rglob("*") if path.is_file())
    assert files == ["0000/_.._etc_passwd", "0001/file", "0002/__.log", "0003/file"]
    assert [folder.exists() for folder in folders] == [False, True, True]
    store.close()
    return folders


def test_uploads_stay_in_their_folder_and_go_when_there_are_too_many_or_at_the_end():
    folders = asyncio.run(_kept(Limits(uploads_kept=2)))
    assert not any(folder.exists() for folder in folders)
