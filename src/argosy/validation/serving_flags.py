"""Serving rows that cannot mean what their columns say: told apart by arithmetic on the row alone."""

from __future__ import annotations

from argosy.serving.formats import compute_format
from argosy.serving.steady import largest_batch
from argosy.validation.serving_cases import ServingCase
from argosy.workload import count

HALF_EMPTY = 2.0  # sequences that memory holds, over those that ran by Little's law, from which another limit must bind
QUEUED = 0.25  # wait for the first token, over the time of the answer, from which clients must have queued


def flag(case: ServingCase) -> str:
    """Why a row is inconsistent with itself; empty where it is not.

    By Little's law the row's clients and times say how many requests a second it served: prompts beyond the FLOP/s peak
    of the stated accelerators mean several replicas. A wait for the first token of a quarter of the answer's time, though
    the memory holds all clients, means a limit of the batch that the row does not state; so do half as many sequences running as
    the memory holds while others wait.
    """
    tpot, ttft = case.measured.get("tpot_ms"), case.measured.get("ttft_ms")
    if tpot is None or ttft is None:
        return ""
    provider, answer_s = case.provider, (case.output - 1) * tpot / 1e3
    rate = case.concurrency / (ttft / 1e3 + answer_s)
    device = provider.device
    peak = provider.gpus * device.nameplate(compute_format(device, provider.precision))
    needed = rate * (case.input + case.output) * 2 * count(provider.model).without_input_embedding
    if needed > peak:
        return f"beats the peak of {provider.gpus} accelerators ({needed / peak:.1f} times): the row must have several replicas"
    held = float(largest_batch(provider, provider.engine, case.input, case.output))
    if ttft / 1e3 > QUEUED * answer_s and held >= case.concurrency:
        return "clients queued though memory holds them all: the engine's batch limit is not stated"
    if rate * answer_s * HALF_EMPTY < min(held, case.concurrency):
        return (
            "clients queued though memory holds twice as many as ran: the engine's batch limit is not stated"
        )
    return ""
