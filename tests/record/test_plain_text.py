"""Text on its way to a terminal goes through one gate, which lets nothing pass that steers it."""

import ast
import io
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import scanviz
from scanviz.profiler.report.text import ReportLine, styled, table
from scanviz.record.plain_text import is_plain, plain_lines, sanitize, write_json, write_text
from tests.support.hostile import TEXTS, texts

PACKAGE = Path(scanviz.__file__).parent
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\ud800-\udfff]")
# Modules that write to a terminal by another way, with the reason.
OTHER_WAYS = {
    "record/plain_text.py": "it is the gate",
    "profiler/run/live.py": "moves the cursor, and writes numbers of its own alone",
    "cli/compare.py": "erases its line, and writes numbers of its own alone",
    "cli/files.py": "bytes of a file, to what is no terminal",
    "render/text.py": "Rich colours what went through sanitize()",
    "tui/terminal.py": "what Textual writes to its terminal, as it is",
}


@given(texts() | st.text())
def test_control_characters_do_not_pass(text: str) -> None:
    assert (
        is_plain(sanitize(text))
        and not STEERING.search(sanitize(text))
        and sanitize(sanitize(text)) == sanitize(text)
    )
    shown = plain_lines(text)
    assert not STEERING.search(shown) and plain_lines(shown) == shown
    shown = plain_lines(text, colours=True)
    assert not STEERING.search(re.sub(r"\x1b\[[0-9;]*m", "", shown)) and plain_lines(shown, True) == shown


@given(texts() | st.text(), st.booleans(), st.integers(1, 60))
def test_a_line_and_a_table_of_a_report_are_harmless(text: str, wraps: bool, width: int) -> None:
    assert not STEERING.search(styled(ReportLine(text, wraps=wraps), width, False))
    for row in table([[text, "a"], ["b", text]], 1, width):
        assert is_plain(row)


@pytest.mark.parametrize("text", TEXTS)
def test_json_stays_json(text: str) -> None:
    out = io.StringIO()
    write_json({text: [text]}, out)
    assert is_plain(out.getvalue()[:-1]) and json.loads(out.getvalue()) == {text: [text]}


def test_characters_missing_from_the_encoding_are_replaced() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, "ascii", write_through=True)
    write_text("µ \x1b[1mä\x1b[0m \x1b]0;x\x07\n", stream, colours=True)
    assert raw.getvalue() == b"u \x1b[1m?\x1b[0m \\x1b]0;x\\x07\n"


def test_terminal_output_always_passes_the_sanitizer() -> None:
    found = []
    for folder in ("cli", "profiler", "tui", "render", "record"):
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            name = path.relative_to(PACKAGE).as_posix()
            if name not in OTHER_WAYS:
                found += [f"{name}:{line}" for line in _writes(path.read_text("utf-8"))]
    assert found == []


def _writes(source: str) -> list[int]:
    """Return the lines that print, or write to standard output or standard error or a stream that may be one."""
    lines: list[int] = []
    if not re.search(r"\b(print|json\.dump|write|writelines)\(", source):
        return lines
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        text = ast.unparse(node.func)
        if re.fullmatch(
            r"print|json\.dump|(sys\.|self\.)?_*(std\w+|stream|out|said|file|own)(\.buffer)?\.write(lines)?",
            text,
        ):
            binary = text == "stream.write" and any(
                re.search(r"encode|marked|data|bytes", ast.unparse(arg)) for arg in node.args
            )  # a file that replacing() has opened
            lines += [] if binary else [node.lineno]
    return lines
