"""Timelines as Perfetto traces, a plan's step and the aligned ranks: protobuf written by hand, for the few messages that
it takes.

Field numbers: perfetto, protos/perfetto/trace/{trace, trace_packet, track_event/track_event,
track_event/track_descriptor, track_event/process_descriptor}.proto. Wire format: protobuf.dev, "Encoding".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from argosy.ledger import Interval
from argosy.training.orders import kind

if TYPE_CHECKING:
    from argosy.observe.align import Alignment

_VARINT, _LENGTH = 0, 2  # wire types
_PACKET = 1  # Trace.packet
_TIMESTAMP, _SEQUENCE, _EVENT, _SEQUENCE_FLAGS, _DESCRIPTOR = 8, 10, 11, 13, 60  # TracePacket
_TYPE, _TRACK, _CATEGORY, _NAME = 9, 11, 22, 23  # TrackEvent
_BEGIN, _END = 1, 2  # TrackEvent.Type
_UUID, _TRACK_NAME, _PROCESS, _PARENT = 1, 2, 3, 5  # TrackDescriptor
_PID, _PROCESS_NAME = 1, 6  # ProcessDescriptor
_CLEARED = 1  # TracePacket.SequenceFlags.SEQ_INCREMENTAL_STATE_CLEARED
_PROCESS_UUID = 1


def varint(number: int) -> bytes:
    """A non-negative whole number in base 128, least significant group first; the high bit says that more follow."""
    if number < 0:
        raise ValueError(f"a varint holds no negative number such as {number}")
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def whole(field: int, number: int) -> bytes:
    """A whole-number field: tag, then the number."""
    return varint(field << 3 | _VARINT) + varint(number)


def nested(field: int, content: bytes | str) -> bytes:
    """A text or message field: tag, length in bytes, content."""
    data = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | _LENGTH) + varint(len(data)) + data


class Slice(NamedTuple):
    """One slice: the names of its process and of its track there, its own name and category, start and end in whole ns."""

    process: str
    track: str
    name: str
    category: str
    start_ns: int
    end_ns: int


def write(slices: Iterable[Slice]) -> bytes:
    """The bytes of a Perfetto trace: processes in order of first appearance, their tracks in natural order.

    Slices of a track that lie within another nest in it; those that overlap without nesting, which a viewer would drop,
    go to a further track of the same name. Times before the first are none: they are shifted to begin at 0.
    """
    tracks: dict[tuple[str, str], list[Slice]] = {}
    for each in slices:
        tracks.setdefault((each.process, each.track), []).append(each)
    processes = {
        process: _PROCESS_UUID + i for i, process in enumerate(dict.fromkeys(key[0] for key in tracks))
    }
    earliest = min((each.start_ns for found in tracks.values() for each in found), default=0)
    packets: list[bytes] = []
    uuid = _PROCESS_UUID + len(processes)
    for process, number in processes.items():
        told = nested(_PROCESS, whole(_PID, number) + nested(_PROCESS_NAME, process))
        cleared = () if packets else (whole(_SEQUENCE_FLAGS, _CLEARED),)
        packets.append(_packet(nested(_DESCRIPTOR, whole(_UUID, number) + told), *cleared))
    events: list[tuple[int, bytes]] = []
    for (process, track), found in sorted(tracks.items(), key=lambda item: _natural(item[0][1])):
        for layer in _layers(found):
            told = whole(_UUID, uuid) + whole(_PARENT, processes[process]) + nested(_TRACK_NAME, track)
            packets.append(_packet(nested(_DESCRIPTOR, told)))
            events += _events(layer, uuid)
            uuid += 1
    for time, event in sorted(
        events, key=lambda item: item[0]
    ):  # stable: of equal times, a track's own order
        packets.append(_packet(whole(_TIMESTAMP, time - min(earliest, 0)), nested(_EVENT, event)))
    return b"".join(packets)


def trace(timeline: Sequence[Interval], title: str) -> bytes:
    """A step's timeline: one process called `title`, one track a place, one slice an interval with its kind as category."""
    return write(
        Slice(
            title,
            each.place,
            each.state,
            kind(each.state),
            round(each.start_s * 1e9),
            round(each.end_s * 1e9),
        )
        for each in timeline
    )


def observed(alignment: Alignment) -> bytes:
    """The recorded step of every rank on the common clock: one process a rank, its streams and threads as tracks, and
    what it waited for the last rank of its collectives."""
    return write(each for i in range(len(alignment.ranks)) for each in _rank(alignment, i))


def _rank(alignment: Alignment, index: int) -> Iterator[Slice]:
    trace, rank = alignment.traces[index], alignment.ranks[index]
    process = f"rank {rank}" + (f", {trace.position.node}" if trace.position.node else "")

    def common(times: Sequence[int]) -> list[int]:
        return [round(time) for time in alignment.common(index, np.array(times, np.int64)).tolist()]

    starts, ends = common([each[3] for each in trace.slices]), common([each[4] for each in trace.slices])
    for (lane, name, category, *_), start, end in zip(trace.slices, starts, ends, strict=True):
        yield Slice(process, lane, name, category, start, end)
    matched, last = alignment.matched, alignment.matched.last_ns
    if not starts or not len(matched.operation):
        return
    for k in np.flatnonzero((matched.who == index) & matched.barrier[matched.instance]).tolist():
        instance, came = int(matched.instance[k]), float(matched.start_ns[k])
        until = min(float(last[instance]), float(matched.end_ns[k]))
        if until > came and min(starts) <= came < max(ends):
            members = slice(matched.first[instance], matched.first[instance + 1])
            late = alignment.ranks[int(matched.who[members][int(np.argmax(matched.start_ns[members]))])]
            name = f"waiting for rank {late}: {matched.operation[instance]}"
            yield Slice(process, "waiting", name, "waiting", round(came), round(until))


def _layers(slices: Sequence[Slice]) -> list[list[Slice]]:
    """The slices of one track, parted so that in each part any two nest or lie apart."""
    layers: list[tuple[list[Slice], list[int]]] = []  # with the ends of those still open, the innermost last
    for each in sorted(slices, key=lambda one: (one.start_ns, -one.end_ns)):
        for _, ends in layers:
            while ends and ends[-1] <= each.start_ns:
                ends.pop()
        fitting = next((layer for layer in layers if not layer[1] or layer[1][-1] >= each.end_ns), None)
        if fitting is None:
            layers.append(fitting := ([], []))
        fitting[0].append(each)
        fitting[1].append(each.end_ns)
    return [layer for layer, _ in layers]


def _events(layer: Sequence[Slice], uuid: int) -> list[tuple[int, bytes]]:
    """Begins and ends of a part in the order in which they must be told."""
    track = whole(_TRACK, uuid)
    over = whole(_TYPE, _END) + track
    found: list[tuple[int, bytes]] = []
    ends: list[int] = []
    for each in layer:
        while ends and ends[-1] <= each.start_ns:
            found.append((ends.pop(), over))
        begin = whole(_TYPE, _BEGIN) + track + nested(_CATEGORY, each.category) + nested(_NAME, each.name)
        found.append((each.start_ns, begin))
        ends.append(max(each.end_ns, each.start_ns))
    return found + [(end, over) for end in reversed(ends)]


def _packet(*parts: bytes) -> bytes:
    return nested(_PACKET, b"".join(parts) + whole(_SEQUENCE, 1))


def _natural(place: str) -> tuple[str, int]:
    """`stage 10` after `stage 9`."""
    word, _, number = place.rpartition(" ")
    return (word, int(number)) if number.isdecimal() else (place, 0)
