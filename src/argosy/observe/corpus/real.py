"""Public logs, dumps and traces of real clusters, with what is known to be true of them.

They lie beside a checkout, if at all.
"""

from __future__ import annotations

from pathlib import Path

from argosy.observe.corpus.truth import Culprits, Expected, Truth

WEIGHT = 5  # of a real case in the weighted score: a generated one is 1


def real_cases(samples: Path) -> list[tuple[Truth, list[Path]]]:
    """The cases whose files exist under `samples`."""
    traces, logs, nccl = samples / "kineto", samples / "trainlog", samples / "nccldebug"
    late = Expected(("straggler-rank",), Culprits(ranks=(7,)))
    split = Expected(("hang-missing-rank",), Culprits(ranks=(0, 4)), named=True)
    given = [
        # Rank 7 comes last to most collectives; the others' NCCL time is their waiting for it. One step was recorded,
        # so that blaming rank 7 is allowed and not demanded; blaming another rank is wrong. Kernels are tiny, and the loader
        # takes 1.1 of the 14.5 ms while the devices idle: host and data may be named.
        (
            _truth("dlrm-8-ranks", (), ("host-bound", "data-starvation", "straggler-rank"), late),
            sorted(traces.glob("param_dlrm8_*")),
        ),
        (
            _truth(
                "bigscience-pp64",
                (Expected(("timer-misattribution",)),),
                ("bubble", "recompute-cost", "mfu-drift"),
            ),
            [logs / "bigscience_meg_gpt2_base_n64_dp1_tp4_pp64-1809655.out.log"],
        ),
        # Ranks 0 and 4 had queued 77 collectives, the six others 79: those two never came to number 78.
        (_truth("hang-2-against-6", (split,), ()), [nccl / "torch_watchdog_hang_8rank_2v6_split.log"]),
        (
            _truth(
                "socket-fallback", (Expected(("socket-fallback",), Culprits(nodes=("esm2-worker-0",))),), ()
            ),
            [nccl / "nccl_info_socket_fallback_4ranks.log"],
        ),
        (_truth("infiniband-16-ranks", (), ()), [nccl / "nccl_info_h_16ranks_ib_gdrdma.log"]),
        (
            _truth("bigscience-n16", (), ("bubble", "recompute-cost", "timer-misattribution")),
            [logs / "bigscience_meg_ds_3d_gpt2_perf_n16-ds-on.out.log"],
        ),
        (
            _truth("atorch", (), ("checkpoint-cost",)),
            [logs / "dlrover_atorch_events_0.log"],
        ),
    ]
    return [(truth, paths) for truth, paths in given if paths and all(path.is_file() for path in paths)]


def _truth(
    name: str, expected: tuple[Expected, ...], tolerated: tuple[str, ...], allowed: Expected | None = None
) -> Truth:
    """`allowed`: a finding that may be made, if it names whom it may name."""
    wanted = expected + ((allowed,) if allowed else ())
    return Truth("real", True, name, 1.0, None, bool(expected), wanted, tolerated)
