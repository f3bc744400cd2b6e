"""The text dump: trees, shared values, loops linked to what is around them."""

import io

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T


def text(what, **options):
    out = io.StringIO()
    scanviz.dprint(what, out, **options)
    return out.getvalue()


def test_a_value_used_twice_is_shown_once():
    x = T.vector("x")
    y = T.tanh(x)
    assert text(y * y) == "multiply [B]\n  ├─ tanh [A]\n  │  └─ x\n  └─ tanh [A] ···\n"


def test_types_and_lines_are_shown_on_demand():
    x = T.fvector("x")
    shown = text(T.tanh(x), print_type=True, print_source=True)
    assert "float32[?]" in shown and "test_text.py:" in shown and "T.tanh(x)" in shown


def test_a_loop_is_linked_to_the_variables_around_it():
    x, h0, w = T.vector("x"), T.scalar("h0"), T.scalar("w")
    (h, _), _ = scanviz.scan(
        lambda a, b, h_tm2, h_tm1, w: (a * h_tm2 + b * h_tm1 * w, h_tm1),
        dict(input=x, taps=[-1, 0]),
        [dict(initial=T.stack([h0, h0]), taps=[-2, -1]), None],
        w,
        name="two taps",
    )
    shown = text(h)
    assert "sequence     x[t-1] ← x[:-1]" in shown
    assert "h[t] is read again as h[t-2], h[t-1]" in shown
    assert "non_sequence w ← w" in shown
    assert "h[t] = add" in shown


def test_nested_loops_are_shown_below_the_loop_they_are_in():
    x = T.matrix("x")
    rows, _ = scanviz.scan(
        lambda r: scanviz.scan(lambda v, s: s + v, r, 0.0, name="inner")[0][-1], x, name="outer"
    )
    shown = text(rows)
    assert shown.index("loop outer") < shown.index("loop inner")


def test_a_function_is_shown_as_rewritten_with_its_updates():
    x, s = T.vector("x"), scanviz.shared(0.0, "count")
    rows, _ = scanviz.scan(lambda v, h: h + v, x, 0.0, name="sums")
    f = scanviz.function([x], rows[-1], updates={s: s + 1})
    shown = text(f)
    assert "(last 1 rows)" in shown and "count = add" in shown


def test_names_cannot_steer_the_terminal():
    x = T.vector("x\x1b[31m")
    assert "\x1b" not in text(x + 1)


def test_a_very_deep_graph_is_printed():
    x = T.scalar("x")
    for _ in range(3000):
        x = x + 1
    assert text(x).count("add") == 3000


def test_the_dump_is_the_same_each_time():
    x = T.vector("x")
    rows, _ = scanviz.scan(lambda v, h: T.tanh(h + v) * np.ones(1)[0], x, 0.0, name="same")
    assert text(rows) == text(rows)


def test_what_has_no_graph_is_refused():
    with pytest.raises(scanviz.ScanvizError, match="has no graph"):
        scanviz.dprint(3)
