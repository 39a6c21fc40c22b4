"""Requests drawn from the published schema, well formed and not: none is a bug of the server (5xx), every answer as described."""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, status_code_conformance

from argosy.web import Limits, create_app

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance]
QUIET = {
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "derandomize": True,
    "database": None,
}
schema = schemathesis.openapi.from_dict(create_app(Limits(workers=1)).openapi())


@schema.parametrize()
@settings(max_examples=8, **QUIET)
def test_no_request_is_a_bug(case, server):
    case.call_and_validate(base_url=server, checks=CHECKS, timeout=120)


@pytest.mark.slow
@schema.parametrize()
@settings(max_examples=150, **QUIET)
def test_no_request_is_a_bug_many(case, server):
    case.call_and_validate(base_url=server, checks=CHECKS, timeout=120)
