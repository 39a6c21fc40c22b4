"""How much one request may ask for: its size, its time, and how many are answered at once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of the server. `body_bytes`: of a request without files; `upload_bytes`: of all files of a diagnosis;
    `uploads_kept`: diagnoses whose files stay until they are deleted or the server ends; `seconds`: one answer may take;
    `workers`: answers computed at once; `waiting`: requests that may queue for one, more are turned away with 503;
    `part_seconds`: a body's next part may take before the request is given up; `connections`: open at once.
    """

    body_bytes: int = 2_000_000
    upload_bytes: int = 1_000_000_000
    uploads_kept: int = 8
    seconds: float = 120.0
    workers: int = 2
    waiting: int = 16
    part_seconds: float = 30.0
    connections: int = 256
