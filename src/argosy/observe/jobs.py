"""Which traces of a folder are one job's: the ranks of a job agree on its size, and no job mixes vendors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence

from argosy.observe.records import RankTrace

_DAY_NS = 86_400 * 10**9
_BASE_NS = 7_889_238 * 10**9  # Kineto's base time: ranks of one job may lie one apart


def one_job(
    traces: Sequence[RankTrace], starts: Sequence[int]
) -> tuple[list[RankTrace], list[RankTrace], str]:
    """The traces of the job that most of them are of, those of others, and by what they were told apart.

    By the number of ranks that the traces tell, then by the device's vendor; a trace that names neither a size nor a
    collective joins those within a day of it.
    """
    kept, why = list(range(len(traces))), []
    tells: tuple[tuple[Callable[[RankTrace], Hashable], str], ...] = (
        (lambda trace: trace.position.world, "another number of ranks"),
        (vendor, "another vendor's devices"),
    )
    for told, name in tells:
        seen = Counter(found for i in kept if (found := told(traces[i])) is not None)
        if len(seen) > 1:
            chosen = seen.most_common(1)[0][0]
            kept = [i for i in kept if told(traces[i]) in (chosen, None)]
            why.append(name)
    middle = sorted(starts[i] for i in kept)[len(kept) // 2]
    near = [i for i in kept if not _stray(traces[i], starts[i] - middle)]
    if near and len(near) < len(kept):
        why.append("days apart, with no collective that ties them")
        kept = near
    inside = set(kept)
    others = [trace for i, trace in enumerate(traces) if i not in inside]
    return [traces[i] for i in kept], others, ", ".join(why)


def vendor(trace: RankTrace) -> str | None:
    """AMD or NVIDIA by the device's name; None where the trace names none."""
    if not trace.device:
        return None
    return "AMD" if trace.device.upper().startswith(("AMD", "INSTINCT", "MI")) else "NVIDIA"


def _stray(trace: RankTrace, apart_ns: int) -> bool:
    """Whether nothing ties a trace to a job whose middle lies so far from it."""
    if trace.position.world is not None or len(trace.collectives.start_ns):
        return False
    rest = abs(apart_ns) % _BASE_NS
    return min(rest, _BASE_NS - rest) > _DAY_NS


def one_window(
    candidates: dict[int, list[int]], starts: Sequence[int], steps: Sequence[frozenset[int]]
) -> dict[int, int]:
    """Of several traces a rank the one of the window that most ranks recorded: the same steps, at about the same time.

    `candidates`: indices of each rank's traces; `starts` (ns) and `steps` of every trace. Returns the index for each rank.
    """
    doubled = min((rank for rank, every in candidates.items() if len(every) > 1), default=None)
    if doubled is None:
        return {rank: every[0] for rank, every in candidates.items()}
    best: tuple[tuple[int, int], dict[int, int]] | None = None
    for anchor in sorted(candidates[doubled], key=lambda i: (starts[i], i)):
        chosen = {
            rank: min(
                every,
                key=lambda i: (
                    -len(steps[i] & steps[anchor]),
                    abs(starts[i] - starts[anchor]),
                    -len(steps[i]),
                    i,
                ),
            )
            for rank, every in candidates.items()
        }
        shared = sum(len(steps[i] & steps[anchor]) for i in chosen.values() if i != anchor)
        score = shared, -sum(abs(starts[i] - starts[anchor]) for i in chosen.values())
        if best is None or score > best[0]:
            best = score, chosen
    assert best is not None
    return best[1]
