"""Laws of Programs as data: a loaded Program runs, prints and hashes as before; a damaged one is refused."""

import copy
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st
from msgspec.structs import replace

from scanviz.engine.backends.registry import resolve
from scanviz.engine.errors import BackendError, MisfitError
from scanviz.engine.function import Function
from scanviz.engine.graph.nodes import Array, Variable
from scanviz.engine.mode import Mode
from scanviz.engine.program.file import from_bytes, from_data, structural_hash, to_bytes, to_data
from scanviz.engine.program.instructions import Instruction, LoopInstruction, all_loops
from scanviz.engine.program.printer import program_text
from scanviz.testing.loop_case import LoopCase
from scanviz.testing.loops import EVERY_DTYPE, random_loops
from tests.laws.frame import built
from tests.laws.law import law

LOOPS = random_loops(dtypes=EVERY_DTYPE, symbolic_steps=True, constants=True)
_WRONG = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 12),
    st.sampled_from((2**62, -(2**63), 1e400, 0.5)),
    st.sampled_from(("", "x", "int64", "float32", "scan", "add", "index", "0x1p+3", "mitmot", "loop")),
    st.just([]),
    st.just({}),
)


def compiled(
    case: LoopCase,
    rewrites: bool,
    tier: str = "numpy",
    reading: Callable[[Variable], Variable] = lambda rows: rows,
) -> tuple[Function, list[Array]]:
    """Return the function of a case's reads, and the arguments of its program."""
    loop, mode = built(case), Mode(tier, "all" if rewrites else "none")
    f = loop.function(map(reading, loop.results), mode, updates=loop.updates)
    given = [np.asarray(value) for value in loop.values]
    shared = [variable.get_value() for variable in f.spec.shared] if loop.state is not None else []
    return f, [*given, *shared]


@law(sample=12, case=LOOPS, rewrites=st.booleans())
def a_program_survives_its_bytes(case: LoopCase, rewrites: bool) -> None:
    """A Program read from its bytes has the same results on every tier, the same text, hash and bytes."""
    f, given = compiled(case, rewrites)
    content = to_bytes(f.program)
    read = from_bytes(content)
    assert structural_hash(read) == structural_hash(f.program)
    assert to_bytes(read) == content
    assert program_text(read) == program_text(f.program)
    for tier in ("numpy", "reference"):
        one, other = (resolve(tier).compile(program).run(given, None) for program in (f.program, read))
        for before, after in zip(one, other, strict=True):
            assert before.dtype == after.dtype
            np.testing.assert_array_equal(before, after)


def _a_file(folder: Path) -> str:
    (folder / "secret.py").write_text(f"{SECRET}\n" * 2_000)
    return str(folder / "secret.py")


def _a_fifo(folder: Path) -> str:
    os.mkfifo(folder / "fifo.py")  # which would be waited for
    return str(folder / "fifo.py")


SECRET = "root:x:0:0"
FILES: dict[str, Callable[[Path], str]] = {
    "a file": _a_file,
    "a FIFO": _a_fifo if hasattr(os, "mkfifo") else _a_file,
    "a device": lambda folder: "/dev/zero",
    "no name": lambda folder: "a\0b.py",
}


@law(sample=6, case=LOOPS, rewrites=st.booleans(), named=st.sampled_from(sorted(FILES)))
def a_loaded_program_shows_no_local_file(case: LoopCase, rewrites: bool, named: str) -> None:
    """A loaded Program shows the lines stored with it, never local files under the names of its files."""
    f, _ = compiled(case, rewrites)
    with tempfile.TemporaryDirectory() as folder:
        name = FILES[named](Path(folder))
        data, arrays = to_data(f.program, frozenset(("key", "node_id", "frees")), lambda file: name)
        text = program_text(from_data(_without_texts(data, name), arrays))
    assert SECRET not in text


def _without_texts(data: Any, name: str) -> Any:
    """Return a Program's data with its lines' places alone."""
    if isinstance(data, dict):
        return {key: _without_texts(value, name) for key, value in data.items()}
    if isinstance(data, list):
        return data[:3] if data[:1] == [name] else [_without_texts(value, name) for value in data]
    return data


def _places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths to everything in JSON data but the whole."""
    inside = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    found: list[tuple[Any, ...]] = []
    for key, value in inside:
        found += [(*path, key), *_places(value, (*path, key))]
    return found


@law(sample=25, case=LOOPS, rewrites=st.booleans(), choice=st.data())
def a_damaged_program_is_refused_or_consistent(case: LoopCase, rewrites: bool, choice: Any) -> None:
    """A Program with one changed datum is refused with its own error, or can be compiled and written again."""
    f, _ = compiled(case, rewrites)
    data, arrays = to_data(f.program, frozenset(("key", "node_id", "frees")))
    data = copy.deepcopy(data)
    path = choice.draw(st.sampled_from(_places(data)))
    around = data
    for key in path[:-1]:
        around = around[key]
    if choice.draw(st.integers(0, 5)) == 0:
        del around[path[-1]]
    else:
        others = [value for place in _places(data) if (value := _at(data, place)) is not around[path[-1]]]
        around[path[-1]] = copy.deepcopy(choice.draw(st.one_of(_WRONG, st.sampled_from(others))))
    try:
        read = from_data(json.loads(json.dumps(data)), arrays)
    except MisfitError:
        return
    tiers = ("numpy", "reference")
    for tier in tiers:
        try:
            resolve(tier).compile(read)
        except BackendError:  # a loop may ask for the tier of a package that is not installed here
            assert any(loop.mode not in (None, *tiers) for loop, _ in all_loops(read))
    assert structural_hash(from_bytes(to_bytes(read))) == structural_hash(read)


@law(sample=25, case=LOOPS, rewrites=st.booleans(), choice=st.data())
def an_operation_takes_as_many_inputs_as_it_declares(case: LoopCase, rewrites: bool, choice: Any) -> None:
    """Loading a Program refuses an operation with one operand too few or too many."""
    f, _ = compiled(case, rewrites)
    whole = f.program
    loops = [loop for loop, around in all_loops(whole) if around is None]
    program = choice.draw(st.sampled_from([whole, *(loop.body for loop in loops)]))
    places = [k for k, instruction in enumerate(program.instructions) if isinstance(instruction, Instruction)]
    if not places:
        return
    index = choice.draw(st.sampled_from(places))
    old = program.instructions[index]
    assert isinstance(old, Instruction)
    where = choice.draw(st.integers(0, len(old.inputs)))
    again = choice.draw(st.sampled_from(old.inputs)) if old.inputs else None
    more = again is not None and choice.draw(st.booleans())
    inputs = (*old.inputs[:where], *((again,) if more else ()), *old.inputs[where + (not more) :])
    least, most = old.op.arity
    if least <= len(inputs) and (most is None or len(inputs) <= most):
        return
    instructions = list(program.instructions)
    instructions[index] = replace(old, inputs=inputs)
    changed = replace(program, instructions=tuple(instructions))
    if program is not whole:
        around = next(
            k
            for k, instruction in enumerate(whole.instructions)
            if getattr(instruction, "body", None) is program
        )
        outer = list(whole.instructions)
        loop = outer[around]
        assert isinstance(loop, LoopInstruction)
        outer[around] = replace(loop, body=changed)
        changed = replace(whole, instructions=tuple(outer))
    try:
        from_bytes(to_bytes(changed))
    except MisfitError:
        return
    raise AssertionError(f"{old.op} read {len(inputs)} registers")


def _at(data: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        data = data[key]
    return data
