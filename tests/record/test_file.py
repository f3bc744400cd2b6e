"""The file keeps a record exactly, and takes nothing for a profile that is none."""

import io
import json
import os
import stat
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from scanviz.engine.errors import ScanvizError
from scanviz.record.model import SCHEMA, FunctionRecord, LoopRecord, ProfileRecord
from scanviz.record.storage import file as profile_file
from scanviz.record.storage.file import is_profile, load, save
from tests.record.records import profiles


def small() -> ProfileRecord:
    rows = np.array([[0, 0, 500, 1], [0, 1, 400, 2]])
    loop = LoopRecord(key=7, function=1, parent=None, name="h", source=None, runs=1, steps=2, series=rows)
    function = FunctionRecord(key=1, name="f", source=None, backend="numpy", calls=1)
    return ProfileRecord(script="rnn.py", functions=(function,), loops=(loop,))


def write(path: Path, entries: dict[str, bytes], packing: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", packing) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return path


def entries_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def changed(tmp_path: Path, change: Any) -> Path:
    """Write the small record with its JSON changed."""
    save(small(), tmp_path / "small.scanviz")
    entries = entries_of(tmp_path / "small.scanviz")
    document = json.loads(entries["record.json"])
    change(document)
    entries["record.json"] = json.dumps(document).encode()
    return write(tmp_path / "changed.scanviz", entries)


@given(raw=st.binary(max_size=400))
def test_bytes_that_are_no_zip_are_no_profile(raw: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("file") / "any.scanviz"
    path.write_bytes(raw)
    assert not is_profile(path)
    with pytest.raises(ScanvizError, match="is no scanviz profile"):
        load(path)


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing.scanviz")
    assert not is_profile(tmp_path / "nothing.scanviz")


def test_a_newer_file_is_an_error_that_asks_to_upgrade(tmp_path: Path) -> None:
    path = changed(tmp_path, lambda document: document.update(schema=SCHEMA + 1))
    with pytest.raises(ScanvizError, match="written by a newer scanviz") as caught:
        load(path)
    assert "pip install --upgrade scanviz" in str(caught.value)


def test_an_older_file_is_an_error_that_asks_to_profile_again(tmp_path: Path) -> None:
    path = changed(tmp_path, lambda document: document.update(schema=SCHEMA - 1))
    with pytest.raises(ScanvizError, match="written by an older scanviz") as caught:
        load(path)
    assert "profile the script again" in str(caught.value)


def test_a_field_that_is_unknown_here_is_an_error_that_asks_to_upgrade(tmp_path: Path) -> None:
    path = changed(tmp_path, lambda document: document["functions"][0].update(of_tomorrow=1))
    with pytest.raises(ScanvizError, match=r"functions\[0\].*unknown field `of_tomorrow`") as caught:
        load(path)
    assert "pip install --upgrade scanviz" in str(caught.value)


def test_fields_that_are_missing_have_their_defaults(tmp_path: Path) -> None:
    path = changed(tmp_path, lambda document: [document.pop(name) for name in ("left_out", "outcome")])
    assert load(path) == small()


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda document: document.update(extra=1), "unknown field `extra`"),
        (lambda document: document.update(schema="1"), "states no version"),
        (lambda document: document.update(wall_ns=1.5), "record.wall_ns"),
        (lambda document: document.update(wall_ns=-1), "record.wall_ns is negative"),
        (lambda document: document.update(wall_ns=2**70), "record.wall_ns"),
        (lambda document: document.update(wall_ns=True), "record.wall_ns"),
        (lambda document: document.update(arguments="-v"), "record.arguments"),
        (lambda document: document.update(detail="everything"), "record.detail"),
        (lambda document: document["cost"].update(stamp_ns=float("nan")), "record.cost.stamp_ns"),
        (lambda document: document["cost"].update(stamp_ns=float("inf")), "record.cost.stamp_ns"),
        (lambda document: document["cost"].update(stamp_ns=2**63 - 1), "record.cost.stamp_ns is too large"),
        (
            lambda document: document["loops"][0].pop("name"),
            r"record.loops\[0\] .* missing required field `name`",
        ),
        (lambda document: document.update(detail="\ud800"), "surrogates not allowed"),
        (lambda document: document.update({"\ud800": 1}), "surrogates not allowed"),
        (lambda document: document["loops"][0].update(name=3), r"record.loops\[0\].name"),
        (lambda document: document["loops"][0].update(function=5), "belongs to function 5"),
        (lambda document: document["loops"][0].update(parent=7), "does not come before it"),
        (lambda document: document["loops"].append(document["loops"][0]), "two loops have the key 7"),
        (lambda document: document["functions"].append(document["functions"][0]), "two functions have"),
        (lambda document: document["loops"][0].update(series=[[1, 2, 3]]), r"record.loops\[0\].series"),
    ],
)
def test_a_document_of_the_wrong_form_is_refused_with_the_place(
    change: Any, place: str, tmp_path: Path
) -> None:
    with pytest.raises(ScanvizError, match=place):
        load(changed(tmp_path, change))


def array(rows: Any, **options: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.asarray(rows, **options))
    return stream.getvalue()


@pytest.mark.parametrize(
    "series",
    [
        array([[0, 0, 5, 0]], dtype=np.float64),
        array([[0, 0, 5]], dtype=np.int64),
        array([[0, 0, 5, 9]], dtype=np.int64),
        array([[0, -1, 5, 0]], dtype=np.int64),
        array([[0, 1, 5, 0], [0, 0, 5, 0]], dtype=np.int64),
        array([[0, 1, 5, 0], [0, 1, 5, 0]], dtype=np.int64),
    ],
)
def test_a_series_of_the_wrong_form_is_refused(series: bytes, tmp_path: Path) -> None:
    save(small(), tmp_path / "small.scanviz")
    entries = {**entries_of(tmp_path / "small.scanviz"), "series/7.npy": series}
    with pytest.raises(ScanvizError):
        load(write(tmp_path / "bad.scanviz", entries))


@pytest.mark.parametrize(
    "name", ["../../evil.npy", "/etc/passwd", "series/../x.npy", "code.py", "series/x.npy"]
)
def test_an_entry_with_another_name_is_refused(name: str, tmp_path: Path) -> None:
    save(small(), tmp_path / "small.scanviz")
    path = write(tmp_path / "bad.scanviz", {**entries_of(tmp_path / "small.scanviz"), name: b""})
    with pytest.raises(ScanvizError, match="no part of a profile"):
        load(path)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["bad.scanviz", "small.scanviz"]


def test_a_small_file_that_unpacks_to_a_huge_one_is_refused_unread(tmp_path: Path) -> None:
    path = write(
        tmp_path / "bomb.scanviz", {"record.json": b" " * (profile_file.LIMITS.of("record.json") + 10)}
    )
    assert path.stat().st_size < 2**20
    with pytest.raises(ScanvizError, match="too large"):
        load(path)


def test_a_file_with_very_many_entries_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile_file, "LIMITS", profile_file.LIMITS._replace(entries=3))
    path = write(tmp_path / "many.scanviz", {f"series/{k}.npy": b"" for k in range(4)})
    with pytest.raises(ScanvizError, match="too large"):
        load(path)


def test_an_entry_packed_in_another_way_is_refused(tmp_path: Path) -> None:
    save(small(), tmp_path / "small.scanviz")
    path = write(tmp_path / "lzma.scanviz", entries_of(tmp_path / "small.scanviz"), zipfile.ZIP_LZMA)
    with pytest.raises(ScanvizError, match="packed in an unknown way"):
        load(path)


def test_deeply_nested_json_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScanvizError, match="damaged"):
        load(write(tmp_path / "deep.scanviz", {"record.json": b"[" * 200_000}))


def test_a_failed_write_keeps_the_old_file_and_leaves_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kept.scanviz"
    save(small(), path)

    def full(*arguments: object, **named: object) -> None:
        raise OSError(28, "no space left")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", full)
    with pytest.raises(OSError, match="no space left"):
        save(replace(small(), script="other.py"), path)
    monkeypatch.undo()
    assert load(path).script == "rnn.py"
    assert [each.name for each in tmp_path.iterdir()] == ["kept.scanviz"]


@pytest.mark.skipif(os.name == "nt", reason="permissions are POSIX")
def test_a_new_file_gets_the_usual_permissions_and_a_replaced_one_keeps_its_own(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        save(small(), tmp_path / "new.scanviz")
        assert stat.S_IMODE((tmp_path / "new.scanviz").stat().st_mode) == 0o640
        (tmp_path / "new.scanviz").chmod(0o600)
        save(small(), tmp_path / "new.scanviz")
        assert stat.S_IMODE((tmp_path / "new.scanviz").stat().st_mode) == 0o600
    finally:
        os.umask(before)


@given(record=profiles())
def test_json_of_a_record_is_json(record: ProfileRecord) -> None:
    text = json.dumps(record.to_json(), allow_nan=False)
    assert json.loads(text) == record.to_json()


def test_a_script_in_the_place_of_a_profile_is_answered_with_the_command_that_makes_one(
    tmp_path: Path,
) -> None:
    (tmp_path / "rnn.py").write_text("print(1)")
    with pytest.raises(ScanvizError, match=r"no scanviz profile(.|\n)*write: +scanviz profile .*rnn\.py"):
        load(tmp_path / "rnn.py")
