"""Laws of code that is kept on disk: its key tells it from all other code, and what is read is what was written."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends.native.errors import NotWrittenError
from scanviz.engine.config import config
from scanviz.engine.errors import ScanvizError
from scanviz.engine.graph.nodes import Array
from scanviz.engine.graph.provenance import Provenance
from scanviz.engine.mode import Mode
from scanviz.engine.observe import observed_by
from scanviz.engine.program.instructions import LoopInstruction, next_loop_key, programs_in
from scanviz.profiler.recording.recorder import Recorder
from tests.laws.inside import CASES, InsideCase
from tests.laws.law import law
from tests.laws.tiers import NAMES

FIELDS = sorted(field.name for field in dataclasses.fields(InsideCase))
NAMES_OF_FILES = ("thesis.tex", "f" * 64, f"0{'a' * 62}", "being-written-1-notes", f"{'e' * 64}.bak")
CONTENTS = (b"", b"mine" * 5_000, b"scanviz objections\n" * 500)
_SEEN: dict[str, str] = {}  # by its key, all code that was written for examples of this process


def _function(case: InsideCase, gradient: bool) -> Any:
    """Return what a case gives on the native tier, or its gradient."""
    inputs, rows = case.build()
    if gradient and case.dtype == "float64":
        wanted: Any = scanviz.grad(T.sum(T.sin(rows)), inputs, disconnected_inputs="ignore")
    else:
        wanted = [rows]
    return scanviz.function(inputs, wanted, mode=Mode("native"), on_unused_input="ignore")


def _called(case: InsideCase, gradient: bool, watched: Any = None) -> list[Array]:
    f, values = _function(case, gradient), case.values()
    found = list(f(*values))
    if watched is not None:
        with observed_by(Recorder(watched)):
            found += f(*values)
    return found


def _relabelled(value: Any) -> Any:
    """Return a loop with everything else that no code depends on: other names, keys, lines and ids."""
    from scanviz.engine.backends.native.loop_key import UNTOLD

    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(map(_relabelled, value))
    if isinstance(value, Mapping):
        return {key: _relabelled(item) for key, item in value.items()}
    if type(value) not in UNTOLD:
        return value
    others: dict[str, Any] = {"name": "another", "provenance": Provenance(None), "node_id": 1_000_000}
    others |= {"key": next_loop_key(), "op": getattr(value, "op", None)}
    untold = UNTOLD[type(value)]
    return dataclasses.replace(
        value,
        **{
            field.name: others[field.name]
            if field.name in untold
            else _relabelled(getattr(value, field.name))
            for field in dataclasses.fields(value)
        },
    )


def _written(loop: Any, met: Any, kind: Any) -> tuple[str | None, str | None]:
    """Return the key of a loop's code, and a digest of the code and of what it is handed; None where it is not kept by its key."""
    from scanviz.engine.backends.native import kept_code
    from scanviz.engine.backends.native.code import text_of
    from scanviz.engine.backends.native.loop_key import key_of_loop
    from scanviz.engine.backends.native.tier import EMITS
    from scanviz.engine.program.plan import chains, plan_loop, run_memory

    plan = plan_loop(loop, met.shapes, chains, EMITS, met.rows)
    text, handed = text_of(loop, plan, kind)
    if handed.callouts:
        return None, None
    memory = run_memory(plan)
    entry = kept_code.to_bytes(loop, handed, memory, b"code")
    assert kept_code.from_bytes(loop, entry) == (handed, memory, b"code")
    lines = "\n".join(line for line in text.split("\n") if not line.startswith("  ;"))
    return key_of_loop(loop, met, kind), hashlib.sha256(entry + lines.encode()).hexdigest()


def _with_another_number(value: Any, which: int) -> Any:
    """Return a loop of whose constants one has another value; ``which`` chooses the program that holds it and the constant."""
    programs = [program for instruction in value.body.instructions for program in programs_in(instruction)]
    if which % 2 and value.body.instructions and programs:
        place = which // 2 % len(value.body.instructions)
        held = list(value.body.instructions)
        if isinstance(held[place], LoopInstruction):
            held[place] = _with_another_number(held[place], which // 2)
        return dataclasses.replace(value, body=dataclasses.replace(value.body, instructions=tuple(held)))
    constants = dict(value.body.constants)
    if constants:
        number = sorted(constants)[which // 2 % len(constants)]
        old = constants[number]
        constants[number] = ~old if old.dtype == bool else (old + 1).astype(old.dtype)
    return dataclasses.replace(value, body=dataclasses.replace(value.body, constants=constants))


def _check_key(loop: Any, met: Any, kind: Any, which: int) -> None:
    key, code = _written(loop, met, kind)
    if key is None or code is None:
        return
    assert _written(_relabelled(loop), met, kind) == (key, code), "what a key leaves out changes the code"
    assert _SEEN.setdefault(key, code) == code, "one key has two codes"
    try:
        other, changed = _written(_with_another_number(loop, which), met, kind)
    except (NotWrittenError, ScanvizError):  # a size or a number of steps that does not fit the others
        return
    assert changed == code or other != key, "another number is other code, and has the same key"


@law(
    sample=12,
    case=CASES,
    other=CASES,
    field=st.sampled_from(FIELDS),
    which=st.integers(0, 63),
    gradient=st.booleans(),
    watched=st.sampled_from([None, "steps", "ops"]),
)
def code_with_the_same_key_is_the_same_code(
    case: InsideCase, other: InsideCase, field: str, which: int, gradient: bool, watched: Any
) -> None:
    """Loops whose code has the same key have the same code, whatever their names; also those that differ in one thing alone."""
    if "native" not in NAMES:
        return
    from scanviz.engine.backends.native import code, tier

    usual = code.code_of

    def noted(loop: Any, late: Any, met: Any, kind: Any, *others: Any) -> Any:
        found = usual(loop, late, met, kind, *others)
        _check_key(loop, met, kind, which)
        return found

    with mock.patch.object(tier, "code_of", noted):
        _called(case, gradient, watched)
        _called(dataclasses.replace(case, **{field: getattr(other, field)}), gradient)


@law(sample=8, case=CASES, gradient=st.booleans(), watched=st.sampled_from([None, None, "steps", "ops"]))
def code_that_is_read_gives_what_code_that_was_written_gives(
    case: InsideCase, gradient: bool, watched: Any
) -> None:
    """A function whose loops are found on disk gives the bits that it gave when they were compiled, watched or not."""
    if "native" not in NAMES:
        return
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(config.native, "cache", f"{folder}/kept"):
        expected, found = (_called(case, gradient, watched) for _ in range(2))
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


@law(
    sample=6,
    others=st.lists(st.tuples(st.sampled_from(NAMES_OF_FILES), st.sampled_from(CONTENTS)), max_size=4),
    sizes=st.lists(st.integers(0, 4_000), min_size=1, max_size=12),
    bound=st.integers(0, 10_000),
)
def the_cache_leaves_files_of_others_alone(
    others: list[tuple[str, bytes]], sizes: list[int], bound: int
) -> None:
    """Whatever lies in the folder and however much is kept, other files stay, and entries stay below the bound."""
    from scanviz.engine.backends.native import cache

    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.multiple(config.native, cache=folder, cache_bytes=bound),
    ):
        for name, content in others:
            (Path(folder) / name).write_bytes(content)
            os.utime(Path(folder) / name, (0, 0))
        for number, size in enumerate(sizes):
            cache.store(f"0{number:063x}", b"c" * size)  # the folder is looked through for keys that begin so
        for name, content in dict(others).items():
            assert (Path(folder) / name).read_bytes() == content
        kept = [path for path in Path(folder).iterdir() if path.name not in dict(others)]
        assert sum(path.stat().st_size for path in kept) <= bound
