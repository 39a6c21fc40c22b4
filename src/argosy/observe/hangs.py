"""Where each rank of a hanging job stands, by PyTorch's watchdog and by flight recorders, group by group."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from argosy.observe.observed import Observed
from argosy.observe.records import Place

_FREE_SIZES = frozenset(
    {"all_to_all", "gather", "scatter", "send_recv", "coalesced"}
)  # members' sizes may differ


_ALIKE = 8  # collectives in the same order on all ranks, before an order tells anything: stages of a pipeline differ at once
LARGEST_WORLD = 1 << 24  # ranks: a message that tells of more is damaged


@dataclass
class Stand:
    """One rank in one group: the last work it enqueued and completed (None unknown), what it was stuck in, since when (ns; None
    unknown), and the places.
    """

    rank: int
    enqueued: int | None = None
    completed: int | None = None
    stuck: int | None = None
    since_ns: int | None = None
    work: dict[int, tuple[str, object]] = field(default_factory=dict)  # sequence → operation and size
    places: list[Place] = field(default_factory=list)

    def at_least(self, enqueued: int | None, completed: int | None) -> None:
        """Keep the furthest that any line tells."""
        if enqueued is not None:
            self.enqueued = max(enqueued, self.enqueued if self.enqueued is not None else enqueued)
        if completed is not None:
            self.completed = max(completed, self.completed if self.completed is not None else completed)


@dataclass(frozen=True)
class Hang:
    """One group in which somebody waits: `sequence`: the work that does not end; `operation`; the ranks' stands; `members`
    where they are known; `behind`: ranks that never came to it; `silent`: members without any line or dump.
    """

    group: str
    sequence: int
    operation: str
    stands: dict[int, Stand]
    members: tuple[int, ...]
    behind: tuple[int, ...]
    silent: tuple[int, ...]

    @property
    def waiting(self) -> tuple[int, ...]:
        """Ranks that came to the work and wait in it."""
        return tuple(rank for rank in self.stands if rank not in self.behind)


def hangs(observed: Observed) -> list[Hang]:
    """Groups with a work that timed out, or that flight recorders show started and not completed on some ranks."""
    stands: dict[str, dict[int, Stand]] = defaultdict(dict)
    members: dict[str, tuple[int, ...]] = {}
    _of_messages(observed, stands)
    _of_recordings(observed, stands, members)
    world = _world(observed)
    found = []
    for group, each in stands.items():
        stuck = [stand.stuck for stand in each.values() if stand.stuck is not None]
        if not stuck:
            continue
        sequence = min(stuck)
        behind = tuple(
            sorted(
                rank
                for rank, stand in each.items()
                if stand.enqueued is not None and stand.enqueued < sequence and stand.stuck is None
            )
        )
        known = members.get(group) or (tuple(range(world)) if world and _default(group) else ())
        silent = tuple(rank for rank in known if rank not in each)
        operation = next((stand.work[sequence][0] for stand in each.values() if sequence in stand.work), "")
        found.append(Hang(group, sequence, operation, dict(sorted(each.items())), known, behind, silent))
    return found


def _default(group: str) -> bool:
    return group in ("", "0", "default_pg", "0(default_pg)", "world")


def _world(observed: Observed) -> int:
    """Ranks of the job: by NCCL's largest communicator, or one more than the highest rank that says anything."""
    sizes = [int(each.values.get("ranks") or 0) for each in observed.messages if each.kind == "init"]
    ranks = [each.rank for each in observed.messages if each.rank is not None]
    ranks += [each.rank for each in observed.recordings if each.rank is not None]
    return max(size for size in (0, *sizes, *(rank + 1 for rank in ranks)) if size <= LARGEST_WORLD)


def _of_messages(observed: Observed, stands: dict[str, dict[int, Stand]]) -> None:
    names: dict[int, str] = {}
    for each in observed.messages:  # lines without a group are the rank's own, told elsewhere in the file
        if (
            each.rank is not None
            and each.values.get("group") is not None
            and each.kind in ("timeout", "last-work", "dump", "exception")
        ):
            names.setdefault(each.rank, str(each.values["group"]))
    usual = next(iter(names.values()), "default_pg")
    for each in observed.messages:
        if each.rank is None or each.kind not in ("timeout", "dump", "last-work", "exception"):
            continue
        group = str(each.values.get("group") or names.get(each.rank, usual))
        stand = stands[group].setdefault(each.rank, Stand(each.rank))
        stand.at_least(each.values.get("enqueued"), each.values.get("completed"))
        sequence = each.values.get("sequence")
        if sequence is not None and each.kind in ("timeout", "exception", "last-work"):
            stand.stuck = sequence if stand.stuck is None else min(stand.stuck, sequence)
            stand.at_least(sequence, None)
            if "collective" in each.values:
                stand.work[sequence] = (str(each.values["collective"]), each.values.get("numel"))
        if len(stand.places) < 4:
            stand.places.append(Place(each.path, each.line))


def _of_recordings(
    observed: Observed, stands: dict[str, dict[int, Stand]], members: dict[str, tuple[int, ...]]
) -> None:
    last: dict[tuple[str, int], tuple[int, int, str]] = {}
    for recording in observed.recordings:
        if recording.rank is None:
            continue
        for group, ranks in recording.groups.items():
            members[group] = tuple(sorted({*members.get(group, ()), *ranks}))
        for number, entry in enumerate(recording.entries):
            group, sequence = str(entry.get("group", "")), entry.get("sequence")
            if not isinstance(sequence, int):
                continue
            stand = stands[group].setdefault(recording.rank, Stand(recording.rank))
            if not stand.places:
                stand.places.append(Place(recording.path, event=f"entry {number}"))
            done = entry.get("state") == "completed"
            stand.at_least(sequence, sequence if done else None)
            sizes = entry.get("input_sizes")
            stand.work[sequence] = (
                str(entry.get("operation", "")),
                repr(sizes) if sizes is not None else None,
            )
            if not done and (stand.stuck is None or sequence < stand.stuck):
                stand.stuck, stand.since_ns = sequence, entry.get("time_created_ns")
            last[group, recording.rank] = (number, sequence, str(entry.get("state")))
    if observed.recordings:
        _unstick(stands)


def _unstick(stands: dict[str, dict[int, Stand]]) -> None:
    """Work that is merely in flight when a dump is taken hangs nobody: where all members enqueued the same last work and
    nobody timed out, a group is taken as stuck only if ranks stand apart or no rank completed it.
    """
    for each in stands.values():
        stuck = {stand.stuck for stand in each.values() if stand.stuck is not None}
        ahead = {stand.enqueued for stand in each.values() if stand.enqueued is not None}
        if (
            stuck
            and len(each) > 1
            and len(ahead) == 1
            and any((stand.completed or -1) >= min(stuck) for stand in each.values())
        ):
            for stand in each.values():
                stand.stuck = None


def missing(found: Sequence[Hang], observed: Observed) -> list[tuple[int, ...]]:
    """Of each hang the ranks that it waits for and that wait for nobody themselves: those behind, else those unheard of.

    A rank that is behind in one group because it waits in another is a victim: it is blamed only where all are, in a
    circle. Then the rank whose collectives took another order than the others' is to blame, by flight recorders; where none
    did, the group that waits longest tells who left it out.
    """
    victims = {
        rank
        for hang in found
        for rank, stand in hang.stands.items()
        if stand.stuck is not None and rank not in hang.behind
    }
    roots = []
    for hang in found:
        behind = tuple(rank for rank in hang.behind if rank not in victims)
        unheard = hang.silent if hang.waiting and not mismatches(hang) else ()
        roots.append(behind or unheard)
    if any(roots):
        return roots
    left = diverged(observed)
    if any(rank in hang.behind for hang in found for rank in left):
        return [tuple(rank for rank in hang.behind if rank in left) for hang in found]
    since = [min(_since(hang), default=None) for hang in found]
    first = min(
        (at for hang, at in zip(found, since, strict=True) if hang.behind and at is not None), default=None
    )
    return [
        hang.behind if first is None or at == first else () for hang, at in zip(found, since, strict=True)
    ]


def diverged(observed: Observed) -> tuple[int, ...]:
    """Ranks, fewer than half, whose collectives are not those of the others from some position on, after `_ALIKE` alike ones:
    one was left out, or one too many. By flight recorders that say what their groups are for; () where none or many do.
    """
    streams: dict[int, dict[int, tuple[str, str]]] = {}
    for recording in observed.recordings:
        if recording.rank is not None:
            streams[recording.rank] = {
                entry["record"]: (recording.descriptions.get(entry["group"], ""), entry["operation"])
                for entry in recording.entries
                if entry.get("record", -1) >= 0
            }
    if len(streams) < 3:
        return ()
    alike = 0
    for position in sorted(set.intersection(*(set(stream) for stream in streams.values()))):
        kinds = Counter(stream[position] for stream in streams.values())
        if len(kinds) == 1:
            alike += 1
            continue
        (usual, count), *_ = kinds.most_common(1)
        few = 2 * (len(streams) - count) < len(streams)
        return (
            tuple(sorted(rank for rank in streams if streams[rank][position] != usual))
            if few and alike >= _ALIKE
            else ()
        )
    return ()


def _since(hang: Hang) -> list[int]:
    """When its ranks began to wait, as far as that is known."""
    return [
        stand.since_ns
        for rank, stand in hang.stands.items()
        if rank not in hang.behind and stand.since_ns is not None
    ]


def mismatches(hang: Hang) -> dict[int, dict[tuple[str, object], list[int]]]:
    """Sequence numbers at which ranks called unlike work: for each the ranks by (operation, size)."""
    by_sequence: dict[int, dict[tuple[str, object], list[int]]] = defaultdict(lambda: defaultdict(list))
    for rank, stand in hang.stands.items():
        for sequence, (operation, size) in stand.work.items():
            key = (operation, None if operation in _FREE_SIZES or operation in ("broadcast",) else size)
            by_sequence[sequence][key].append(rank)
    found = {}
    for sequence, kinds in sorted(by_sequence.items()):
        operations = {operation for operation, _ in kinds}
        sizes = {size for _, size in kinds if size is not None}
        if len(operations) > 1 or len(sizes) > 1:
            found[sequence] = {key: sorted(ranks) for key, ranks in kinds.items()}
    return found
