"""A reader of XPlane files that shares nothing with Stepscope: protobuf's wire format by hand.

for plane in read_planes(path):
    for line in plane.lines:
        for event in line.events:
            print(event.name, event.start_ns, event.stats)
"""

import dataclasses
import gzip
import pathlib
import struct
from collections.abc import Iterator
from typing import Any


@dataclasses.dataclass
class Event:
    name: str
    display_name: str
    start_ns: int
    dur_ns: int
    dur_ps: int
    stats: list[tuple[str, Any]]


@dataclasses.dataclass
class Line:
    id: int
    name: str
    events: list[Event]


@dataclasses.dataclass
class Plane:
    name: str
    lines: list[Line]
    stats: dict[str, Any]


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def read_fields(data: bytes) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        match tag & 7:
            case 0:
                value, at = read_varint(data, at)
                yield tag >> 3, value
            case 1:
                yield tag >> 3, data[at : at + 8]
                at += 8
            case 2:
                size, at = read_varint(data, at)
                yield tag >> 3, data[at : at + size]
                at += size
            case wire_type:
                raise ValueError(f"wire type {wire_type}")


def to_signed(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value


def read_stat(data: bytes, names: dict[int, str]) -> tuple[str, Any]:
    key, value = 0, None
    for field, content in read_fields(data):
        match field:
            case 1:
                key = content
            case 2:
                value = struct.unpack("<d", content)[0]
            case 3 | 4:
                value = to_signed(content)
            case 5:
                value = content.decode()
            case 6:
                value = content
            case 7:
                value = names[content]
    return names[key], value


def read_map(entries: list[bytes]) -> dict[int, dict[int, Any]]:
    named = {}
    for entry in entries:
        fields = dict(read_fields(entry))
        named[fields.get(1, 0)] = dict(read_fields(fields[2]))
    return named


def read_event(
    data: bytes, timestamp_ns: int, metadata: dict[int, dict[int, Any]], names: dict[int, str]
) -> Event:
    fields = dict.fromkeys((1, 2, 3), 0)
    stats = []
    for field, content in read_fields(data):
        if field == 4:
            stats.append(read_stat(content, names))
        else:
            fields[field] = content
    start_ps = timestamp_ns * 1000 + fields[2]
    of_name = metadata[fields[1]]
    return Event(
        name=of_name[2].decode(),
        display_name=of_name.get(4, b"").decode(),
        start_ns=start_ps // 1000,
        dur_ns=(start_ps + fields[3]) // 1000 - start_ps // 1000,
        dur_ps=fields[3],
        stats=stats,
    )


def read_plane(data: bytes) -> Plane:
    parts: dict[int, list[Any]] = {number: [] for number in range(1, 7)}
    for field, content in read_fields(data):
        parts[field].append(content)
    names = {key: value.get(2, b"").decode() for key, value in read_map(parts[5]).items()}
    metadata = read_map(parts[4])
    lines = []
    for line in parts[3]:
        fields = [(field, content) for field, content in read_fields(line)]
        head = dict(fields)
        events = [
            read_event(content, head.get(3, 0), metadata, names)
            for field, content in fields
            if field == 4
        ]
        lines.append(Line(to_signed(head.get(1, 0)), head.get(2, b"").decode(), events))
    stats = dict(read_stat(stat, names) for stat in parts[6])
    return Plane(b"".join(parts[2]).decode(), lines, stats)


def read_planes(path: pathlib.Path) -> list[Plane]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [read_plane(content) for field, content in read_fields(data) if field == 1]
