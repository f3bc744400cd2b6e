"""Laws of the code cache: no loop gets the code of another, and loaded code is the stored code."""

import dataclasses
import os
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.config import config
from scanviz.engine.graph.nodes import Array
from scanviz.engine.mode import Mode
from scanviz.engine.observe import observed_by
from scanviz.profiler.recording.recorder import Recorder
from tests.laws.frame import NAMES
from tests.laws.inside import CASES, InsideCase
from tests.laws.law import law

FIELDS = sorted(field.name for field in dataclasses.fields(InsideCase))
NAMES_OF_FILES = ("thesis.tex", "f" * 64, f"0{'a' * 62}", "being-written-1-notes", f"{'e' * 64}.bak")
CONTENTS = (b"", b"mine" * 5_000, b"scanviz objections\n" * 500)


def _function(case: InsideCase, gradient: bool) -> Any:
    """Return the results of a case on the native tier, or its gradient."""
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


def _same(found: list[Array], expected: list[Array]) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


@law(sample=8, case=CASES, other=CASES, field=st.sampled_from(FIELDS), gradient=st.booleans())
def code_of_one_loop_is_never_used_for_another(
    case: InsideCase, other: InsideCase, field: str, gradient: bool
) -> None:
    """Loops that differ in a single thing have the same results with a shared code cache and with none."""
    if "native" not in NAMES:
        return
    cases = [case, dataclasses.replace(case, **{field: getattr(other, field)})]
    with mock.patch.object(config.native, "cache", "off"):
        expected = [_called(each, gradient) for each in cases]
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(config.native, "cache", f"{folder}/kept"):
        for each, wanted in zip(cases, expected, strict=True):
            _same(_called(each, gradient), wanted)


@law(sample=8, case=CASES, gradient=st.booleans(), watched=st.sampled_from([None, None, "steps", "ops"]))
def cached_code_agrees_with_compiled_code(case: InsideCase, gradient: bool, watched: Any) -> None:
    """A function with loops loaded from disk gives the bits of its compiled code, observed or not."""
    if "native" not in NAMES:
        return
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(config.native, "cache", f"{folder}/kept"):
        expected = _called(case, gradient, watched)
        _same(_called(case, gradient, watched), expected)


@law(
    sample=6,
    others=st.lists(st.tuples(st.sampled_from(NAMES_OF_FILES), st.sampled_from(CONTENTS)), max_size=4),
    sizes=st.lists(st.integers(0, 4_000), min_size=1, max_size=12),
    bound=st.integers(0, 10_000),
)
def the_cache_leaves_files_of_others_alone(
    others: list[tuple[str, bytes]], sizes: list[int], bound: int
) -> None:
    """Foreign files in the cache's folder stay, and entries stay below the size limit."""
    from scanviz.engine.backends.native.cache import entries

    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.multiple(config.native, cache=folder, cache_bytes=bound),
    ):
        for name, content in others:
            (Path(folder) / name).write_bytes(content)
            os.utime(Path(folder) / name, (0, 0))
        for number, size in enumerate(sizes):
            entries.store(
                f"0{number:063x}", b"c" * size
            )  # the folder is looked through for keys that begin so
        for name, content in dict(others).items():
            assert (Path(folder) / name).read_bytes() == content
        kept = [path for path in Path(folder).iterdir() if path.name not in dict(others)]
        assert sum(path.stat().st_size for path in kept) <= bound


PLACES = ("its own", "a link", "open", "inside an open one", "linked into an open one", "inside a sticky one")
KEYS = tuple(f"{digit}" * 64 for digit in "1234")
DAMAGES = ("none", "too large", "open", "a link", "a pipe", "foreign", "of another key", "cut", "a folder")


def _placed(top: Path, place: str, mode: int) -> tuple[Path, bool]:
    """Bring the folder ``top/around/kept`` into a place; give by which path it is asked for, and whether only its user can put code there."""
    around = top / "around"
    asked = around / "kept"
    match place:
        case "a link":
            asked = top / "link"
            asked.symlink_to(around / "kept")
        case "open":
            (around / "kept").chmod(mode)
        case "inside an open one" | "inside a sticky one":
            around.chmod(mode | (0o1000 if "sticky" in place else 0))
        case "linked into an open one":
            around.chmod(mode)
            (top / "link").symlink_to(around)
            asked = top / "link" / "kept"
    return asked, place in ("its own", "inside a sticky one")


@law(
    sample=8,
    place=st.sampled_from(PLACES),
    mode=st.sampled_from([0o777, 0o757, 0o703]),
    size=st.integers(0, 99),
)
def no_code_is_cached_in_a_folder_that_others_may_write(place: str, mode: int, size: int) -> None:
    """The cache neither reads nor changes a folder that is a link or that others may write or replace."""
    if not hasattr(os, "geteuid"):  # the cache needs owners of files
        return
    from scanviz.engine.backends.native.cache import entries

    with tempfile.TemporaryDirectory() as name:
        real = Path(name) / "around" / "kept"
        with mock.patch.object(config.native, "cache", str(real)):
            entries.store(KEYS[0], b"c" * size)
        before = {path.name: path.read_bytes() for path in real.iterdir()}
        asked, is_safe = _placed(Path(name), place, mode)
        with mock.patch.object(config.native, "cache", str(asked)):
            assert entries.load(KEYS[0]) == (b"c" * size if is_safe else None)
            entries.store(KEYS[1], b"d")
            assert entries.load(KEYS[1]) == (b"d" if is_safe else None)
        after = {path.name: path.read_bytes() for path in real.iterdir()}
        assert is_safe or after == before


def _damaged(entry: Path, damage: str) -> None:
    """Make of an entry one that the cache did not write so."""
    content = entry.read_bytes()
    match damage:
        case "too large":
            os.truncate(entry, 1 << 40)  # takes no room
        case "open":
            entry.chmod(0o666)
        case "cut":
            os.truncate(entry, len(content) - 1)
        case "foreign":
            entry.write_bytes(b"mine" * 100)
        case "of another key":
            entry.write_bytes(entry.with_name(KEYS[-1]).read_bytes())
        case "a link":
            os.replace(entry, entry.with_suffix(".real"))
            entry.symlink_to(entry.with_suffix(".real"))
        case "a pipe" | "a folder":
            entry.unlink()
            os.mkfifo(entry, 0o600) if damage == "a pipe" else entry.mkdir()


@law(
    sample=8,
    damages=st.lists(st.sampled_from(DAMAGES), min_size=len(KEYS) - 1, max_size=len(KEYS) - 1),
    bound=st.integers(100, 5_000),
    size=st.integers(1, 5_000),
)
def an_entry_is_read_intact_or_not_at_all(damages: list[str], bound: int, size: int) -> None:
    """Only intact files of the user, within the size limit and of the right key, are read as entries."""
    if not hasattr(os, "geteuid"):  # the cache needs owners of files
        return
    from scanviz.engine.backends.native.cache import entries

    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.multiple(config.native, cache=folder, cache_bytes=1 << 20),
    ):
        for number, key in enumerate(KEYS):
            entries.store(key, bytes([number]) * size)
        written = (Path(folder) / KEYS[0]).stat().st_size
        for key, damage in zip(KEYS, damages, strict=False):
            _damaged(Path(folder) / key, damage)
        config.native.cache_bytes = bound
        for number, (key, damage) in enumerate(zip(KEYS, damages, strict=False)):
            expected = bytes([number]) * size if damage == "none" and written <= bound else None
            assert entries.load(key) == expected, damage
