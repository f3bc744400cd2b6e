"""Programs as bytes, and their structural hash."""

import json
import os
import subprocess
import sys
import zipfile
from io import BytesIO

import numpy as np
import pytest
from msgspec.structs import replace

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends.registry import resolve
from scanviz.engine.errors import MisfitError, ScanvizError
from scanviz.engine.graph.declaration import declarations
from scanviz.engine.program.file import (
    _parameter_classes,
    from_bytes,
    from_data,
    structural_hash,
    to_bytes,
    to_data,
)
from scanviz.engine.program.instructions import all_loops, loops

SCRIPT = """
import scanviz
from scanviz import tensor as T
from scanviz.engine.program.file import structural_hash
x, w = T.matrix({x!r}), T.matrix("w")
h, _ = scanviz.scan(lambda x_t, h, w: T.tanh(T.dot(x_t, w) + h), x, T.zeros({width}), w, name={loop!r})
print(structural_hash(scanviz.function([x, w], [h, scanviz.grad(T.sum(h[-1]), w)]).program))
"""


def rnn(name="rnn", start=0.0):
    x, w = T.matrix("x"), T.matrix("w")
    h, _ = scanviz.scan(
        lambda x_t, h, w: T.tanh(T.dot(x_t, w) + h), x, T.constant(np.full(3, start)), w, name=name
    )
    return scanviz.function([x, w], [h[-1], scanviz.grad(T.sum(h[-1]), w)], name="train")


def changed(content, **edits):
    """Return a program file with entries of its JSON replaced."""
    with zipfile.ZipFile(BytesIO(content)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    data = json.loads(entries["program.json"])
    entries["program.json"] = json.dumps({**data, **edits}).encode()
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, each in entries.items():
            archive.writestr(name, each)
    return out.getvalue()


def test_an_error_of_a_program_that_was_read_still_names_the_users_line():
    x = T.matrix("x")
    h, _ = scanviz.scan(lambda x_t, h: x_t + h, x, T.zeros(2), name="added")
    read = from_bytes(to_bytes(scanviz.function([x], h).program))
    with pytest.raises(ScanvizError, match=r"test_file.py:\d+") as caught:
        resolve("numpy").compile(read).run([np.ones((3, 5))], None)
    assert "added" in str(caught.value)


def test_the_graph_that_a_loop_came_from_is_not_written():
    f = rnn()
    read = from_bytes(to_bytes(f.program))
    (loop, _), *_ = all_loops(read)
    assert type(loop.op).__name__ == "Op" and loop.op.name == "scan"
    assert loop.key not in {each.key for each, _ in all_loops(f.program)}


def test_every_class_of_parameters_is_found_by_one_name():
    found = _parameter_classes(sum(1 for _ in declarations()))
    assert {"IndexParameters", "ReduceParameters", "CastParameters", "DrawParameters"} <= set(found)
    modules = {declaration.perform.__module__ for declaration in declarations()} | {
        declaration.infer.__module__ for declaration in declarations()
    }
    several = [
        name
        for name, kind in found.items()
        if len({id(vars(sys.modules[m])[name]) for m in modules if name in vars(sys.modules.get(m, sys))}) > 1
    ]
    assert several == []


@pytest.mark.parametrize(
    "content",
    [b"", b"PK", b"no program", to_bytes(rnn().program)[:200]],
    ids=["nothing", "two letters", "text", "cut off"],
)
def test_invalid_program_files_are_refused(content):
    with pytest.raises(MisfitError):
        from_bytes(content)


def test_a_file_of_another_version_or_with_short_arrays_is_refused():
    content = to_bytes(rnn().program)
    with pytest.raises(MisfitError, match="another version"):
        from_bytes(changed(content, version=99))
    with pytest.raises(MisfitError, match="cut off or too long"):
        from_bytes(changed(content, arrays=[{"dtype": "float64", "shape": [2**40, 2**40]}]))
    with pytest.raises(MisfitError, match="unknown field `more`"):
        from_bytes(changed(content, more=1))


def test_an_entry_that_is_compressed_is_refused():
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("program.json", "0" * 10**6)
    with pytest.raises(MisfitError, match="compressed or encrypted"):
        from_bytes(out.getvalue())


def test_the_error_names_the_place_in_the_data():
    content = to_bytes(rnn().program)
    with zipfile.ZipFile(BytesIO(content)) as archive:
        data = json.loads(archive.read("program.json"))["program"]
    data["registers"][1]["type"] = ["float65", []]
    with pytest.raises(MisfitError, match=r"program\.registers\[1\]\.type"):
        from_bytes(changed(content, program=data))
    with pytest.raises(MisfitError, match="surrogates not allowed"):
        from_bytes(changed(content, program={"\ud800": 1}))


def test_the_hash_of_a_program_is_independent_of_process_and_names():
    found = set()
    for seed, x, loop in (("1", "x", "rnn"), ("2", "data", "other")):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT.format(x=x, width=3, loop=loop)],
            capture_output=True,
            text=True,
            timeout=300,
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
        )
        found.add(done.stdout.strip())
    assert len(found) == 1 and len(found.pop()) == 64


def test_the_hash_of_programs_depends_on_constants_kinds_and_wishes():
    program = rnn().program
    (loop,) = [each for each in loops(program) if each.name == "rnn"]
    others = [
        replace(
            program,
            instructions=tuple(
                new if instruction is loop else instruction for instruction in program.instructions
            ),
        )
        for new in (
            replace(loop, allow_gc=False),
            replace(loop, mode="reference"),
            replace(loop, reuse=False),
        )
    ]
    hashes = {structural_hash(other) for other in (program, rnn(start=1e-9).program, *others)}
    assert len(hashes) == 5
    assert structural_hash(program) == structural_hash(rnn("another").program)


def test_text_of_a_program_file_is_never_generated_as_code():
    x = T.vector("x")
    data, arrays = to_data(scanviz.function([x], x[1:2]).program, frozenset())
    ((entry,),) = next(each for each in data["instructions"] if "index" in str(each["op"]))["op"][2]
    entry[1] = "__import__('os').getpid()"
    with pytest.raises(MisfitError, match=r"op\[2\]\[0\]\[0\]\[1\] is not what it should be"):
        from_data(json.loads(json.dumps(data)), arrays)


def test_rows_of_a_loop_that_may_end_early_lie_forwards():
    x = T.vector("x")
    rows, _ = scanviz.scan(lambda v: (v * 2, scanviz.until(v > 1)), x, name="ends")
    data, arrays = to_data(scanviz.function([x], rows).program, frozenset(("key", "node_id", "frees")))
    (loop,) = (each for each in data["instructions"] if "step_outputs" in each)
    assert from_data(data, arrays)
    loop["step_outputs"][0]["backwards"] = True
    with pytest.raises(MisfitError, match=r"`ends`.* backwards"):
        from_data(data, arrays)


def test_an_operation_under_any_other_name_is_refused_or_fits():
    x = T.vector("x")
    program = scanviz.function([x], T.sum(x)).program
    data, arrays = to_data(program, frozenset(("key", "node_id", "frees")))
    refused = 0
    for place in data["instructions"]:
        own = place["op"]
        for name in [declaration.name for declaration in declarations()]:
            for parameters in ([None, None], own[1:]):
                place["op"] = [name, *parameters]
                try:
                    from_data(data, arrays)
                except MisfitError:
                    refused += 1
        place["op"] = own
    assert refused
