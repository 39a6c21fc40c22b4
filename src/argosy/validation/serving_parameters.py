"""Numbers of serving engines that measurements may set: each with its meaning, a start and how far it may stray."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Parameter:
    """One number of `serving.engine.Engine`: `owner` an engine or `any`; `width`: prior standard deviation of its
    logarithm; `most`: upper limit (1 for shares of a peak, inf else).
    """

    owner: str
    field: str
    start: float
    width: float
    most: float
    meaning: str

    @property
    def path(self) -> str:
        """`owner.field`, as the shipped table has it."""
        return f"{self.owner}.{self.field}"


_INF = float("inf")
_SHARED = (
    ("kernel_s", 2e-6, 0.5, _INF, "s to start and drain one kernel inside a captured graph"),
    (
        "weight_efficiency",
        0.85,
        0.3,
        1.0,
        "share of memory bandwidth in reading dense weights and activations",
    ),
    (
        "expert_efficiency",
        0.7,
        0.3,
        1.0,
        "share of memory bandwidth in reading the experts that tokens touch, on Blackwell",
    ),
    ("kv_efficiency", 0.7, 0.3, 1.0, "share of memory bandwidth in reading keys and values, on Blackwell"),
    (
        "compute_efficiency",
        0.8,
        0.3,
        1.0,
        "rate of products and attention over the kernels' own measured curves",
    ),
    (
        "expert_compute_efficiency",
        0.6,
        0.5,
        1.0,
        "rate of grouped products over the curves of plain products, on Blackwell",
    ),
    # Starts and widths: the memory-bound and compute-bound halves of the measured times of grouped products on H100.
    (
        "older_expert_efficiency",
        0.78,
        0.1,
        1.0,
        "share of memory bandwidth in reading touched experts before Blackwell",
    ),
    (
        "older_expert_compute_efficiency",
        0.7,
        0.2,
        1.0,
        "rate of grouped products over the kernels' curves before Blackwell",
    ),
    (
        "older_kv_efficiency",
        0.7,
        0.3,
        1.0,
        "share of memory bandwidth in reading keys and values before Blackwell",
    ),
    (
        "routing_skew",
        0.3,
        0.5,
        0.9,
        "exponent of the power law of the experts' popularity, 0 where routing is uniform",
    ),
    (
        "older_widening_efficiency",
        0.7,
        0.7,
        1.0,
        "rate of computing MXFP4 expert products, widened to BF16 before Blackwell, over BF16's",
    ),
    ("block_efficiency", 0.9, 0.3, 1.0, "rate of products with block-scaled FP8 over the roofline's"),
    ("fp4_efficiency", 0.9, 0.3, 1.0, "rate of dense products in NVFP4 over the roofline's"),
    ("collective_factor", 1.0, 0.5, _INF, "time of an engine's all-reduces over NCCL's"),
    ("exchange_factor", 1.0, 0.5, _INF, "time of an engine's exchanges between expert ranks over NCCL's"),
    (
        "widening_efficiency",
        0.7,
        0.7,
        1.0,
        "rate of INT4 expert products, widened to BF16 as read, over the others'",
    ),
)
_OWN = (
    ("step_s", 1e-3, 1.0, _INF, "s of an iteration besides its kernels: scheduling, graph launch, sampling"),
    ("sequence_s", 1e-5, 1.0, _INF, "s of an iteration per running sequence"),
    (
        "launch_s",
        1.5e-5,
        1.0,
        _INF,
        "s of the host per kernel of an iteration with prompts, outside captured graphs",
    ),
    ("request_s", 0.02, 1.0, _INF, "s before a request's first iteration: HTTP, tokenising, hand-over"),
)
PARAMETERS = tuple(
    [Parameter("any", *row) for row in _SHARED]
    + [Parameter(owner, *row) for owner in ("vllm", "trtllm", "sglang") for row in _OWN]
)
