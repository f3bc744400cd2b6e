"""README and every page of docs/ are programs: their ``python`` blocks run from top to bottom, in one namespace a page.

A block of ``>>>`` lines is a doctest.  The output of any other block is compared with the block fenced ``output`` that
follows it, where there is one; ``...`` there stands for anything.  A block that is only to be read is fenced ``text``.
"""

import contextlib
import doctest
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

from tests.support.internals import temporary_declarations

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    ROOT / "README.md",
    *sorted(page for page in (ROOT / "docs").glob("**/*.md") if "_generated" not in page.parts),
]
FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,}|~{3,})\s*(?P<language>[\w+-]*).*$")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True, slots=True)
class Block:
    language: str
    line: int  # of the block's first line, from 1
    text: str


def blocks(page: str) -> Iterator[Block]:
    """Yield the fenced blocks of a Markdown page, their indentation removed."""
    lines = iter(enumerate(page.splitlines(), start=1))
    for number, line in lines:
        if (opening := FENCE.match(line)) is None:
            continue
        indent, ticks = len(opening["indent"]), opening["ticks"]
        body = []
        for _, inner in lines:
            if inner.strip().startswith(ticks) and not inner.strip().strip(ticks[0]):
                break
            body.append(inner[min(indent, len(inner) - len(inner.lstrip(" "))) :])
        else:
            raise ValueError(f"line {number}: the block that begins here is never closed")
        yield Block(opening["language"], number + 1, "".join(f"{text}\n" for text in body))


def run_page(page: str, filename: str) -> int:
    """Run the page's Python blocks and compare their output; return how many ran."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    found = list(blocks(page))
    ran = 0
    for block, following in zip_longest(found, found[1:]):
        if block.language not in ("python", "py", "pycon"):
            continue
        ran += 1
        if block.text.lstrip().startswith(">>>"):
            run_doctest(block, namespace, filename)
            continue
        # Empty lines in front give tracebacks, and scanviz's own messages, the page's line numbers.
        code = compile("\n" * (block.line - 1) + block.text, filename, "exec")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, namespace)
        if following is not None and following.language == "output":
            matches = doctest.OutputChecker().check_output(following.text, printed.getvalue(), FLAGS)
            assert matches, (
                f"{filename}:{block.line} printed\n{printed.getvalue()}\nbut the page says\n{following.text}"
            )
    return ran


def run_doctest(block: Block, namespace: dict[str, Any], filename: str) -> None:
    test = doctest.DocTestParser().get_doctest(block.text, {}, filename, filename, block.line - 1)
    test.globs = namespace  # the page's own, so that later blocks see what this one defined
    report = io.StringIO()
    failed, _ = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.write, clear_globs=False)
    assert not failed, report.getvalue()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_python_block_of_the_page_runs(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with temporary_declarations():
        run_page(path.read_text("utf-8"), str(path))


GOOD = """
# A page

```python
x = 6
print(x * 7)
```

```output
42
```

1. In a list:

   ```python
   >>> x + 1
   7
   >>> y = 1
   ```

```text
not python at all
```

````python
assert y == 1
# ``` is no end here
````
"""


def test_a_page_runs_as_one_program_and_prints_its_documented_output() -> None:
    assert run_page(GOOD, "page.md") == 3


@pytest.mark.parametrize(
    ("right", "wrong", "error"),
    [
        ("\n42\n", "\n43\n", AssertionError),
        ("\n   7\n", "\n   8\n", AssertionError),
        ("y == 1", "y == 2", AssertionError),
        ("x = 6", "x = six", NameError),
        ("````\n", "", ValueError),
    ],
)
def test_a_page_that_is_wrong_fails(right: str, wrong: str, error: type[Exception]) -> None:
    assert GOOD.count(right) >= 1
    head, _, tail = GOOD.rpartition(right)
    with pytest.raises(error):
        run_page(head + wrong + tail, "page.md")


def test_an_error_in_a_page_names_the_line_of_the_page() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        run_page("# A page\n\n```python\nfine = 1\n1 / 0\n```\n", "page.md")
    assert caught.traceback[-1].lineno == 4  # counted from 0
