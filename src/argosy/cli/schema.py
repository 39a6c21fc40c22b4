"""`argosy schema`: the scenario file's JSON schema, for editors that complete and check while one types."""

from __future__ import annotations

import json


def schema() -> None:
    """Print the JSON schema of a scenario file."""
    from argosy.spec import json_schema

    print(json.dumps(json_schema(), indent=1, ensure_ascii=False))
