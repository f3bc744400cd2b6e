"""Whatever keys are pressed in whatever order, on whatever profile: nothing breaks, and the state stays within the record."""

import functools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import scanviz
from scanviz import tensor as T
from scanviz.record.model import ProfileRecord
from scanviz.tui.app import ScanvizApp
from scanviz.tui.model.source import Source
from tests.tui.driver import waits
from tests.tui.records_for_tui import gradient_record, traced_record
from tests.tui.test_linked_selection import planted_record

KEYS = [
    *"12345678",
    *"hjklgGsSvxwomfFbtzrenN[],.+-0?:/y",
    *(
        "up",
        "down",
        "left",
        "right",
        "enter",
        "escape",
        "tab",
        "home",
        "end",
        "ctrl+p",
        "shift+left",
        "backspace",
    ),
    *("slash", "a", "e", "7"),
]
NAMES = {
    "[": "left_square_bracket",
    "]": "right_square_bracket",
    ",": "comma",
    ".": "full_stop",
    "+": "plus",
    "-": "minus",
    "?": "question_mark",
    ":": "colon",
    "/": "slash",
}


@functools.cache
def nested_record():
    """Return a profile of nested loops, a stopped one, one without a name, and a function without loops."""
    x = T.matrix("x")

    def inner(x_ti, s):
        return s + x_ti, scanviz.until(s > 2.0)

    def outer(row, total):
        sums, _ = scanviz.scan(inner, row, 0.0, name="inner")
        return total + sums[-1]

    total, _ = scanviz.scan(outer, x, 0.0, name="outer")
    plain, _ = scanviz.scan(lambda row: T.sum(row), x)
    f = scanviz.function([x], [total, plain], name="nested")
    g = scanviz.function([x], x * 2, name="without loops")
    with scanviz.profile() as p:
        f(np.ones((6, 5)))
        g(np.ones((2, 2)))
    return p.record


@functools.cache
def records():
    full = gradient_record()
    bare = tuple(replace(function, rewrites=None) for function in full.functions)
    return (
        traced_record(),
        planted_record(),
        nested_record(),
        replace(full, functions=bare),
        replace(
            full,
            functions=tuple(
                replace(function, rewrites=function.rewrites.list_only()) for function in full.functions
            ),
        ),
        ProfileRecord(),
    )


@settings(max_examples=settings().max_examples // 3)  # each opens an application
@given(
    number=st.integers(0, 5),
    size=st.sampled_from([(80, 24), (60, 16), (160, 50)]),
    keys=st.lists(st.sampled_from(KEYS), max_size=25),
)
@waits
async def test_random_keys_never_break_the_application(number, size, keys):
    app = ScanvizApp(Source(records()[number], "p.scanviz"))
    async with app.run_test(size=size) as pilot:
        for key in keys:
            await pilot.press(NAMES.get(key, key))
            state = app.state
            assert state.loop is None or 0 <= state.step < max(1, state.steps)
            assert state.loop is None or state.loop_record is not None
            assert app.view.command().startswith("scanviz ")
        await pilot.pause()
