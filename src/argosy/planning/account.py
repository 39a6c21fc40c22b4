"""The ledger of a run: every GPU-second, from useful work at peak to spares that stand idle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from argosy.ledger import Ledger

# name in the ledger, key in the step model's compute parts, law
_BEYOND = (
    ("attention", "attention_beyond_6n", "FLOPs of scores and values ÷ peak"),
    (
        "other products",
        "products_beyond_6n",
        "FLOPs of products ÷ peak − 6·N (weights that do not multiply, such as norms, make it negative)",
    ),
)
_KERNELS = (
    (
        "matrix products below peak",
        "gemm_inefficiency",
        "2·m·n·k ÷ (peak × efficiency(m, n, k, format)) − 2·m·n·k ÷ peak",
    ),
    (
        "attention below peak",
        "attention_inefficiency",
        "attention FLOPs ÷ measured rate − attention FLOPs ÷ peak",
    ),
    ("memory-bound operations", "memory_bound", "bytes ÷ (memory bandwidth × efficiency)"),
    ("kernel launches", "launch", "launches × launch time"),
)
_COMMUNICATION = (
    ("tensor parallel, exposed", "tp_exposed", "collectives per layer − what overlaps with compute"),
    ("pipeline transfers, exposed", "pp_exposed", "bytes between stages ÷ bandwidth − overlap"),
    ("data parallel, exposed", "dp_exposed", "gradients and weights over the replicas − overlap window"),
    ("expert parallel, exposed", "ep_exposed", "dispatch and combine all-to-all − overlap"),
    ("context parallel, exposed", "cp_exposed", "keys and values over the sequence's ranks − overlap"),
)
_OTHER = (
    ("optimizer", "optimizer", "bytes of states ÷ memory bandwidth"),
    ("stragglers and jitter", "straggler", "cv · E[max of n normals] · step"),
    ("host and other", "other", "host time not hidden behind the device"),
)
_FAILURES = (
    ("checkpoints", "checkpoint", "blocking time and interference per interval"),
    ("rework", "rework", "work since the last safe checkpoint, computed again"),
    ("detection", "detection", "failures × detection time"),
    ("restart", "restart", "failures × restart time"),
    ("waiting for spares", "spare_wait", "Erlang loss: nodes in repair beyond the spares"),
    ("queue", "queue", "stops × queueing time"),
    ("degraded running", "degraded", "replicas away × their share"),
)
DAY = 86400.0
USEFUL = "useful: 6·N·tokens at peak"


def step_ledger(compute: Mapping[str, float], breakdown: Mapping[str, float]) -> Ledger:
    """The productive GPU-seconds of a run by what the steps spend them on.

    `compute` and `breakdown`: GPU-seconds of the whole run under the step model's keys (`Steps.compute_parts` and
    `Steps.breakdown`, times steps, times accelerators), summed over stages.
    """

    def leaves(rows: Sequence[tuple[str, str, str]], amounts: Mapping[str, float]) -> tuple[Ledger, ...]:
        return tuple(Ledger(name, float(amounts[key]), law=law) for name, key, law in rows)

    return Ledger.parent(
        "productive steps",
        (
            Ledger(
                USEFUL,
                float(compute["useful_at_peak"]),
                law="6·N·tokens ÷ dense peak of the format computed in",
            ),
            Ledger.parent("work beyond 6·N", leaves(_BEYOND, compute)),
            Ledger(
                "recomputed activations",
                float(compute["recompute_at_peak"]),
                law="forward FLOPs computed again ÷ peak",
            ),
            Ledger.parent(
                "kernel inefficiency", leaves(_KERNELS, compute), "time of the kernels − their FLOPs at peak"
            ),
            Ledger.parent(
                "exposed communication", leaves(_COMMUNICATION, breakdown), "communication − overlap"
            ),
            Ledger(
                "pipeline bubble", float(breakdown["bubble"]), law="schedule over uneven stages − busy time"
            ),
            Ledger.parent("other in-step", leaves(_OTHER, breakdown)),
        ),
        "steps × step time × accelerators",
    )


def run_ledger(
    name: str,
    steps: Ledger,
    shares: Mapping[str, float],
    wall_s: float,
    accelerators: int,
    spares: int,
    failures_law: str = "Daly's exact form",
) -> Ledger:
    """The whole run: productive steps, failures, planned stops, and spares.

    `shares`: of wall-clock time by state (`reliability.Goodput.shares`), summing to one; `wall_s`: of the run;
    `accelerators` in the job and `spares` standing by; `failures_law`: where the shares come from. The steps' ledger must
    be the productive share.
    """
    whole = wall_s * accelerators
    failures = tuple(Ledger(title, float(shares[key]) * whole, law=law) for title, key, law in _FAILURES)
    planned = (
        Ledger(
            "maintenance",
            float(shares["maintenance"]) * whole,
            law="stops per day × (duration + save + restart)",
        ),
    )
    children = [
        steps,
        Ledger.parent("failures", failures, failures_law),
        Ledger.parent("planned", planned),
    ]
    if spares:
        children.append(
            Ledger(
                "spares standing by",
                float(wall_s * spares),
                law="spare nodes × accelerators × wall-clock time",
            )
        )
    return Ledger.parent(name, tuple(children), "(accelerators + spares) × wall-clock time")


# How each line counts in the compute–communication–coordination view.
_COMMUNICATION_LINES = {"exposed communication"}
_COMPUTE_LINES = {USEFUL, "work beyond 6·N", "recomputed activations", "kernel inefficiency"}


def three_shares(ledger: Ledger) -> dict[str, float]:
    """The C³ view: GPU-seconds of compute, of communication, and of coordination (everything else). They sum to the ledger."""
    sums = {"compute": 0.0, "communication": 0.0}
    for _, node in ledger.walk():
        if node.name in _COMPUTE_LINES:
            sums["compute"] += node.amount
        elif node.name in _COMMUNICATION_LINES:
            sums["communication"] += node.amount
    return {**sums, "coordination": ledger.amount - sums["compute"] - sums["communication"]}
