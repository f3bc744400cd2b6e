"""Laws of profiles from anybody: commands show them or refuse them in words, and nothing in them steers a terminal or a page."""

import asyncio
import contextlib
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path

from hypothesis import strategies as st

from scanviz.cli import main
from scanviz.record.errors import ScanvizError
from scanviz.record.storage.file import load, save
from tests.laws.law import law
from tests.support import hostile

_OWN_COLOURS = re.compile(r"\x1b\[(0|[1-9];)?(0|1|2|3[1-6])?m")
_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
_READING = (
    "report",
    "report --json",
    "report --values",
    "report --values --step 1",
    "report --scan wave",
    "rewrites",
    "rewrites --all",
    "rewrites --json",
    "rewrites --function f",
    "rewrites --why wave",
    "rewrites --why 1",
    "rewrites --why-not PushOutNonSeqScan",
    "rewrites --step 0",
    "rewrites --step 3 --side-by-side",
    "rewrites --step 5 --tree",
    "rewrites --step 7 --costs",
    "advise",
    "advise --json",
    "compare REAL",
    "compare --anyway REAL",
    "compare --anyway --json REAL",
    "graph --engine own",
    "graph --engine own --types",
    "graph --engine own --before",
    "graph --engine own --depth 0",
    "graph --engine own --unrolled 2",
    "graph --engine own --diff 0",
    "graph --connections",
    "graph --connections=0,0",
    "graph --mappings",
    "graph --engine own -o out.svg",
    "graph --engine own -o out.html",
    "graph -o out.dot",
    "graph -o out.json",
    "graph -o out.graphml",
    "graph -o out.txt",
    *(
        f"export -f {form} -o out"
        for form in ("chrome", "perfetto", "speedscope", "collapsed", "json", "csv")
    ),
)

_MODULES = sorted(
    {*sys.stdlib_module_names, "numpy", "graphviz", "resvg_py", "scanviz"} - {*sys.builtin_module_names}
)
# Command lines with any name in them.
_NAMING = (
    "NAME",
    "report NAME",
    "report --NAME REAL",
    "report --top=NAME REAL",
    "report --scan NAME REAL",
    "html -o ./NAME.html REAL",
    "graph --function NAME REAL",
    "graph -o ./NAME.svg --engine own REAL",
    "export -f NAME REAL",
    "merge -o ./NAME.scanviz REAL REAL",
    "compare REAL ./NAME",
    "program NAME.program",
    "program --scan NAME REAL",
    "rewrites --why NAME REAL",
    "rewrites --rule NAME REAL",
    "learn NAME",
    "learn 1 --write ./NAME.py",
    "run ./NAME.py",
)


def _is_a_name(text: str) -> bool:
    """Return whether a file or an argument can be called so."""
    return (
        bool(text)
        and "\0" not in text
        and "/" not in text
        and not any(0xD800 <= ord(sign) < 0xE000 for sign in text)
    )


_KEYS = (
    *"bdeghijklmoprsuvwxyzGN+-",
    "enter",
    "escape",
    "left_square_bracket",
    "right_square_bracket",
    "space",
    "tab",
)


@contextlib.contextmanager
def _folder_with(data: bytes) -> Iterator[Path]:
    """Give the file of a profile in a folder of its own, which is the working folder meanwhile."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "any.scanviz"
        path.write_bytes(data)
        (Path(folder) / "real.scanviz").write_bytes(hostile.archive_of(hostile.entries()))
        os.chdir(folder)
        try:
            yield path
        finally:
            os.chdir(before)


class _Terminal(io.TextIOWrapper):
    """A stream that claims to be a terminal, so that there are colours."""

    def isatty(self) -> bool:
        """Return True."""
        return True


def output_of(words: str, folder: Path, meant: Mapping[str, str], terminal: bool = False) -> tuple[int, str]:
    """Return the exit code and all output of a command in a folder; an exception that leaves it is a finding.

    Parameters
    ----------
    words : str
        The command line.
    folder : Path
        Its working folder.
    meant : mapping of str to str
        Words that stand for others.
    terminal : bool
        Whether its output claims to be a terminal.
    """
    kind = _Terminal if terminal else io.TextIOWrapper
    out = kind(io.BytesIO(), "utf-8", write_through=True)
    before = os.getcwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = main([meant.get(word, word) for word in words.split()])
    finally:
        os.chdir(before)
    return code, out.buffer.getvalue().decode("utf-8")  # type: ignore[attr-defined]  # a BytesIO


def _output(words: str, terminal: bool = False) -> tuple[int, str]:
    """Return a command's output about a file."""
    return output_of(f"{words} any.scanviz", Path.cwd(), {"REAL": "real.scanviz"}, terminal)


def assert_harmless(text: str) -> None:
    """Refuse text with a control character that is not ours."""
    found = _STEERING.search(_OWN_COLOURS.sub("", text))
    if found is not None:
        around = text[max(0, found.start() - 60) : found.start() + 60]
        raise AssertionError(f"{found.group()!r} gets out, in {around!r}")


def _assert_whole(code: int, output: str) -> None:
    """Refused or shown, in words: no traceback, and a reason where the exit code is not 0."""
    assert code in (0, 1, 2), code
    assert "Traceback" not in output, output
    assert code == 0 or output.strip(), "refused without a word"
    left = [path.name for path in Path.cwd().iterdir() if path.name.startswith(".")]
    assert not left, f"temporary files are left: {left}"


@law(sample=12, found=hostile.changes_of_texts(), words=st.sampled_from(_READING), terminal=st.booleans())
def no_text_of_a_record_steers_a_terminal_or_a_file(
    found: list[hostile.Damage], words: str, terminal: bool
) -> None:
    """No command prints or writes a control character from the texts of a record, or fails on them."""
    with _folder_with(hostile.archive_of(hostile.changed(found))):
        code, text = _output(words, terminal)
        _assert_whole(code, text)
        assert_harmless(text)
        for path in Path.cwd().rglob("out*"):
            if path.is_file() and path.suffix in (".svg", ".html", ".dot", ".txt", ".graphml"):
                assert_harmless(path.read_text("utf-8"))
            if path.suffix in (".svg", ".html"):
                _assert_no_foreign_code(path.read_text("utf-8"))


@law(
    sample=15, name=hostile.texts().filter(_is_a_name), words=st.sampled_from(_NAMING), terminal=st.booleans()
)
def no_name_in_a_command_line_steers_a_terminal(name: str, words: str, terminal: bool) -> None:
    """Messages about files, loops, options and commands contain no control character or colour of their names."""
    with _folder_with(b"") as path:
        named = [word.replace("NAME", name).replace("REAL", "real.scanviz") for word in words.split()]
        meant = {str(place): word for place, word in enumerate(named)}
        code, text = output_of(" ".join(meant), path.parent, meant, terminal)
        assert code in (0, 1, 2) and "Traceback" not in text, (code, text)
        assert_harmless(text)


@law(sample=25, found=hostile.changes(), words=st.sampled_from(_READING))
def a_changed_record_is_refused_with_a_message_or_shown(found: list[hostile.Damage], words: str) -> None:
    """A command shows a record with any fields, or explains why not."""
    with _folder_with(hostile.archive_of(hostile.changed(found))):
        code, text = _output(words)
        _assert_whole(code, text)
        assert_harmless(text)


@law(sample=50, found=hostile.damaged_arrays())
def a_damaged_array_is_refused_with_a_message_or_accepted(found: tuple[int, int, bytes, int]) -> None:
    """A profile with a damaged array is accepted or refused with a ScanvizError."""
    with _folder_with(hostile.archive_of(hostile.with_damaged_array(found))) as path:
        with contextlib.suppress(ScanvizError):
            load(path)
        _assert_whole(*_output("report"))


@law(sample=25, extra=st.lists(hostile.extra_entries(), min_size=1, max_size=3))
def foreign_and_repeated_entries_are_refused(extra: list[tuple[str, bytes]]) -> None:
    """An archive with a repeated or foreign entry is refused, and nothing is unpacked."""
    with _folder_with(hostile.archive_of(hostile.entries(), tuple(extra))) as path:
        before = sorted(entry.name for entry in path.parent.iterdir())
        code, text = _output("report")
        _assert_whole(code, text)
        assert code == 1, text
        assert_harmless(text)
        assert sorted(entry.name for entry in path.parent.iterdir()) == before


@law(sample=40, where=st.integers(0, 2**16), piece=st.binary(max_size=40), length=st.integers(0, 60))
def a_damaged_archive_is_refused_with_a_message_or_accepted(where: int, piece: bytes, length: int) -> None:
    """A command shows a profile with replaced bytes, or explains why not."""
    data = hostile.archive_of(hostile.entries())
    where = len(data) - where % 2_000 if where % 2 else where % len(data)  # often in the directory at the end
    with _folder_with(data[:where] + piece + data[where + length :]):
        code, text = _output("report")
        _assert_whole(code, text)
        assert_harmless(text)


@law(sample=12, found=hostile.changes() | hostile.changes_of_texts())
def an_accepted_record_survives_its_file(found: list[hostile.Damage]) -> None:
    """An accepted profile can be saved and is the same when loaded again."""
    with _folder_with(hostile.archive_of(hostile.changed(found))) as path:
        try:
            record = load(path)
        except ScanvizError:
            return
        save(record, path)
        assert load(path) == record


@law(sample=1, found=hostile.changes_of_texts())
def no_text_of_a_record_becomes_code_of_a_page(found: list[hostile.Damage]) -> None:
    """The HTML page of any record has only our scripts and no control characters."""
    with _folder_with(hostile.archive_of(hostile.changed(found))):
        code, message = _output("html -o out.html")
        _assert_whole(code, message)
        if code == 0:
            text = Path("out.html").read_text("utf-8")
            assert_harmless(text)
            _assert_no_foreign_code(text)


@law(
    sample=1,
    names=st.lists(st.sampled_from(_MODULES), min_size=1, max_size=60),
    words=st.sampled_from(
        (
            "graph -o out.svg --engine own any.scanviz",
            "report --values --step 1 --recompute any.scanviz",
            "learn 1 --check exercise",
        )
    ),
)
def no_file_of_the_working_folder_is_executed(names: list[str], words: str) -> None:
    """A command that shows a record executes no module of the working folder, nor does a process that it starts."""
    with _folder_with(hostile.archive_of(hostile.entries())) as path:
        (path.parent / "exercise").write_text("answer = ...\n")
        expected = output_of(words, path.parent, {})
        for name in names:
            (path.parent / f"{name}.py").write_text(
                f"open({str(path.parent / 'executed')!r}, 'a').write(__name__)\n"
            )
        found = output_of(f"{words} --force" if "-o" in words else words, path.parent, {})
        assert not (path.parent / "executed").exists(), (path.parent / "executed").read_text()
        assert found == expected


class _Elements(HTMLParser):
    """Collects what could run or fetch something."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at an element."""
        if tag in ("img", "iframe", "object", "embed", "base", "form", "foreignobject"):
            self.found.append(tag)
        for name, value in attrs:
            text = (value or "").strip().lower()
            leads_out = text.startswith(("javascript:", "http:", "https:", "file:")) and name[:5] != "xmlns"
            if name.startswith("on") or leads_out:
                self.found.append(f"{tag} {name}={value}")


def _assert_no_foreign_code(text: str) -> None:
    seen = _Elements()
    seen.feed(text)
    assert not seen.found, seen.found
    assert "alert(1)</script>" not in text


@law(
    sample=1,
    found=hostile.changes_of_texts() | hostile.changes_of_texts() | hostile.changes(),
    keys=st.lists(st.sampled_from(_KEYS), max_size=4),
)
def no_text_of_a_record_steers_the_terminal_of_the_application(
    found: list[hostile.Damage], keys: list[str]
) -> None:
    """No tab of the terminal application draws a control character that a record holds."""
    with _folder_with(hostile.archive_of(hostile.changed(found))) as path:
        try:
            record = load(path)
        except ScanvizError:
            return
        for number, drawn in asyncio.run(_drawn(record, keys)):
            found_there = _STEERING.search(drawn)
            assert found_there is None, (number, found_there, drawn[:400])


async def _drawn(record: object, keys: list[str]) -> list[tuple[int, str]]:
    """Return what each tab draws, after keys were pressed in it."""
    from scanviz.tui.app import ScanvizApp
    from scanviz.tui.model.source import Source
    from scanviz.tui.views import VIEWS
    from tests.support.idle import unseen

    app = unseen(ScanvizApp(Source(record, "any.scanviz")))  # type: ignore[arg-type]  # a ProfileRecord, whose class is not imported for this
    drawn = []
    async with app.run_test(size=(160, 60)) as pilot:
        for number in range(1, len(VIEWS) + 1):
            await pilot.press(str(number), *keys)
            await pilot.pause()
            strips = app.screen._compositor.render_strips()
            drawn.append((number, "".join(segment.text for strip in strips for segment in strip)))
    return drawn
