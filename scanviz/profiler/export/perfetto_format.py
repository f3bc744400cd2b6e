"""Perfetto's binary trace: packets of a process, its tracks and their slices.

The messages are few and small, so they are written here without a library.  Sources are the public description of Protocol
Buffers' wire format and the field numbers of Perfetto's public ``.proto`` files.  In that format a key has field number and wire
type, numbers are varints, and all else follows its length.  Names are written out and not interned: a packet can then be
read without those before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scanviz.profiler.export.frames import LAYOUT, StackFrame, Track, clear, edges, tracks_of
from scanviz.record.model import ProfileRecord

_PROCESS_TRACK, _PROCESS, _SEQUENCE = 1, 1, 1
_BEGIN, _END = 1, 2
_EXPLICIT = 3  # tracks are shown in the order of their ranks
_NOT_MERGED = 2  # tracks of one name, as of two loops of one name, stay apart
_LARGEST = 2**63 - 1

# Field numbers by message, from protos/perfetto/trace/**.proto.
TRACE_PACKET = 1
PACKET = {"timestamp": 8, "sequence": 10, "event": 11, "track": 60}
TRACK = {"uuid": 1, "name": 2, "process": 3, "parent": 5, "ordering": 11, "rank": 12}
TRACK |= {"description": 14, "merging": 15}
PROCESS = {"pid": 1, "name": 6}
EVENT = {"annotation": 4, "type": 9, "track": 11, "category": 22, "name": 23, "source": 33}
ANNOTATION = {"integer": 4, "text": 6, "name": 10}
SOURCE = {"file": 2, "line": 4}


def export(record: ProfileRecord) -> dict[str, bytes]:
    """Return the trace."""
    packets = [_process(record)]
    for rank, track in enumerate(tracks_of(record)):
        packets.extend(_track(track, rank))
    return {"": b"".join(field(TRACE_PACKET, packet) for packet in packets)}


def varint(value: int) -> bytes:
    r"""Return a number in seven-bit groups, the lowest first; negative ones as their 64-bit complement.

    Examples
    --------
    >>> varint(300)
    b'\xac\x02'
    """
    value = (min(value, _LARGEST) if value >= 0 else max(value, -_LARGEST)) & (2**64 - 1)
    groups = bytearray()
    while value > 127:
        groups.append(value & 127 | 128)
        value >>= 7
    groups.append(value)
    return bytes(groups)


def field(number: int, value: int | str | bytes) -> bytes:
    r"""Return a field of a message: a number, a text, or a message.

    Examples
    --------
    >>> field(1, 150), field(2, "testing")
    (b'\x08\x96\x01', b'\x12\x07testing')
    """
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def _message(numbers: Mapping[str, int], **values: int | str | bytes) -> bytes:
    return b"".join(field(numbers[name], value) for name, value in values.items())


def _process(record: ProfileRecord) -> bytes:
    process = _message(PROCESS, pid=_PROCESS, name=clear(record.script, "run"))
    track = _message(TRACK, uuid=_PROCESS_TRACK, process=process, ordering=_EXPLICIT, description=LAYOUT)
    return _message(PACKET, sequence=_SEQUENCE, track=track)


def _track(track: Track, rank: int) -> Iterator[bytes]:
    uuid = _PROCESS_TRACK + 1 + rank
    about: dict[str, int | str] = {"parent": _PROCESS_TRACK, "rank": rank, "merging": _NOT_MERGED}
    described = _message(TRACK, uuid=uuid, name=track.name, description=LAYOUT, **about)
    yield _message(PACKET, sequence=_SEQUENCE, track=described)
    for frame, time, begins in edges(track):
        yield _packet(time, _begin(frame, uuid) if begins else _message(EVENT, type=_END, track=uuid))


def _packet(time: int, event: bytes) -> bytes:
    return _message(PACKET, timestamp=time, sequence=_SEQUENCE, event=event)


def _begin(frame: StackFrame, uuid: int) -> bytes:
    event = _message(EVENT, type=_BEGIN, track=uuid, name=frame.name, category=frame.kind)
    facts: dict[str, int | str] = dict(frame.facts)
    if frame.source is not None:
        facts["text"] = frame.source.text
        event += field(
            EVENT["source"], _message(SOURCE, file=frame.source.file, line=_line(frame.source.line))
        )
    for name, value in facts.items():
        kind = "integer" if isinstance(value, int) else "text"
        event += field(EVENT["annotation"], _message(ANNOTATION, name=name, **{kind: value}))
    return event


def _line(number: int) -> int:
    return max(0, min(number, 2**32 - 1))  # a uint32
