"""The verdict above the first tab: its sentences, its number of rows, and the targets of its sentences."""

from msgspec.structs import replace

from scanviz.profiler.report.units import share
from scanviz.record.model import BuildRecord, OutcomeRecord, ProfileRecord, ThreadTimesRecord
from scanviz.record.summary.run_breakdown import OperationTimes, parts_of
from scanviz.record.summary.verdict import ONLY_COMPILED, VerdictSentence, verdict
from scanviz.tui.model.state import start
from scanviz.tui.text.stacked_bar import Segment, apportioned, fitting, legend, stacked
from scanviz.tui.verdict_bar import place_of, wrapped
from tests.tui.driver import opened, waits
from tests.tui.records_for_tui import gradient_record, traced_record
from tests.tui.test_linked_selection import planted_record


def test_shares_of_a_bar_always_sum_to_its_width():
    for values in ([1, 1, 1], [0, 0], [5], [1e-9, 1.0], [2, 3, 5, 7, 11, 13], [0.004] * 7):
        for whole in (1, 7, 40, 100):
            assert sum(apportioned(values, whole)) == whole
            assert all(cells >= 0 for cells in apportioned(values, whole))


def test_a_bar_and_its_legend_show_all_parts_at_any_width():
    parts = [Segment(f"part {k}", 10 - k) for k in range(9)]
    for width in (20, 40, 80, 160):
        kept = fitting(parts, width)
        assert sum(part.value for part in kept) == sum(part.value for part in parts)
        assert legend(kept).cell_len <= width or len(kept) == 2
        assert stacked(kept, width).cell_len == width
    assert kept[-1].title == "the rest"


def test_each_sentence_has_a_row_and_the_first_ones_have_more():
    texts = ["word " * 40, "word " * 40, "short"]
    rows = wrapped(texts, 40, 6)
    assert [len(lines) for lines in rows] == [4, 1, 1]
    assert rows[1][0].endswith("…") and all(len(line) <= 40 for lines in rows for line in lines)


def test_each_kind_of_sentence_leads_to_its_tab():
    record = traced_record()
    state = start(record)
    for sentence in verdict(record):
        title, there = place_of(sentence, state)
        expected = {
            "time": ("Profile", "Source"),
            "why": ("Profile", "Source"),
            "rewriting": ("Rewrites",),
            "unusual": ("Values", "Steps"),
        }
        assert title in expected[sentence.topic]
        assert sentence.loop is None or there.loop == sentence.loop
        if title == "Source":
            assert there.line == str(sentence.source)
    tail = VerdictSentence("unusual", "slow steps", state.function, state.loop)
    assert place_of(tail, state)[0] == "Steps"
    line = state.loop_record.operations[0].source
    title, there = place_of(VerdictSentence("try", "To try", source=line), state)
    assert (title, there.line) == ("Source", str(line))


@waits
async def test_enter_and_clicks_follow_the_verdict_above_the_first_tab():
    record = replace(planted_record(), wall_ns=2_000_000_000)
    sentences = verdict(record)
    bad = next(k for k, sentence in enumerate(sentences) if "NaN" in sentence.text)
    async with opened(record) as (app, pilot):
        bar = app.query_one("#verdict")
        assert bar.region.y == 1 and bar.region.width == 120
        shown = str(bar.render())
        assert all(sentence.text[:30] in shown for sentence in sentences)
        await pilot.press("i", *["down"] * bad)
        await pilot.pause()
        content = bar.render()
        assert content.spans and any(getattr(span.style, "reverse", False) for span in content.spans)
        await pilot.press("enter")
        await pilot.pause()
        assert (app.view.TITLE, app.state.step) == ("Values", sentences[bad].step)
        assert not bar.display or not bar.region.height  # another tab has the room
        await pilot.press("escape")
        await pilot.pause()
        assert app.view.TITLE == "Profile" and bar.region.height
        await pilot.click("#verdict", offset=(10, bar._rows.index(bad)))
        await pilot.pause()
        assert app.view.TITLE == "Values"


@waits
async def test_a_run_that_only_compiled_shows_the_reports_text():
    built = BuildRecord("function", None, 1, 60_000)
    record = ProfileRecord(
        script="rnn.py",
        wall_ns=100_000,
        building=(built,),
        outcome=OutcomeRecord("ok", 0),
        threads=ThreadTimesRecord(inside_ns=60_000),
    )
    async with opened(record) as (app, _):
        shown = str(app.query_one("#verdict").render())
        assert ONLY_COMPILED in shown and "100 µs" in shown and "compilation" in shown
        tab = [str(app.query_one(name).render()) for name in ("#profile-about", "#profile-pair")]
        assert tab[0] == "" and "compilation" in tab[1] and "60 %" in tab[1]
    async with opened(ProfileRecord(script="rnn.py")) as (app, _):
        assert str(app.query_one("#profile-about").render()) == "Nothing was recorded yet."


@waits
async def test_advice_ends_the_verdict():
    async with opened(gradient_record(), size=(80, 24)) as (app, pilot):
        bar = app.query_one("#verdict")
        before = bar.region.height
        bar.advise(VerdictSentence("try", "To try: a larger step."))
        await pilot.pause()
        assert "→  To try: a larger step." in str(bar.render())
        assert before <= bar.region.height <= 24 // 4


@waits
async def test_the_tree_uses_a_quarter_of_the_width_or_one_line():
    for columns, rows in ((200, 60), (120, 40), (100, 30)):
        async with opened(gradient_record(), size=(columns, rows)) as (app, pilot):
            tree = app.query_one("#tree")
            assert tree.region.width <= columns / 4
            loop = max(app.state.record.loops, key=lambda loop: loop.total_ns)
            label = next(str(node.label) for key, node in tree._by_key.items() if key == ("loop", loop.key))
            times = OperationTimes(parts_of(app.state.record))
            assert label.split()[0] == share(times.whole(loop), times.run_ns).split()[0]
    async with opened(gradient_record(), size=(80, 24)) as (app, pilot):
        tree = app.query_one("#tree")
        assert tree.region.height == 1 and tree.region.width == 80
        await pilot.press("t")
        await pilot.pause()
        assert tree.region.height > 1
        table = app.view.table()
        await pilot.press("1")
        await pilot.pause()
        assert tree.region.height == 1
        titles = [column.title for column in table._titles]
        last = titles.index("line")
        widths = [column.get_render_width(table) for column in table.ordered_columns[: last + 1]]
        assert sum(widths) <= table.size.width  # the line is seen without scrolling


@waits
async def test_the_tree_is_resorted_while_the_cursor_stays_on_its_loop():
    record = gradient_record()
    first, second = sorted(record.loops, key=lambda loop: -loop.total_ns)
    async with opened(record) as (app, pilot):
        tree = app.query_one("#tree")
        app.state = app.state.at_loop(second.key)
        await pilot.press("t")
        await pilot.pause()
        assert list(tree._by_key)[1:] == [("loop", first.key), ("loop", second.key)]
        later = tuple(
            replace(loop, total_ns=first.total_ns * 3) if loop.key == second.key else loop
            for loop in record.loops
        )
        app.state = app.state.with_record(replace(record, loops=later))
        await pilot.pause()
        await pilot.pause()
        assert list(tree._by_key)[1:] == [("loop", second.key), ("loop", first.key)]
        assert app.state.loop == second.key and tree.cursor_node.data == ("loop", second.key)
