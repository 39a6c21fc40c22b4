"""The log as it is written, and as arrays at the end."""

from __future__ import annotations

import numpy as np

from argosy.scheduling.jobs import FRACTION_STEPS
from argosy.scheduling.machine import Places
from argosy.scheduling.outcome import Log


class Recorder:
    """Lists that grow while a simulation runs."""

    def __init__(self) -> None:
        self._rows: list[tuple[float, int, int, int, int]] = []
        self._nodes: list[int] = []
        self._amounts: list[float] = []
        self._devices: list[int] = []

    def add(self, time: float, event: int, job: int, places: Places | None = None) -> None:
        """Something of a job, with the places that it takes or gives back."""
        first = len(self._nodes)
        if places is not None:
            self._nodes += places.nodes.tolist()
            if places.steps:
                self._amounts.append(places.steps / FRACTION_STEPS)
                self._devices.append(places.device)
            else:
                self._amounts += places.amounts.tolist()
                self._devices += [-1] * len(places.nodes)
        self._rows.append((time, event, job, first, len(self._nodes) - first))

    def node(self, time: float, event: int, node: int) -> None:
        """Something of a node."""
        self._rows.append((time, event, -1, len(self._nodes), 1))
        self._nodes.append(node)
        self._amounts.append(0.0)
        self._devices.append(-1)

    def log(self) -> Log:
        """All of it as arrays."""
        table = np.array(self._rows, dtype=float).reshape(
            -1, 5
        )  # indices are far below where floats skip whole numbers
        return Log(
            table[:, 0].copy(),
            table[:, 1].astype(np.int8),
            table[:, 2].astype(np.int64),
            table[:, 3].astype(np.int64),
            table[:, 4].astype(np.int64),
            np.array(self._nodes, dtype=np.int64),
            np.array(self._amounts, dtype=float),
            np.array(self._devices, dtype=np.int64),
        )
