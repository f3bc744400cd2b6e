"""The Program of each function in a profile: written when the clock has stopped, within bounds."""

import json
import zipfile

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import ScanvizError
from scanviz.engine.program.file import from_bytes, structural_hash
from scanviz.profiler.recording import functions_met
from scanviz.record.model import ProfileRecord
from scanviz.record.storage.codec import decode
from scanviz.record.storage.file import load, save


def recorded(constant=None, **options):
    """Return the function of a loop and the record of a call of it."""
    x = T.matrix("x")
    rows, _ = scanviz.scan(lambda x_t, h: T.tanh(x_t + h), x, T.zeros(3), name="rnn")
    results = rows if constant is None else rows + T.constant(constant)[:3]
    with scanviz.profile(**options) as session:
        f = scanviz.function([x], results, mode="numpy", name="forward")
        f(np.ones((4, 3)))
    return f, session.record


def test_the_record_holds_the_program_that_ran(tmp_path):
    f, record = recorded()
    (function,) = record.functions
    assert structural_hash(from_bytes(function.program)) == structural_hash(f.program)
    save(record, tmp_path / "rnn.scanviz")
    read = load(tmp_path / "rnn.scanviz")
    assert read == record
    with zipfile.ZipFile(tmp_path / "rnn.scanviz") as archive:
        assert f"programs/{function.key}.program" in archive.namelist()
        assert b'"program"' not in archive.read("record.json")


def test_a_record_as_json_holds_it_too():
    _, record = recorded()
    document = json.loads(json.dumps(record.to_json()))
    assert decode(ProfileRecord, document) == record
    document["functions"][0]["program"] = "no base64!"
    with pytest.raises(ScanvizError, match="program"):
        decode(ProfileRecord, document)


def test_programs_are_written_after_the_clock_has_stopped(monkeypatch):
    written = []
    real = functions_met.to_bytes
    monkeypatch.setattr(functions_met, "to_bytes", lambda *all: written.append(all) or real(*all))
    x = T.vector("x")
    with scanviz.profile() as session:
        f = scanviz.function([x], T.exp(x), mode="numpy")
        f(np.ones(2))
        assert not written
    assert session.record.functions[0].program and len(written) == 1
    assert session.record.functions[0].program and len(written) == 1


def test_a_program_with_large_constants_is_left_out_without_being_written(monkeypatch):
    monkeypatch.setattr(functions_met, "to_bytes", lambda *all: pytest.fail("it was written"))
    _, record = recorded(constant=np.random.default_rng(1).normal(size=200_000))
    assert record.functions[0].program == b""


def test_programs_count_towards_the_memory_limit():
    _, record = recorded(max_bytes=20_000)
    assert record.functions[0].program == b""


def test_an_entry_of_no_function_is_refused(tmp_path):
    _, record = recorded()
    path = tmp_path / "rnn.scanviz"
    save(record, path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("programs/12345.program", b"x")
    with pytest.raises(ScanvizError, match="no part of a profile"):
        load(path)
