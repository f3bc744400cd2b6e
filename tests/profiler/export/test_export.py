"""Exports: valid for the tools that read them, adding up, and harmless whatever names a script gives."""

import csv
import io
import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from msgspec.structs import replace

import scanviz
from scanviz import tensor as T
from scanviz.profiler.export import FORMATS, export
from scanviz.profiler.export.frames import edges, frames_of, stacks, time_of, tracks_of
from scanviz.profiler.export.tables import TABLES
from scanviz.record.model import DurationRecord, FunctionRecord, ProfileRecord
from tests.profiler.records import FORWARD, INNER, RNN, SMALL
from tests.record.records import profiles

HOSTILE = "a;b\n\"'<script>\x1b[31m\x00=1+1☠" + "x" * 5000


def text(record, name):
    return export(record, name)[""].decode("utf-8")


def gradient_record():
    x, w = T.matrix("x"), T.matrix("w")
    h, _ = scanviz.scan(lambda x_t, h: T.tanh(T.dot(x_t, w) + h), x, T.zeros(3), name="rnn")
    f = scanviz.function([x, w], [T.sum(h), scanviz.grad(T.sum(h), w)], name="train")
    assert f.program  # it is built whole before the profile
    with scanviz.profile() as p:
        for _ in range(4):
            f(np.ones((50, 3)), np.eye(3))
    return p.record


def hostile():
    loops = (
        replace(
            RNN,
            name=HOSTILE,
            operations=tuple(replace(operation, label=HOSTILE) for operation in RNN.operations),
        ),
        INNER,
    )
    function = replace(
        FORWARD,
        name=HOSTILE,
        operations=tuple(replace(operation, label=HOSTILE) for operation in FORWARD.operations),
    )
    return replace(SMALL, script=HOSTILE, functions=(function,), loops=loops)


# the tree of times


@settings(deadline=None)
@given(record=profiles())
def test_a_frames_total_is_its_own_time_and_its_children(record):
    root = frames_of(record)

    def check(frame):
        assert frame.total_ns >= 0 and frame.self_ns >= 0
        assert frame.total_ns == frame.self_ns + time_of(frame.inside)
        for each in frame.inside:
            check(each)

    check(root)
    assert sum(own for _, own in stacks(root)) == root.total_ns >= record.wall_ns


def test_flame_graphs_show_script_time_and_call_overhead():
    record = gradient_record()
    root = frames_of(record)
    [script] = [frame for frame in root.inside if frame.name == "the script's own time"]
    assert script.total_ns == record.wall_ns - record.threads.inside_ns
    [train] = [frame for frame in root.inside if frame.kind == "function"]
    assert {"checking arguments", "copying results"} <= {frame.name for frame in train.inside}
    assert "run;building;" not in text(record, "collapsed")  # the function was built before the profile


@settings(deadline=None)
@given(record=profiles())
def test_frames_of_a_track_nest_and_begin_and_end_in_order(record):
    for track in tracks_of(record):
        around, last = [], 0
        for frame, moment, begins in edges(track):
            assert moment >= last
            last = moment
            if begins:
                around.append((frame, moment))
            else:
                begun, start = around.pop()
                assert begun is frame and moment == start + frame.total_ns
        assert not around


def test_measured_frames_are_exact_and_estimated_ones_are_scaled_to_fit():
    inner = replace(INNER, setup_ns=10_000, step_times=DurationRecord(50_000, 280_000))
    root = frames_of(replace(SMALL, loops=(RNN, inner)))
    function = next(each for each in root.inside if each.kind == "function")
    assert function.total_ns == FORWARD.total_ns
    [rnn] = [each for each in function.inside if each.kind == "loop"]
    assert rnn.total_ns == RNN.total_ns and rnn.facts["steps"] == 1000
    [cells] = [each for each in rnn.inside if each.kind == "loop"]
    assert cells.name == "cells" and cells.total_ns == INNER.total_ns
    parts = {each.name: each for each in rnn.inside}
    assert parts["compilation"].total_ns == sum(tier.total_ns for tier in RNN.tiers)
    dots = [parts[name].total_ns for name in ("dot(x[t], W)", "dot(h[t-1], U)")]
    assert abs(dots[0] / dots[1] - 1500 / 900) < 1e-3


# Chrome's trace events


def chrome_events(record):
    document = json.loads(text(record, "chrome"))
    assert set(document) >= {"traceEvents", "displayTimeUnit"} and document["displayTimeUnit"] in ("ms", "ns")
    return document["traceEvents"]


@pytest.mark.parametrize("record", [SMALL, ProfileRecord(), pytest.param(None, id="real")])
def test_chrome_events_are_well_formed_and_balanced_on_every_thread(record):
    events = chrome_events(record if record is not None else gradient_record())
    names = {event["tid"] for event in events if event["ph"] == "M" and event["name"] == "thread_name"}
    open_slices: dict[int, list[str]] = {}
    last: dict[int, float] = {}
    for event in events:
        assert (
            isinstance(event["name"], str) and isinstance(event["pid"], int) and isinstance(event["tid"], int)
        )
        if event["ph"] == "M":
            continue
        assert event["ph"] in "BE" and event["ts"] >= last.get(event["tid"], 0.0) and event["tid"] in names
        last[event["tid"]] = event["ts"]
        stack = open_slices.setdefault(event["tid"], [])
        if event["ph"] == "B":
            assert isinstance(event["args"], dict)
            stack.append(event["name"])
        else:
            assert stack.pop() == event["name"]
    assert not any(open_slices.values())


def test_chrome_shows_functions_loops_operations_and_recorded_steps_with_their_lines():
    record = gradient_record()
    events = chrome_events(record)
    begun = [event for event in events if event["ph"] == "B"]
    names = {each["name"] for each in begun}
    assert {"train", "rnn", "grad_of_rnn", "step 0", "step 49", "run 3"} <= names
    steps = [each for each in begun if each["cat"] == "step" and each["args"]["run"] == 0]
    assert len(steps) >= 50 and all("kept as" in step["args"] for step in steps)
    assert any("test_export.py:" in str(each["args"].get("line")) for each in begun)


# speedscope


def test_speedscope_files_follow_the_published_schema():
    for record in (SMALL, ProfileRecord(script="x.py"), gradient_record(), hostile()):
        document = json.loads(text(record, "speedscope"))
        assert document["$schema"] == "https://www.speedscope.app/file-format-schema.json"
        frames = document["shared"]["frames"]
        for frame in frames:
            assert isinstance(frame["name"], str) and set(frame) <= {"name", "file", "line", "col"}
            assert isinstance(frame.get("line", 0), int) and isinstance(frame.get("file", ""), str)
        assert document["profiles"] and 0 <= document["activeProfileIndex"] < len(document["profiles"])
        for profile in document["profiles"]:
            assert set(profile) == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}
            assert profile["type"] == "sampled" and profile["unit"] == "nanoseconds"
            assert len(profile["samples"]) == len(profile["weights"])
            assert all(0 <= each < len(frames) for stack in profile["samples"] for each in stack)
            assert profile["endValue"] - profile["startValue"] == sum(profile["weights"])
            assert all(each >= 0 for each in profile["weights"])


def test_speedscope_has_a_profile_of_the_run_and_one_of_each_loops_steps():
    record = gradient_record()
    document = json.loads(text(record, "speedscope"))
    assert sum(document["profiles"][0]["weights"]) == frames_of(record).total_ns
    of_steps = [each for each in document["profiles"] if each["name"].startswith("steps of ")]
    assert len(of_steps) == len(record.loops)
    by_name = {each.name: each for each in record.loops}
    for step in of_steps:
        loop = by_name[re.match(r"steps of (\w+)", step["name"])[1]]
        assert step["weights"] == loop.series[:, 2].tolist()


# collapsed stacks


@settings(deadline=None)
@given(record=profiles())
def test_collapsed_counts_add_up_to_the_run(record):
    lines = text(record, "collapsed").splitlines()
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == frames_of(record).total_ns
    assert len({line.rpartition(" ")[0] for line in lines}) == len(lines)


def test_collapsed_lines_are_read_by_the_rule_of_flamegraph_pl():
    for record in (SMALL, hostile(), gradient_record()):
        for line in text(record, "collapsed").splitlines():
            found = re.fullmatch(r"(.*)\s+?(\d+(?:\.\d*)?)", line)
            assert found and not line.startswith("#")
            stack = found[1].strip()
            assert all(frame and not re.search(r"\s[\d.]+$", frame) for frame in stack.split(";"))
            assert len(stack.split(";")) <= 5


# tables


def rows_of(data: bytes):
    return list(csv.DictReader(io.StringIO(data.decode("utf-8"), newline="")))


def test_csv_tables_hold_the_record():
    record = gradient_record()
    tables = {name: rows_of(data) for name, data in export(record, "csv").items()}
    assert set(tables) == set(TABLES)
    assert [table["name"] for table in tables["loops"]] == [loop.name for loop in record.loops]
    assert [int(table["total_ns"]) for table in tables["loops"]] == [loop.total_ns for loop in record.loops]
    assert sum(len(loop.series) for loop in record.loops) == len(tables["steps"])
    assert len(tables["operations"]) == sum(
        len(each.operations) for each in (*record.functions, *record.loops)
    )
    assert {table["loop"] for table in tables["variables"]} == {str(loop.key) for loop in record.loops}
    backward = next(table for table in tables["loops"] if table["name"] == "grad_of_rnn")
    assert backward["gradient_of"] == next(
        table["loop"] for table in tables["loops"] if table["name"] == "rnn"
    )


def test_csv_cells_are_no_formulas():
    for data in export(hostile(), "csv").values():
        for row in csv.reader(io.StringIO(data.decode(), newline="")):
            for cell in row:
                assert not cell.lstrip().startswith(("=", "+", "@"))
                assert not cell.startswith("-") or re.fullmatch(r"[-\d. e+]+", cell)


def test_parquet_tables_are_those_of_csv_with_types():
    parquet = pytest.importorskip(
        "pyarrow.parquet", reason="parquet needs pyarrow: pip install scanviz[parquet]"
    )
    record = gradient_record()
    expected = export(record, "csv")
    for name, data in export(record, "parquet").items():
        table = parquet.read_table(io.BytesIO(data))
        assert table.column_names == list(TABLES[name].columns)
        assert table.num_rows == len(rows_of(expected[name]))
    loops = parquet.read_table(io.BytesIO(export(record, "parquet")["loops"])).to_pylist()
    assert [loop["total_ns"] for loop in loops] == [loop.total_ns for loop in record.loops]
    for data in export(ProfileRecord(), "parquet").values():
        parquet.read_table(io.BytesIO(data))


# Perfetto


def varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place
        shift += 7


def fields(data: bytes) -> list[tuple[int, int | bytes]]:
    """Return the fields of a message, by the wire format of Protocol Buffers."""
    found, place = [], 0
    while place < len(data):
        key, place = varint(data, place)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, place = varint(data, place)
        else:
            assert kind == 2
            length, place = varint(data, place)
            value, place = data[place : place + length], place + length
            assert len(value) == length
        found.append((number, value))
    return found


def perfetto(record):
    """Return descriptors by uuid and events, read with the field numbers of Perfetto's .proto files."""
    tracks, events = {}, []
    for number, packet in fields(export(record, "perfetto")[""]):
        assert number == 1  # Trace.packet
        content = dict(fields(packet))
        assert content[10] > 0  # trusted_packet_sequence_id
        if 60 in content:  # track_descriptor
            descriptor = dict(fields(content[60]))
            tracks[descriptor[1]] = descriptor
        else:
            events.append((content.get(8, 0), fields(content[11])))  # timestamp, track_event
    return tracks, events


@pytest.mark.parametrize("record", [SMALL, ProfileRecord(), pytest.param(None, id="real")])
def test_perfetto_packets_describe_tracks_before_their_slices_which_balance(record):
    tracks, events = perfetto(record if record is not None else gradient_record())
    assert any(3 in each for each in tracks.values())  # a process
    open_slices, last = dict.fromkeys(tracks, 0), dict.fromkeys(tracks, 0)
    for time, parts in events:
        event = dict(parts)
        track = event[11]
        assert track in tracks and time >= last[track]
        last[track] = time
        assert event[9] in (1, 2)  # begin, end
        open_slices[track] += 1 if event[9] == 1 else -1
        assert open_slices[track] >= 0
        if event[9] == 1:
            assert event[23].decode() and event[22].decode()
            for number, value in parts:
                if number == 4:  # a debug annotation
                    annotation = dict(fields(value))
                    assert annotation[10].decode() and (4 in annotation) != (6 in annotation)
    assert not any(open_slices.values())


def test_perfetto_and_chrome_exports_agree():
    record = gradient_record()
    _, events = perfetto(record)
    of_perfetto = [(time, dict(parts)[23].decode()) for time, parts in events if dict(parts)[9] == 1]
    of_chrome = [
        (round(event["ts"] * 1000), event["name"]) for event in chrome_events(record) if event["ph"] == "B"
    ]
    assert sorted(of_perfetto) == sorted(of_chrome)


# all of them


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_takes_hostile_names_and_records_of_nothing(name):
    if name == "parquet":
        pytest.importorskip("pyarrow", reason="parquet needs pyarrow: pip install scanviz[parquet]")
    for record in (
        hostile(),
        ProfileRecord(),
        replace(SMALL, loops=(), functions=(FunctionRecord(1, "f", None, "numpy"),)),
    ):
        for data in export(record, name).values():
            assert data and (name in ("json", "parquet", "perfetto") or b"\x1b" not in data)
            assert name == "json" or len(data) < 200_000
    assert export(SMALL, name) == export(SMALL, name)


def test_json_is_the_record():
    assert json.loads(text(SMALL, "json")) == json.loads(json.dumps(SMALL.to_json()))
