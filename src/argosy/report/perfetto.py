"""A timeline as a Perfetto trace: protobuf written by hand, for the few messages that it takes.

Field numbers: perfetto, protos/perfetto/trace/{trace, trace_packet, track_event/track_event,
track_event/track_descriptor, track_event/process_descriptor}.proto. Wire format: protobuf.dev, "Encoding".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from argosy.ledger import Interval
from argosy.training.orders import kind

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


def trace(timeline: Sequence[Interval], title: str, category: Callable[[str], str] = kind) -> bytes:
    """The bytes of a Perfetto trace: one process called `title`, one track a place, one slice an interval.

    Times are whole ns; slices on one track are not nested and are written in order of time. `category`: of a
    state, in words (that of a schedule's operation, unless said otherwise).
    """
    places = sorted({each.place for each in timeline}, key=_natural)
    tracks = {place: _PROCESS_UUID + 1 + i for i, place in enumerate(places)}
    process = nested(_PROCESS, whole(_PID, 1) + nested(_PROCESS_NAME, title))
    packets = [
        _packet(nested(_DESCRIPTOR, whole(_UUID, _PROCESS_UUID) + process), whole(_SEQUENCE_FLAGS, _CLEARED))
    ]
    for place, uuid in tracks.items():
        track = whole(_UUID, uuid) + whole(_PARENT, _PROCESS_UUID) + nested(_TRACK_NAME, place)
        packets.append(_packet(nested(_DESCRIPTOR, track)))
    events: list[tuple[int, int, bytes]] = []
    for each in timeline:
        start, end = (round(seconds * 1e9) for seconds in (each.start_s, each.end_s))
        track = whole(_TRACK, tracks[each.place])
        begin = whole(_TYPE, _BEGIN) + track + nested(_CATEGORY, category(each.state)) + nested(_NAME, each.state)
        events.append((start, 1, begin))
        events.append((end, 0, whole(_TYPE, _END) + track))
    for time, _, event in sorted(events, key=lambda item: item[:2]):  # of equal times, ends come first
        packets.append(_packet(whole(_TIMESTAMP, time), nested(_EVENT, event)))
    return b"".join(packets)


def _packet(*parts: bytes) -> bytes:
    return nested(_PACKET, b"".join(parts) + whole(_SEQUENCE, 1))


def _natural(place: str) -> tuple[str, int]:
    """`stage 10` after `stage 9`."""
    word, _, number = place.rpartition(" ")
    return (word, int(number)) if number.isdecimal() else (place, 0)
