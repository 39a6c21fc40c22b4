"""One server for all tests of the page, with one worker process."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest
import uvicorn
from fastapi.testclient import TestClient

from argosy.web import Limits, create_app

BASE = "http://127.0.0.1:8321"
SMALL = """name: small   # a comment that stays
fleet: {accelerator: H100-SXM, count: 64}
training:
  name: pretrain
  model: llama-3.1-8b
  tokens: 1e11
  sequence_length: 8192
  global_batch: 256 sequences
"""


@pytest.fixture(scope="session")
def page() -> Iterator[TestClient]:
    with TestClient(create_app(Limits(workers=1)), base_url=BASE) as client:
        yield client


@pytest.fixture(scope="session")
def small() -> str:
    return SMALL


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of a real server in this process, for clients that are programs of their own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = uvicorn.Config(create_app(Limits(workers=2)), port=port, log_level="error", ws="none")
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}"
    running.should_exit = True
    thread.join(timeout=20)
