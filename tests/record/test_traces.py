"""Values in a file come back as they were, files without them still load, and damaged ones are refused clearly."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import ScanvizError
from scanviz.profiler.report.values import render_values
from scanviz.record.errors import CannotWriteError
from scanviz.record.graphs.graph import LoopVariableRecord
from scanviz.record.model import FunctionRecord, LoopRecord, ProfileRecord
from scanviz.record.storage import file as profile_file
from scanviz.record.storage.codec import decode
from scanviz.record.storage.file import load, save
from scanviz.record.traces.model import TracedVariableRecord, TraceRecord

SPECIAL = np.array([[1.0, np.nan], [np.inf, -np.inf], [1e300, -0.0]])
STATISTICS = np.array([[1.0, 1.0, 1.0, 1.0, 0.0], [np.nan] * 3 + [0.0, 2.0], [-0.0, 1e300, 5e299, 0.0, 0.0]])


def small(**changes: Any) -> ProfileRecord:
    """A record with the values of one run."""
    state = LoopVariableRecord("sitsot", "h", reads=(-1,), writes=(0,))
    loop = LoopRecord(key=7, function=1, parent=None, name="h", source=None, variables=(state,))
    variable = TracedVariableRecord("h[t]", "output", 0, 0, None, None, "float64", (2,), STATISTICS, SPECIAL)
    trace = TraceRecord(7, 0, 100, (0, 5, 99), ("first", "event", "last"), (variable,))
    function = FunctionRecord(key=1, name="f", source=None, backend="numpy")
    return ProfileRecord(
        detail="values", functions=(function,), loops=(loop,), traces=(replace(trace, **changes),)
    )


def entries_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewritten(tmp_path: Path, **entries: bytes | None) -> Path:
    """Write the small record with entries changed; ``_`` stands for a slash and the ending is added."""
    save(small(), tmp_path / "small.scanviz")
    found = entries_of(tmp_path / "small.scanviz")
    for name, data in entries.items():
        place = name.replace("_", "/") + (".json" if name == "record" else ".npy")
        found.pop(place, None)
        if data is not None:
            found[place] = data
    path = tmp_path / "changed.scanviz"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in found.items():
            archive.writestr(name, data)
    return path


def array(rows: Any, dtype: Any = np.float64) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.asarray(rows, dtype))
    return stream.getvalue()


def test_values_come_back_bit_for_bit(tmp_path: Path) -> None:
    save(small(), tmp_path / "a.scanviz")
    record = load(tmp_path / "a.scanviz")
    assert record == small()
    found = record.traces[0].variables[0]
    assert found.values.tobytes() == SPECIAL.tobytes()
    assert found.statistics.tobytes() == STATISTICS.tobytes()
    assert set(entries_of(tmp_path / "a.scanviz")) == {"record.json", "values/0.npy", "statistics/0.npy"}


def test_real_values_come_back(tmp_path: Path) -> None:
    x = T.matrix("x")
    h, _ = scanviz.scan(lambda x_t, s: T.tanh(s + x_t), x, T.zeros(3), name="h")
    f = scanviz.function([x], [h, scanviz.grad(T.sum(h), x)])
    traced = scanviz.trace(f, np.ones((200, 3)))
    traced.save(tmp_path / "h.scanviz")
    record = load(tmp_path / "h.scanviz")
    assert record == traced.record
    assert render_values(record) == traced.report()
    assert (tmp_path / "h.scanviz").stat().st_size < 400_000


def test_values_as_json_are_strict_json_and_can_be_read_back() -> None:
    text = json.dumps(small().to_json(), allow_nan=False)
    assert '"NaN"' in text and '"-Infinity"' in text
    assert decode(ProfileRecord, json.loads(text)) == small()


def test_a_file_from_before_there_were_values_loads(tmp_path: Path) -> None:
    plain = ProfileRecord(script="old.py")
    save(plain, tmp_path / "old.scanviz")
    document = json.loads(entries_of(tmp_path / "old.scanviz")["record.json"])
    document.pop("traces")
    with zipfile.ZipFile(tmp_path / "older.scanviz", "w") as archive:
        archive.writestr("record.json", json.dumps(document))
    assert load(tmp_path / "older.scanviz") == plain


def test_a_profile_without_values_has_no_entries_for_them(tmp_path: Path) -> None:
    save(replace(small(), traces=()), tmp_path / "plain.scanviz")
    assert set(entries_of(tmp_path / "plain.scanviz")) == {"record.json"}


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"values_0": array(SPECIAL)[:-1]}, "cut off or too long"),
        ({"values_0": array(SPECIAL) + b"x"}, "cut off or too long"),
        ({"values_0": array(SPECIAL[:2])}, "row for each of its 3 steps"),
        ({"values_0": array(np.ones((3, 2)), np.float32)}, "float64 of shape"),
        ({"values_0": array(np.ones((3, 2)), np.int64)}, "float64 of shape"),
        ({"values_0": array(SPECIAL.reshape(-1))}, "float64 of shape"),
        ({"values_0": array(np.asfortranarray(SPECIAL))}, "wrong form"),
        ({"values_0": b"no array"}, "no array of version 1.0"),
        ({"values_0": b""}, "no array of version 1.0"),
        ({"values_0": b"\x93NUMPY\x02\x00" + array(SPECIAL)[8:]}, "version 1.0"),
        ({"values_0": None}, "row for each of its 3 steps"),
        ({"statistics_0": None}, "row for each of its 3 steps"),
        ({"statistics_0": array(STATISTICS[:, :4])}, r"shape \(n, 5\)"),
        ({"statistics_0": array(-np.abs(STATISTICS) - 1)}, "impossible counts"),
        ({"statistics_0": array(STATISTICS * np.nan)}, "impossible counts"),
        ({"values_x": b""}, "no part of a profile"),
        ({"values_9999999": b""}, "no part of a profile"),
        ({"values_0_0": b""}, "no part of a profile"),
    ],
)
def test_damaged_arrays_are_refused(entries: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ScanvizError, match=message):
        load(rewritten(tmp_path, **entries))


def test_an_array_of_objects_is_refused_and_never_unpickled(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[Any, tuple[str]]:
            return (Path.touch, (tmp_path / "boom",))  # type: ignore[return-value]

    stream = io.BytesIO()
    np.save(stream, np.array([[Bomb()]], object), allow_pickle=True)
    with pytest.raises(ScanvizError):
        load(rewritten(tmp_path, values_0=stream.getvalue()))
    assert not (tmp_path / "boom").exists()


def test_an_array_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = rewritten(tmp_path)
    largest = {**profile_file.LIMITS.largest, "values": 160}
    monkeypatch.setattr(profile_file, "LIMITS", profile_file.LIMITS._replace(largest=largest))
    with pytest.raises(ScanvizError, match="values/0.npy in the profile is too large"):
        load(path)
    with pytest.raises(
        CannotWriteError, match="its values/0.npy has 176 bytes"
    ):  # nothing is saved that cannot be read
        save(small(), path)


def test_a_header_of_an_array_longer_than_its_data_is_refused(tmp_path: Path) -> None:
    honest = array(SPECIAL)
    lie = honest.replace(b"(3, 2), ", b"(3,9**9)")
    assert lie != honest
    with pytest.raises(ScanvizError):
        load(rewritten(tmp_path, values_0=lie))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"loop": 8}, "loop 8, which is not in the record"),
        ({"steps": (0, 99, 5)}, "not in order"),
        ({"steps": (0, 5, 5)}, "not in order"),
        ({"steps": (0, 5, 100)}, "beyond its 100"),
        ({"steps": (-1, 5, 99)}, "beyond its 100"),
        ({"reasons": ("first", "event")}, "lack reasons"),
        ({"reasons": ("first", "event", "because")}, "lack reasons, or have unknown ones"),
        ({"run": -1}, "record.run is negative|run is negative|is negative"),
        ({"left_out": -1}, "is negative"),
    ],
)
def test_invalid_values_are_refused(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    save(small(**changes), tmp_path / "bad.scanviz")
    with pytest.raises(ScanvizError, match=message):
        load(tmp_path / "bad.scanviz")


@pytest.mark.parametrize("place", [{"variable": 1}, {"variable": -1}])
def test_values_of_a_missing_loop_variable_are_refused(place: dict[str, int], tmp_path: Path) -> None:
    variable = replace(small().traces[0].variables[0], **place)
    save(small(variables=(variable,)), tmp_path / "bad.scanviz")
    with pytest.raises(ScanvizError, match="loop variable"):
        load(tmp_path / "bad.scanviz")


def test_values_of_a_run_twice_are_refused(tmp_path: Path) -> None:
    record = small()
    save(replace(record, traces=record.traces * 2), tmp_path / "twice.scanviz")
    with pytest.raises(ScanvizError, match="appear twice"):
        load(tmp_path / "twice.scanviz")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1.0], [2.0, 3.0], [4.0]], "all of one length"),
        ([[1.0, "nan"]] * 3, "rows of numbers"),
        ([[1.0, True]] * 3, "rows of numbers"),
        ([[None]] * 3, "rows of numbers"),
        ("many", "rows of numbers"),
    ],
)
def test_numbers_of_the_wrong_form_in_json_are_refused(rows: Any, message: str) -> None:
    document = small().to_json()
    document["traces"][0]["variables"][0]["values"] = rows
    with pytest.raises(ScanvizError, match=message):
        decode(ProfileRecord, document)
