"""Profiles of an attacker: a real one with random changes of texts, numbers, structure, arrays and zip.

The profile is that of a small loop with its gradient, recorded once a process.  What is changed is its file: the JSON
document by place, arrays by their bytes, the archive by its entries.  Places are drawn by their form first
(``loops[].variables[].name``), so that a field that occurs once is changed as often as one that occurs a thousand times.
"""

import copy
import functools
import io
import itertools
import json
import tempfile
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hypothesis import strategies as st

Place = tuple[str | int, ...]
# Fields that take certain words only, or bytes of a dtype.
_WORDS = {"arrays", "detail", "kind", "origin", "role", "status", "reasons"}
_LINKED = {"nodes", "wanted", "deltas", "origins"}  # fields of graphs whose texts lead to one another
_WORDS_OF_GRAPHS = {"input", "constant", "shared", "parameter", "computed", "sequence", "non_sequence", "sitsot", "mitsot"} | {
    "mitmot", "nitsot", "carry", "float64[]", "int64[]",
}  # fmt: skip

# Each steers something: terminals (titles, colours, cursors, clipboards, 8-bit controls), lines, directions, markup of Rich and
# Textual, HTML, scripts, SVG, DOT, shells and tables.
TEXTS = (
    "\x1b]0;owned\x07",
    "\x1b[2J\x1b[H",
    "\x1b[8mhidden\x1b[0m",
    "\x1b]52;c;b3duZWQ=\x1b\\",
    "\x1bP1$r\x1b\\",
    "\x9b31m\x9d0;t\x9c",
    "\x9b2J\x9bH",
    "\x90q\x9c",
    "\x9d52;c;b3duZWQ=\x9c",
    "a\rb",
    "a\nb\n",
    "\t\v\f\b\x7f\x00",
    "\u202egnp.exe\u2066\u200b\ufeff\u2028",
    "\udfff\ud800",
    "[bold red]no[/] [link=file:///etc/passwd]x[/link] [@click=app.quit]q[/]",
    "</script><script>alert(1)</script><!--",
    '"><img src=x onerror=alert(1)>',
    "]]></style><svg onload=alert(1)>&amp;&#x1b;",
    '\\"]; node [label="',
    "'; rm -rf / #`$(id)`",
    "=1+1|'",
    "{}{0}%s%n{x!r}",
    "日本語" * 40,
    "e\u0301" * 30,
    "",
    " ",
    "x" * 5_000,
)
NUMBERS = (
    0,
    1,
    2,
    3,
    5,
    7,
    -1,
    40,
    1000,
    2**31,
    2**53,
    2**63 - 1,
    -(2**63) + 1,
    2**64,
    0.5,
    -0.0,
    1e300,
    5e-324,
)


@dataclass(frozen=True, slots=True)
class Damage:
    """A change of a document: where, as numbers that any document turns into a place, and what stands there afterwards.

    Attributes
    ----------
    form, which : int
        Which form of place, and which place of that form.
    action : str
        ``"put"`` a value anywhere, a ``"text"`` or a ``"number"`` where one is, ``"drop"`` what is there, or put it there
        ``"twice"`` (lists), ``"swap"`` it for what stands at another place of the form, or put a text behind the names in a
        ``"graph"``.
    value : object
        The new value.
    everywhere : {"one", "form", "all"}
        Whether one place is changed, all of the form, or all of every form.
    """

    form: int
    which: int
    action: str
    value: Any
    everywhere: Literal["one", "form", "all"]


def texts() -> st.SearchStrategy[str]:
    """Texts that steer something, alone and several together."""
    return st.sampled_from(TEXTS) | _together()


def _together() -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(TEXTS), min_size=2, max_size=8, unique=True).map("".join)


def changes_of_texts() -> st.SearchStrategy[list[Damage]]:
    """Changes that put hostile texts where texts are: most such records are taken for profiles, so that views show them."""
    everywhere = st.sampled_from(["one", "form", "form"])
    some = st.builds(Damage, _numbers(), _numbers(), st.just("text"), texts(), everywhere)
    action = st.sampled_from(["text", "graph"])
    all_of_them = st.builds(Damage, st.just(0), st.just(0), action, _together(), st.just("all"))
    return st.lists(some, min_size=1, max_size=12) | st.builds(
        _one_then, all_of_them, st.lists(some, max_size=4)
    )


def _one_then(first: Damage, others: list[Damage]) -> list[Damage]:
    return [first, *others]


def changes() -> st.SearchStrategy[list[Damage]]:
    """Changes of any kind: most such records are refused."""
    values: st.SearchStrategy[Any] = (
        texts() | st.sampled_from(NUMBERS) | st.none() | st.booleans() | st.just([]) | st.just({})
    )
    action = st.sampled_from(["put", "drop", "twice", "swap", "swap", "number", "number", "text"])
    one = st.builds(
        Damage, _numbers(), _numbers(), action, values, st.sampled_from(["one", "one", "one", "form"])
    )
    return st.lists(one, min_size=1, max_size=4)


def _numbers() -> st.SearchStrategy[int]:
    return st.integers(0, 2**16)


@functools.cache
def entries() -> dict[str, bytes]:
    """Return the entries of the file of a real profile: of a loop and its gradient, with values and all rewrites."""
    from scanviz.record.storage.file import save

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "real.scanviz"
        save(_recorded(), path)
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}


def _recorded() -> Any:
    import scanviz
    from scanviz import tensor as T
    from scanviz.engine import observe
    from scanviz.profiler.recording.recorder import Recorder
    from scanviz.profiler.values.tracing import Tracer, with_traces
    from scanviz.record.model import OutcomeRecord

    def step(x_t: Any, before: Any, w: Any) -> Any:
        return T.tanh(x_t * w + before).sum() / (before + 3.0)

    x, w = T.vector("x"), T.vector("w")
    h, _ = scanviz.scan(step, sequences=x, outputs_info=0.5, non_sequences=w, name="wave")
    recorder, tracer = Recorder("ops"), Tracer("*")
    recorder.describe_script("wave.py", ["--fast"])
    observe.attach(recorder)
    observe.attach(tracer)
    try:
        scanviz.function([x, w], [h[-1], scanviz.grad(h[-1], w)], name="f")([1.0, 2.0, 3.0], [1.0, 2.0])
    finally:
        observe.detach(tracer)
        observe.detach(recorder)
    recorder.finish(OutcomeRecord("ok", 0))
    return with_traces(recorder.record(), tracer)


def changed(found: list[Damage], real: dict[str, bytes] | None = None) -> dict[str, bytes]:
    """Return the entries of the real profile, or of another one, with changes of its document."""
    real = entries() if real is None else real
    document = json.loads(real["record.json"])
    for change in found:
        _apply(change, document)
    return {**real, "record.json": json.dumps(document).encode()}


def _apply(change: Damage, document: Any) -> None:
    forms: dict[Place, list[Place]] = {}
    for place, value in _places(document, ()):
        if _is_meant(change, place, value):
            form = tuple("[]" if isinstance(text, int) else text for text in place)
            forms.setdefault(form, []).append(place)
    if not forms:
        return
    all_of_it = list(forms.values())[change.form % len(forms)]
    if change.everywhere == "all":
        all_of_it = list(itertools.chain(*forms.values()))
    chosen = [all_of_it[change.which % len(all_of_it)]] if change.everywhere == "one" else all_of_it
    for k, place in enumerate(reversed(chosen)):  # from the end: dropping an entry moves later ones
        other = all_of_it[(change.which + change.form + k + 1) % len(all_of_it)]
        _put(change, document, place, other)


def _is_meant(change: Damage, place: Place, value: Any) -> bool:
    """Return whether a change is one of values such as this."""
    if change.action == "text":
        return isinstance(value, str) and not set(place) & _WORDS and not _is_linked(place)
    if change.action == "graph":
        return isinstance(value, str) and _is_linked(place) and value not in _WORDS_OF_GRAPHS
    return change.action != "number" or (isinstance(value, int | float) and not isinstance(value, bool))


def _is_linked(place: Place) -> bool:
    """Return whether a text of a graph stands here that may lead to another."""
    return "graphs" in place and bool(set(place) & _LINKED)


def _at(document: Any, place: Place) -> Any:
    return functools.reduce(lambda inside, key: inside[key], place, document)


def _put(change: Damage, document: Any, place: Place, other: Place) -> None:
    around: Any = _at(document, place[:-1])
    key: Any = place[-1]
    if change.action == "graph":
        around[key] += change.value  # behind all of them: names that lead to one another still do
    elif change.action == "swap":
        around[key] = copy.deepcopy(_at(document, other))
    elif change.action == "drop":
        del around[key]
    elif change.action == "twice" and isinstance(around, list):
        around.insert(key, copy.deepcopy(around[key]))
    elif change.action == "number":
        around[key] = NUMBERS[change.which % len(NUMBERS)]
    else:
        around[key] = change.value


def _places(value: Any, place: Place) -> Iterator[tuple[Place, Any]]:
    """Iterate over all places of a document but the document itself."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        yield (*place, key), item
        yield from _places(item, (*place, key))


def archive_of(found: dict[str, bytes], extra: tuple[tuple[str, bytes], ...] = ()) -> bytes:
    """Return a zip of entries, with further ones that may have names twice."""
    stream = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(stream, "w") as archive:
        warnings.simplefilter("ignore", UserWarning)  # of a name that is there twice
        archive.comment = b"scanviz profile"
        for name, data in (*found.items(), *extra):
            archive.writestr(zipfile.ZipInfo(name), data)
    return stream.getvalue()


def damaged_arrays() -> st.SearchStrategy[tuple[int, int, bytes, int]]:
    """The array, the place in it, the written bytes, and the number of removed ones; mostly in its header."""
    where = st.integers(0, 127) | st.integers(0, 400)
    pieces = st.sampled_from(
        [
            b"",
            b"(",
            b"'",
            b"{" * 60,
            b"\x00",
            b"9" * 30,
            b"object",
            b"|O",
            b"-1",
            b"\\",
            b"\n",
            b"#",
            b"0x",
            b"1e9",
        ]
    ) | st.binary(max_size=6)
    return st.tuples(_numbers(), where, pieces, st.integers(0, 12))


def with_damaged_array(found: tuple[int, int, bytes, int]) -> dict[str, bytes]:
    """Return the entries with bytes of one array replaced; checksums of the archive fit all the same."""
    which, where, piece, length = found
    arrays = [name for name in entries() if name.endswith(".npy")]
    name = arrays[which % len(arrays)]
    data = entries()[name]
    return {**entries(), name: data[:where] + piece + data[where + length :]}


def extra_entries() -> st.SearchStrategy[tuple[str, bytes]]:
    """Entries that are there twice, or lead out of the archive, or are named after nothing."""
    names = st.sampled_from(
        [
            "record.json",
            "series/1.npy",
            "values/0.npy",
            "../evil.npy",
            "/etc/passwd",
            "series/../../x.npy",
            "x.py",
            "",
        ]
    ) | texts().map(lambda text: text.encode("utf-8", "replace").decode())
    return st.tuples(names, st.sampled_from([b"", b"{}", b"\x93NUMPY\x01\x00", b"x" * 100]))
