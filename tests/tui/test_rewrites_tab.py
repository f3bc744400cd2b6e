"""The tab Rewrites: its first lines, measured effects, and lines kept in view."""

from unittest import mock

from msgspec.structs import replace
from rich.text import Text

from scanviz.record.graphs.rewrites import EffectRecord
from scanviz.tui.model.source import Source
from scanviz.tui.views.film import FilmView
from scanviz.tui.views.rewrite_cells import about_all, counts_of, measured_cell
from tests.tui.driver import at, opened, text_of, until_shown, waits
from tests.tui.records_for_tui import gradient_record


def effect(rule, ratio, low, high):
    return EffectRecord(rule, ratio, low, high, 9, 1e6, 1e6 * ratio, 100, 100)


def with_effects(record):
    """Return a record in which two rules were measured, one of them surely worth something."""
    effects = effect("PushOutSeqScan", 1.7, 1.6, 1.8), effect("merge_equal", 1.01, 0.95, 1.07)
    functions = [
        replace(function, rewrites=replace(function.rewrites, effects=effects))
        for function in record.functions
    ]
    return replace(record, functions=tuple(functions))


def test_operation_counts_lead_from_the_built_to_the_final_graph():
    history = gradient_record().functions[0].rewrites
    counts, now = counts_of(history), dict(history.steps(0))
    for text in counts.values():
        for part in filter(None, text.split(", ")):
            loop, before, _, after = part.split()
            assert str(now.get(loop, 0)) == before
            now[loop] = int(after) if after != "gone" else after
    assert now == history.steps(len(history.applications))


def test_an_uncertain_ratio_is_shown_as_noise():
    assert measured_cell(effect("a", 1.01, 0.95, 1.07)).text == "noise ±6 %"
    assert measured_cell(effect("a", 3.0, 0.9, 68.0)).text == "noise 0.9 to 68×"
    assert measured_cell(effect("a", 1.7, 1.6, 1.8)).text == "1.70×"
    assert measured_cell(None).text == ""
    done = replace(effect("a", 1.01, 0.95, 1.07), instead=("b",))
    assert measured_cell(done).text == "noise: b instead" and done.words().endswith("was then done by b")


def test_a_function_without_rewrites_shows_no_time():
    history = replace(gradient_record().functions[0].rewrites, applications=())
    assert about_all(history).plain == "no rewrites"


@waits
async def test_the_tab_begins_with_the_operations_per_step_before_and_after():
    history = gradient_record().functions[0].rewrites
    before, after = (history.steps(k)["grad_of_rnn"] for k in (0, len(history.applications)))
    async with opened(gradient_record()) as (app, pilot):
        await at(app, pilot, "Rewrites")
        text = text_of(app, "#rewrites-about")
        assert text.startswith("operations a step: ") and f"grad_of_rnn {before} → {after}" in text
        assert before > after
        assert any("→" in row for row in app.view.rows())


@waits
async def test_costs_are_shown_with_the_shapes_of_the_run():
    record = gradient_record()
    async with opened(record, size=(160, 60)) as (app, pilot):
        await at(app, pilot, "Rewrites")
        await pilot.press("v", "v", "v")
        await pilot.pause()
        text = " ".join(text_of(app, "#rewrites-difference").split())
        assert "with the shapes of the last call" in text
        for loop in record.loops:
            flops = sum(operation.measures.get("flops", 0) for operation in loop.operations)
            assert f"{loop.name}, a step: {flops:,.0f} floating-point operations" in text and flops > 0


@waits
async def test_a_measures_the_rules_and_shows_noise_as_noise():
    class Measured(Source):
        def measure_rules(self):
            self.record = with_effects(self.record)
            return ""

    async with opened(gradient_record(), size=(160, 40)) as (app, pilot):
        app.source = Measured(gradient_record(), "p.scanviz")
        await at(app, pilot, "Rewrites")
        assert not any("noise" in row for row in app.view.rows())
        await pilot.press("a")
        await pilot.pause()
        assert not app.workers._workers  # running a script is asked for twice
        await pilot.press("a")
        await app.workers.wait_for_complete()
        await pilot.pause()
        rows = app.view.rows()
        assert any("1.70×" in row and "PushOutSeqScan" in row for row in rows)
        assert any("noise ±6 %" in row and "merge_equal" in row for row in rows)


@waits
async def test_rules_that_cannot_be_measured_here_name_the_command():
    async with opened(gradient_record()) as (app, _):
        assert "scanviz rewrites --ablate --into p.scanviz" in app.source.measure_rules()
        app.source.running = True
        assert "still runs" in app.source.measure_rules()
        app.source.running = False


@waits
async def test_v_keeps_the_cursor_and_the_first_changed_line_in_view():
    async with opened(gradient_record(), size=(80, 24)) as (app, pilot):
        await at(app, pilot, "Rewrites")
        table = app.view.table()
        await pilot.press("G")
        await pilot.pause()
        last = table.cursor_row
        for _ in range(4):
            await pilot.press("v")
            await pilot.pause()
            await pilot.pause()
            assert table.cursor_row == last
            seen = range(round(table.scroll_offset.y), round(table.scroll_offset.y) + table.size.height - 1)
            assert last in seen
        await pilot.press("g", "v", "v")
        await pilot.pause()
        await pilot.pause()
        pane, shown = app.query_one("#rewrites-pane"), app.query_one("#rewrites-difference").content
        assert isinstance(shown, Text)
        lines = shown.plain.split("\n")
        first = next(k for k, line in enumerate(lines) if line.lstrip().startswith(("- ", "+ ")))
        assert pane.scroll_offset.y <= first < pane.scroll_offset.y + pane.size.height


@waits
async def test_the_film_goes_through_the_rewrites_and_nothing_moves_but_the_cursor_of_its_curve():
    record = gradient_record()
    async with opened(record) as (app, pilot):
        await at(app, pilot, "Rewrites")
        await pilot.press("f", "home")
        await pilot.pause()
        film = app.query_one(FilmView)
        count = len(film.film.frames)
        assert film.frame == 0 and "frame 1 of" in text_of(app, "#film-caption") and count > 3
        places, cursors = {}, []
        for number in range(count):
            assert film.frame == number
            seen = film.film.frames[number]
            assert app.state.rewrite == max(0, seen.after - 1)
            text = text_of(app, "#film-caption")
            assert seen.caption in text and (seen.text in " ".join(text.split()) or not seen.text)
            for place, line in enumerate(film._drawing.lines(film._moments[number])):
                if line.part in seen.shown and line.text.strip():
                    assert places.setdefault(line.part, place) == place
            cursors.append(text_of(app, "#film-curve").splitlines()[-1].index("▲"))
            await pilot.press("right")
            await pilot.pause()
        assert cursors == sorted(set(cursors))
        last = app.view.rows()
        await pilot.press("left_square_bracket")  # the list and the film look at the same rewrite
        await pilot.pause()
        assert (
            film.film.frames[film.frame].after <= app.state.rewrite + 1 < count + 20
            and app.view.rows() != last
        )
        await pilot.click("#film-curve", offset=(cursors[1], 2))
        await pilot.pause()
        assert film.frame == 1
        changed = [row for row in app.view.rows() if "+ " in row or "− " in row]
        assert changed and app.view.command().startswith("scanviz graph FILE --film")
        await pilot.press("o")  # one loop alone
        await pilot.pause()
        loop = app.state.loop_record.name
        assert film.film.counted == f"operations of one step of {loop}"
        await pilot.press("escape")
        await pilot.pause()
        assert app.focused.id == "rewrites-table" and not film.display


@waits
async def test_the_film_plays_to_its_end_and_stops():
    with mock.patch("scanviz.tui.views.film.SECONDS", 0.01):
        async with opened(gradient_record()) as (app, pilot):
            await at(app, pilot, "Rewrites")
            await pilot.press("f", "home", "space")
            film = app.query_one(FilmView)
            await until_shown(pilot, lambda: not film.plays and film.frame, "end of the film")
            assert not film.plays and film.frame == len(film.film.frames) - 1
