"""The text dump: trees, shared values, loops linked to outer variables."""

import io
import re

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


def test_an_object_without_a_graph_is_refused():
    with pytest.raises(scanviz.ScanvizError, match="has no graph"):
        scanviz.dprint(3)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def coloured(what, monkeypatch, **environment):
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    out = Terminal()
    scanviz.dprint(what, out)
    return out.getvalue()


def test_a_terminal_gets_colour_around_the_same_text(monkeypatch):
    x = T.vector("x" * 200)
    shown = coloured(T.tanh(x) + 1, monkeypatch)
    assert "\x1b[" in shown
    assert re.sub(r"\x1b\[[0-9;]*m", "", shown) == text(T.tanh(x) + 1)


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"NO_COLOR": "0"}, {"TERM": "dumb"}], ids=str)
def test_colours_are_off_on_request(monkeypatch, environment):
    y = T.tanh(T.vector("x"))
    assert coloured(y, monkeypatch, **environment) == text(y)


def test_brackets_in_names_are_text_and_no_markup(monkeypatch):
    x = T.vector("[red]x[/red]")
    assert "[red]x[/red]" in re.sub(r"\x1b\[[0-9;]*m", "", coloured(x + 1, monkeypatch))


def test_the_outputs_of_a_draw_are_distinguished():
    x = T.matrix("x")
    sign, logarithm = T.linalg.slogdet(x)
    shown = text([sign, logarithm])
    assert "slogdet.0 [A]" in shown and "slogdet.1 [B]" in shown
    assert shown.count("└─ x") == 1


def test_letters_go_on_through_the_loops_and_past_z():
    x = T.vector("x")
    rows, _ = scanviz.scan(lambda v, h: h * v, x, 0.0)
    y = rows
    for _ in range(30):
        y = T.tanh(y)
    letters = re.findall(r"\[([A-Z]+)\](?! ···)", text(y))
    assert {"A", "Z", "AA", "AF"} <= set(letters)
    assert re.search(r"h\[t\] = multiply \[A[A-Z]\]", text(y))


def test_an_input_alone_is_one_line():
    assert text(T.vector("x")) == "x\n" and text([T.vector("x"), T.scalar()]) == "x\nunnamed float64[]\n"


def test_a_file_is_written_to_and_nothing_is_printed(tmp_path, capsys):
    path = tmp_path / "graph.txt"
    with path.open("w", encoding="utf-8") as file:
        scanviz.dprint(T.vector("x"), file)
    assert path.read_text(encoding="utf-8") == "x\n" and capsys.readouterr().out == ""
    scanviz.dprint(T.vector("x"))
    assert capsys.readouterr().out == "x\n"


def test_a_backward_loop_names_the_loop_that_it_belongs_to():
    x = T.vector("x")
    h, _ = scanviz.scan(lambda x_t, h: T.tanh(x_t + h), x, T.constant(0.0), name="rnn")
    shown = text(scanviz.grad(h[-1], x))
    assert "loop grad_of_rnn, back-propagation of rnn\n" in shown and "loop rnn\n" in shown
