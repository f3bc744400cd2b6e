"""The page in a real browser, with a user's questions about the several-tap network and its gradient."""

import importlib.util
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

import scanviz
from scanviz import tensor as T
from scanviz.profiler.values.replay import Replayer, filled
from scanviz.record.loops import LoopRecord
from scanviz.record.model import ProfileRecord
from scanviz.record.summary.run_breakdown import OperationTimes, parts_of
from scanviz.render.page import Extras, page
from scanviz.render.page.build import films
from tests.render.pictures import contrast

ROOT = Path(__file__).resolve().parents[3]
VIEWS = ("report", "steps", "picture", "slots", "rewrites", "player", "source")


def beside(name: str):
    """Return the module of a file beside this one: tests are no package."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


browser_module = beside("browser")
Browser = browser_module.Browser


def example() -> ProfileRecord:
    """Return the profile of examples/several_taps_gradient.py, with fewer calls."""
    sys.path.insert(0, str(ROOT / "examples"))
    try:
        import several_taps_gradient as example
    finally:
        sys.path.pop(0)
    rng = np.random.default_rng(0)
    shapes = [(24, 8), (3, 32), (4,), (20, 4), (32, 32), (8, 32), (8, 32), (4, 32), (32, 4)]
    f = example.build()
    with scanviz.profile() as p:
        for _ in range(3):
            f(*(rng.normal(size=shape) / np.sqrt(shape[-1]) for shape in shapes))
    return p.record


@pytest.fixture(scope="module")
def record() -> ProfileRecord:
    return example()


@pytest.fixture(scope="module")
def file(record, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("page") / "taps & gradient.html"
    path.write_text(page(record, Extras(notes=["A note."])), "utf-8")
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    browser_module.required()
    with Browser() as found:
        yield found


def opened(browser: Browser, folder: Path, record: ProfileRecord, hash: str = "", **extras: str) -> None:
    """Open the page of a record."""
    path = folder / "opened.html"
    path.write_text(page(record, Extras(**extras)), "utf-8")
    browser.open(path, hash)


def key(record: ProfileRecord, name: str) -> int:
    return next(loop.key for loop in record.loops if loop.name == name)


def shown(browser: Browser) -> str:
    return browser.evaluate("document.querySelector('[role=tabpanel]:not([hidden])').textContent")


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_draws_itself_without_a_complaint_or_a_request(browser, file, view):
    browser.messages.clear()
    browser.open(file, f"#view={view}")
    assert len(shown(browser)) > 100
    assert browser.evaluate(f"document.querySelector('#tab-{view}').ariaSelected") == "true"
    assert browser.problems() == []
    assert all(request.startswith(("file:", "about:")) for request in browser.requests())


def test_the_page_shows_the_rows_read_and_written_by_step_7(browser, file, record):
    browser.open(file, f"#view=player&step=7&loop={key(record, 'rnn')}")
    [words] = browser.texts("section.buffer[aria-label='mitsot x'] .words")
    assert words == "row 7: reads x[t-3]; row 9: reads x[t-1]; row 10: writes x[t]"
    assert browser.texts("section.buffer[aria-label='mitsot x'] li.written .index") == ["10"]
    browser.press("j")
    [words] = browser.texts("section.buffer[aria-label='mitsot x'] .words")
    assert words == "row 8: reads x[t-3]; row 10: reads x[t-1]; row 11: writes x[t]"
    browser.press("k")
    browser.press("g")
    [words] = browser.texts("section.buffer[aria-label='mitsot x'] .words")
    assert words == "row 0: reads x[t-3]; row 2: reads x[t-1]; row 3: writes x[t]"


def test_the_page_shows_the_outputs_and_paths_of_w_feedback(browser, file, record):
    browser.open(file, f"#view=slots&loop={key(record, 'rnn')}")
    row = "[...document.querySelectorAll('.matrix tbody tr')].find((e) => e.querySelector('th').textContent === 'W_feedback')"
    assert browser.evaluate(f"[...{row}.querySelectorAll('button')].map((e) => e.ariaLabel)") == [
        "W_feedback reaches x",
        "W_feedback reaches y",
    ]
    browser.evaluate(f"{row}.querySelectorAll('button')[1].click()")
    [text] = browser.texts("[aria-label=connections] .about code")
    assert text.startswith("W_feedback") and "tanh" in text and text.endswith("y")
    assert "(3 steps later) x[t-3]" in text


def test_the_page_explains_a_mitmot_and_the_cells_written_by_step_3(browser, file, record):
    browser.open(file, f"#view=slots&loop={key(record, 'grad_of_rnn')}")
    [why] = [
        text for text in browser.texts("tr td:last-child") if "∂x" in text and "multiple output taps" in text
    ]
    assert "writes several rows, ∂x[t-3], ∂x[t-1]" in why and "written by step t" in why
    browser.open(file, f"#view=player&step=3&loop={key(record, 'grad_of_rnn')}")
    cells = "section.buffer[aria-label='mitmot ∂x'] li"
    assert browser.texts(f"{cells}:is(.written, .both) .index") == ["4", "6"]
    assert "belongs to step 16 of rnn" in shown(browser)


def test_the_page_shows_moved_operations_with_their_rule_and_gain(browser, file, record):
    history = record.functions[0].rewrites.applications
    at = next(each.index for each in history if each.rule == "PushOutSeqScan" and "`rnn`" in each.message)
    browser.open(file, f"#view=rewrites&rewrite={at}&loop={key(record, 'rnn')}")
    text = shown(browser)
    assert "PushOutSeqScan" in text and "2 dot of all rows at once, before rnn" in text
    assert "dot(u[t], W_in_1) joins rnn as sequence" in text
    assert {"rnn"} <= set(
        browser.texts("#difference p code")
    )  # names are set as code, without their backquotes
    assert re.search(
        r"a step of rnn: (\d+) → (\d+) operations, [\d,]+ → [\d,]+ floating-point operations, ", text
    )
    assert re.search(r"a call: [\d,]+ → [\d,]+ operations", text)
    assert browser.evaluate("document.querySelectorAll('.diff del').length") > 0
    assert browser.evaluate("document.querySelectorAll('.diff ins').length") > 0
    browser.press("]")
    assert browser.evaluate("document.querySelector('#difference h3').textContent").startswith(f"{at + 1}:")
    browser.press("[")
    assert browser.evaluate("document.querySelector('#difference h3').textContent").startswith(f"{at}:")


def test_the_film_of_a_loop_goes_through_its_rewrites_and_nothing_moves(browser, file, record):
    browser.messages.clear()
    browser.open(file, f"#view=rewrites&loop={key(record, 'rnn')}")
    frames = films(record)[0]["functions"][str(record.functions[0].key)]["films"]
    frames = next(each["frames"] for each in frames if each["loop"] == "rnn")
    assert "as it was built" in browser.texts(".caption")[0]
    places = "[...document.querySelectorAll('.film rect')].map((e) => e.getAttribute('x') + ' ' + e.getAttribute('y'))"
    before = browser.evaluate(places)
    browser.press("ArrowRight")
    assert frames[1]["caption"] in browser.texts(".caption")[0] and browser.evaluate(places) == before
    assert browser.texts("#difference h3")[0].startswith(f"{frames[1]['after'] - 1}:")
    assert f"{frames[0]['operations']} → {frames[1]['operations']}" in browser.texts(".caption")[0]
    browser.press("]")  # a rewrite that changed nothing here leaves the film as it is
    assert browser.texts("#difference h3")[0].startswith(f"{frames[1]['after']}:")
    browser.evaluate(
        "(r => { r.value = r.max; r.dispatchEvent(new Event('input')); })(document.getElementById('film-frame'))"
    )
    assert frames[-1]["caption"] in browser.texts(".caption")[0]
    assert browser.texts(".curve .here") == [str(frames[-1]["operations"])]
    browser.press("p")
    assert "pause" in browser.texts("#film-play")[0] and "as it was built" in browser.texts(".caption")[0]
    browser.press("p")
    assert "play" in browser.texts("#film-play")[0] and not browser.problems()


def test_the_page_shows_the_slowest_step_with_its_operation_and_line(browser, file, record):
    browser.open(file, f"#view=report&loop={key(record, 'rnn')}")
    [row] = browser.texts(f"tbody tr[data-loop='{key(record, 'rnn')}']")
    loop = next(each for each in record.loops if each.name == "rnn")
    slowest = max(loop.series.tolist(), key=lambda each: each[2])
    heaviest = max(loop.operations, key=loop.ran_ns)
    assert f"step {slowest[1]}:" in row and heaviest.label in row
    assert f"{heaviest.source.file}:{heaviest.source.line}" in row
    browser.open(file, f"#view=steps&loop={key(record, 'rnn')}")
    browser.evaluate(
        "[...document.querySelectorAll('button')].find((e) => e.textContent === 'slowest step').click()"
    )
    assert browser.evaluate("document.getElementById('step').value") == str(slowest[1])


def test_a_node_highlights_its_counterparts_and_descendants(browser, file, record):
    browser.open(file, f"#view=picture&open=1&loop={key(record, 'rnn')}")
    chosen = browser.evaluate(
        "(() => { const n = data_nodes().find((e) => e.kind === 'inner_input' && e.label === 'y[t-1]');"
        " document.querySelector(`.picture [id=${CSS.escape(n.id)}]`).dispatchEvent(new MouseEvent('click', {bubbles: true}));"
        " return n.id; })()".replace(
            "data_nodes()", "JSON.parse(document.getElementById('data').textContent).pictures[0].nodes"
        )
    )
    classes = browser.evaluate(
        "Object.fromEntries([...document.querySelectorAll('.picture [id].choosable')].map((e) => [e.id, [...e.classList]]))"
    )
    nodes = {each["id"]: each for each in picture_of(file)["nodes"]}
    assert "chosen" in classes[chosen]
    lit = {
        nodes[each]["label"] for each, names in classes.items() if "counterpart" in names and each in nodes
    }
    assert "y[t]" in lit and any(each.startswith("y") for each in lit - {"y[t]"})
    reached = {
        nodes[each]["label"] for each, names in classes.items() if "reached" in names and each in nodes
    }
    assert {"x[t]", "cost"} <= reached
    dim = {nodes[each]["label"] for each, names in classes.items() if "dim" in names and each in nodes}
    assert "W_in_1" in dim and not dim & {"cost"}
    [about] = browser.texts("[aria-label='chosen node']")
    assert "of the outputs:" in about and "cost" in about


def picture_of(file: Path) -> dict:
    text = file.read_text("utf-8")
    begin = text.index('id="data">') + len('id="data">')
    return json.loads(text[begin : text.index("</script>", begin)])["pictures"][0]


def test_searching_and_zooming_work_by_keys_alone(browser, file):
    browser.open(file, "#open=1")
    browser.press("/")
    assert browser.evaluate("document.activeElement.id") == "search"
    for letter in "tanh":
        browser.press(letter)
    assert browser.evaluate("document.querySelectorAll('.picture .found').length") >= 1
    browser.press("Enter")
    assert browser.evaluate("document.querySelectorAll('.picture .chosen').length") == 1
    browser.evaluate("document.querySelector('.picture').focus()")
    before = browser.evaluate("document.querySelector('.picture').getAttribute('viewBox')")
    browser.press("+")
    after = browser.evaluate("document.querySelector('.picture').getAttribute('viewBox')")
    assert float(after.split()[2]) < float(before.split()[2])
    browser.press("0")
    whole = browser.evaluate("document.querySelector('.picture').getAttribute('viewBox')")
    assert float(whole.split()[2]) > float(after.split()[2])


def test_the_number_keys_choose_views_and_the_address_keeps_them(browser, file):
    browser.open(file, "#view=source")
    for number, view in enumerate(VIEWS, 1):
        browser.press(str(number))
        assert browser.evaluate(f"!document.querySelector('#view-{view}').hidden")
        assert f"view={view}" in browser.evaluate("location.hash")


def test_the_chart_moves_its_cursor_and_zooms(browser, file, record):
    browser.open(file, f"#view=steps&loop={key(record, 'rnn')}")
    browser.evaluate("document.querySelector('.chart').focus()")
    browser.press("End")
    assert browser.evaluate("document.getElementById('step').value") == "19"
    browser.press("ArrowLeft")
    assert browser.evaluate("document.getElementById('step').value") == "18"
    marks = browser.evaluate("document.querySelectorAll('.chart .mark').length")
    browser.press("+")
    assert browser.evaluate("document.querySelectorAll('.chart .mark').length") < marks
    browser.press("0")
    assert browser.evaluate("document.querySelectorAll('.chart .mark').length") == marks


def test_numbers_below_the_chart_stand_below_their_steps(browser, file, record):
    browser.open(file, f"#view=steps&loop={key(record, 'rnn')}")
    browser.evaluate("document.querySelector('.chart').focus()")
    for pressed in ("", "+", "+", "+"):
        if pressed:
            browser.press(pressed)
        away = browser.evaluate(
            """[...document.querySelectorAll('.chart [data-step]')].flatMap((number) => {
              const mark = document.querySelector(`.chart .mark[data-x="${number.dataset.step}"]`);
              return mark ? [Math.abs(mark.getBBox().x + mark.getBBox().width / 2 - number.getAttribute('x'))] : [];
            })"""
        )
        assert away and max(away) < 1


def test_a_loop_without_operation_times_lists_kept_steps_and_names_no_operation(browser, record, tmp_path):
    [rnn] = (loop for loop in record.loops if loop.name == "rnn")
    unobserved = tuple(replace(operation, typical_ns=0.0, samples=0) for operation in rnn.operations)
    changed = replace(rnn, operations=unobserved, blocks=1, block_steps=9, steps=900, series_stride=1)
    loops = tuple(changed if loop is rnn else loop for loop in record.loops)
    opened(browser, tmp_path, replace(record, loops=loops), f"#view=steps&loop={rnn.key}")
    text = shown(browser)
    assert "Most of all steps" not in text and "timed in 1 block:" in text
    assert "the slowest (◆), and all others that have a time." in text


def test_dark_and_light_are_both_readable(browser, file):
    browser.open(file)
    colours = "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    first = browser.evaluate(colours)
    browser.click("#theme")
    second = browser.evaluate(colours)
    assert first != second
    for ink, paper in (first, second):
        assert contrast(ink, paper) > 7


def test_a_large_graph_begins_with_its_loops_closed_and_opens_on_a_key(browser, file):
    browser.open(file, "#view=picture")
    count = "document.querySelectorAll('.picture .choosable').length"
    closed = browser.evaluate(count)
    browser.press("o")
    assert browser.evaluate(count) > closed > 0
    assert "open=1" in browser.evaluate("location.hash")
    width = "Number(document.querySelector('.frame .picture').getAttribute('viewBox').split(' ')[2])"
    browser.wait_for(f"{width} <= 1100")  # units: at the loop that is looked at, large enough to be read
    browser.press("o")
    assert browser.evaluate(count) == closed and not browser.problems()
    browser.wait_for(f"{width} <= 1100")


def test_a_picture_removed_before_painting_is_not_moved(browser, file):
    browser.open(file, "#view=picture")
    twice = "for (const _ of [1, 2]) document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'o', bubbles: true }));"
    painted = "new Promise((done) => requestAnimationFrame(() => done(true)))"
    assert browser.evaluate(f"(() => {{ {twice} return {painted}; }})()")
    assert not browser.problems()


def test_dark_reaches_the_graph(browser, file):
    browser.open(file, "#view=picture&open=1")
    browser.evaluate("document.documentElement.dataset.theme = 'dark'")
    inks = browser.evaluate(
        "[...new Set([...document.querySelectorAll('.picture text')].map((e) => getComputedStyle(e).fill))]"
    )
    papers = browser.evaluate(
        "[...new Set([...document.querySelectorAll('.picture :is(polygon, rect, path)')]"
        ".map((e) => getComputedStyle(e).fill).filter((e) => e.startsWith('rgb(')))]"
    )
    strong = [ink for ink in inks if contrast(ink, "rgb(255, 255, 255)") < 1.6]
    assert strong and all(contrast(ink, "rgb(22, 27, 34)") > 4 for ink in inks), inks
    assert all(
        contrast(ink, paper) > 4.5 for ink in strong for paper in papers if paper not in LINES_IN_THE_DARK
    )


# Tips of arrows are filled with the colour of their lines.
LINES_IN_THE_DARK = {"rgb(157, 167, 179)", "rgb(251, 191, 36)", "rgb(147, 197, 253)"}


def test_escape_closes_the_help_and_chooses_nothing(browser, file):
    browser.open(file, "#view=picture&open=1")
    browser.press("?")
    assert browser.evaluate("!document.getElementById('help').hidden")
    browser.press("Escape")
    assert browser.evaluate("document.getElementById('help').hidden")
    browser.press("/")
    browser.press("x")
    browser.press("Enter")
    assert browser.evaluate("document.querySelectorAll('.picture .chosen').length") == 1
    browser.press("Escape")
    assert browser.evaluate("document.querySelectorAll('.picture .chosen').length") == 0
    browser.press("1")  # the field has no focus any more: keys choose views again
    assert browser.evaluate("!document.querySelector('#view-report').hidden")


def test_tables_are_sorted_by_a_click_on_a_head_and_long_ones_wait_behind_a_button(browser, file):
    browser.open(file, "#view=report")
    region = "[aria-label='Operations of grad_of_rnn, in all steps']"
    times = f'[...document.querySelectorAll("{region} tbody tr:not([hidden]) td.number:nth-child(2)")].map((e) => e.textContent)'
    shown_first = browser.evaluate(times)
    assert len(shown_first) == 8
    browser.evaluate(f'document.querySelectorAll("{region} .sort")[1].click()')
    browser.evaluate(f'document.querySelectorAll("{region} .sort")[1].click()')
    assert (
        browser.evaluate(f"document.querySelectorAll(\"{region} th\")[1].getAttribute('aria-sort')")
        == "ascending"
    )
    assert browser.evaluate(times) != shown_first and len(browser.evaluate(times)) == 8
    browser.evaluate(f'document.querySelector("{region} .more").click()')
    assert browser.evaluate(times)[-1] == shown_first[0]


def test_the_verdict_leads_to_the_rewrites_and_to_the_loop(browser, file):
    browser.open(file, "#view=report")
    browser.evaluate(
        "[...document.querySelectorAll('.verdict button')].find((e) => e.textContent === 'rewrites').click()"
    )
    assert browser.evaluate("!document.querySelector('#view-rewrites').hidden")


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_is_wider_than_a_phone(browser, file, view):
    browser.call(
        "Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=True
    )
    try:
        browser.open(file, f"#view={view}")
        assert browser.evaluate("document.documentElement.scrollWidth") <= 390
    finally:
        browser.call("Emulation.clearDeviceMetricsOverride")


def test_everything_that_can_be_used_has_a_name_and_a_role(browser, file):
    used = ("button", "tab", "link", "textbox", "searchbox", "combobox", "checkbox", "spinbutton")
    for view in VIEWS:
        browser.open(file, f"#view={view}")
        tree = browser.call("Accessibility.getFullAXTree")["nodes"]
        for each in tree:
            role = each.get("role", {}).get("value")
            if not each.get("ignored") and role in used:
                assert each.get("name", {}).get("value"), f"a {role} of {view} has no name"


def test_printing_shows_every_view(browser, file):
    browser.open(file)
    printed = browser.call("Page.printToPDF")["data"]
    assert len(printed) > 20_000
    browser.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert browser.evaluate(
        "[...document.querySelectorAll('[role=tabpanel]')].every((e) => !e.hidden && e.textContent.length > 50)"
    )
    browser.evaluate("dispatchEvent(new Event('afterprint'))")
    assert browser.evaluate("document.querySelectorAll('[role=tabpanel]:not([hidden])').length") == 1


def planted() -> ProfileRecord:
    """A loop that reads another one, which makes NaN of what an input's row 117 left."""
    v = T.vector("v")
    level, _ = scanviz.scan(lambda v_t, s: T.sqrt(s) + v_t, v, 1.0, name="tank")
    total, _ = scanviz.scan(lambda level_t, s: 0.5 * s + T.tanh(level_t), level, 0.0, name="sum")
    return scanviz.trace(scanviz.function([v], total[-1], mode="numpy"), inflow()).record


def inflow() -> np.ndarray:
    data = np.zeros(200)
    data[36], data[117] = 3.0, -9.0
    return data


def planted_states(steps: int) -> dict[str, list[float]]:
    """Return the states of the two loops after the first steps, computed without scanviz."""
    level, total = [1.0], [0.0]
    for v in inflow()[:steps]:
        level.append(np.sqrt(level[-1]) + v)
        total.append(0.5 * total[-1] + np.tanh(level[-1]))
    return {"tank": level[1:], "sum": total[1:]}


@pytest.fixture(scope="module")
def planted_page(tmp_path_factory) -> Path:
    record = planted()
    path = tmp_path_factory.mktemp("planted") / "planted.html"
    path.write_text(page(filled(record, Replayer(record).window)), "utf-8")
    return path


def hot() -> ProfileRecord:
    """A loop most of whose time goes into one line."""
    x, w = T.vector("x"), T.matrix("w")

    def step(x_t, h):
        product = T.dot(h, w)  # planted: slow
        return 0.1 * product + x_t

    h, _ = scanviz.scan(step, x, T.zeros((200, 200)), name="hot")
    f = scanviz.function([x, w], h[-1].sum(), mode="numpy")
    with scanviz.profile() as p:
        f(np.ones(200), np.full((200, 200), 0.001))
    return replace(p.record, loops=tuple(map(on_a_quiet_machine, p.record.loops)))


def on_a_quiet_machine(loop: LoopRecord) -> LoopRecord:
    """Return a loop whose steps all took the same: what disturbed some of them is shared out among the operations of all."""
    longer = loop.total_ns / (loop.typical_ns * loop.steps)
    operations = tuple(
        replace(operation, typical_ns=operation.typical_ns * longer) for operation in loop.operations
    )
    parts = {name: getattr(loop, name) * longer for name in ("body_ns", "copy_ns", "overhead_ns")}
    return replace(loop, operations=operations, setup_ns=0, tiers=(), cost_ns=0.0, measures={}, **parts)


@pytest.fixture(scope="module")
def hot_page(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("hot") / "hot.html"
    path.write_text(page(hot()), "utf-8")
    return path


def line_of(words: str) -> str:
    """Return the place of the line that ends in a comment, as the page writes it."""
    lines = Path(__file__).read_text("utf-8").splitlines()
    [number] = [k for k, line in enumerate(lines, 1) if line.endswith(f"# {words}")]
    return f"test_in_browser.py:{number}"


class Reader:
    """A reader at the first screen who counts clicks and keys; a typed number counts with its Enter."""

    def __init__(self, browser: Browser, page: Path) -> None:
        self.browser, self.acts = browser, 0
        browser.open(page)

    def press(self, name: str) -> None:
        self.acts += 1
        self.browser.press(name)

    def follow(self, link: str) -> None:
        """Click a visible element."""
        assert self.sees(link)
        self.acts += 1
        self.browser.evaluate(
            f"[...document.querySelectorAll('button')].find((e) => e.textContent === {json.dumps(link)}).click()"
        )

    def type_number(self, number: int) -> None:
        self.acts += 1
        for digit in str(number):
            self.browser.press(digit)
        self.browser.press("Enter")

    def row(self, caption: str) -> dict[str, str]:
        """Return the first row of a table, which must stand within the window, by the heads of its columns."""
        assert self.sees(caption)
        rows = (
            "[...document.querySelector(`[aria-label=${CSS.escape("
            + json.dumps(caption)
            + ")}]`).querySelectorAll('tr')]"
        )
        assert self.browser.evaluate(f"{rows}[1].getBoundingClientRect().bottom <= innerHeight")
        return self.browser.evaluate(
            f"(([heads, cells]) => Object.fromEntries(heads.map((head, k) => [head, cells[k]])))"
            f"({rows}.slice(0, 2).map((row) => [...row.children].map((e) => e.textContent)))"
        )

    def sees(self, text: str) -> bool:
        """Whether a text stands within the window, however it is broken into lines."""
        return self.browser.evaluate(
            f"((wanted) => [...document.querySelectorAll('main *')].some((e) => e.textContent.includes(wanted)"
            " && ![...e.children].some((c) => c.textContent.includes(wanted))"
            " && (({top, bottom, width}) => width && top >= 0 && bottom <= innerHeight)(e.getBoundingClientRect())))"
            f"({json.dumps(text)})"
        )


def most_time(reader: Reader) -> None:
    assert (
        reader.sees("is the slowest line")
        and reader.sees("Where the time goes")
        and reader.sees("compilation")
    )


def slow_line(reader: Reader) -> None:
    first = reader.row("Time by line")
    assert first["line"].endswith(f"/{line_of('planted: slow')}")
    assert first["code"].endswith("# planted: slow")


def effects_of_rewriting(reader: Reader) -> None:
    assert reader.sees("from 3 to 2 operations")
    reader.follow("rewrites")
    reader.press("]")
    assert reader.sees("1: PushOutSeqScan") and reader.sees("3 → 2; floating-point: ")


def first_nan_and_its_origin(reader: Reader) -> None:
    assert reader.sees("It first appears in sqrt(s[t-1]) at step 118 of the loop tank")
    reader.press("f")
    assert reader.sees("step 118 of tank made it: sqrt(s[t-1]) with s[t-1] = -8")
    assert reader.sees("computed from your input v[117]")
    reader.follow("step 117 of tank wrote that input")
    assert reader.sees("Step 117 of 200")


def which_outputs_depend_on_which_inputs_and_how(reader: Reader) -> None:
    reader.press("c")
    assert reader.sees("Which inputs reach which outputs")
    reader.press("Enter")
    assert reader.sees(" reaches s: ") and reader.sees(" → add → s[t]")


def the_state_at_step_37_and_one_step_back(reader: Reader) -> None:
    reader.press("s")
    reader.type_number(37)
    assert reader.sees("Step 37 of 200") and reader.sees("row 38 is read by step 38 as s[t-1]")
    loop = reader.browser.evaluate("document.getElementById('loop').selectedOptions[0].text")
    states = planted_states(38)[loop]
    text = reader.row("State after step 37, and one step back")
    assert text["state"] == "s[t]"
    assert [float(text[f"after step {step}"]) for step in (36, 37)] == pytest.approx(states[36:], rel=1e-3)
    assert float(text["change"].replace("−", "-")) == pytest.approx(states[37] - states[36], rel=1e-3)


QUESTIONS = {
    most_time: "planted_page",
    slow_line: "hot_page",
    effects_of_rewriting: "planted_page",
    first_nan_and_its_origin: "planted_page",
    which_outputs_depend_on_which_inputs_and_how: "planted_page",
    the_state_at_step_37_and_one_step_back: "planted_page",
}


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.__name__)
def test_every_view_is_reached_within_two_clicks_or_keys(browser, request, question):
    browser.messages.clear()
    reader = Reader(browser, request.getfixturevalue(QUESTIONS[question]))
    question(reader)
    assert reader.acts <= 2 and not browser.problems()


def test_a_colon_asks_for_a_step_as_in_the_terminal_and_one_key_is_one_step_back(browser, planted_page):
    reader = Reader(browser, planted_page)
    reader.press(":")
    reader.type_number(37)
    reader.press("k")
    assert reader.sees("Step 36 of 200") and reader.sees("Values at step 36 of run 0")
    assert list(reader.row("State after step 36, and one step back"))[1:3] == [
        "after step 35",
        "after step 36",
    ]


def test_one_step_back_of_the_first_step_is_the_start(browser, planted_page):
    reader = Reader(browser, planted_page)
    browser.press("6")
    text = reader.row("State after step 0, and one step back")
    loop = browser.evaluate("document.getElementById('loop').selectedOptions[0].text")
    assert text["at the start"] == {"tank": "1", "sum": "0"}[loop]


def test_one_step_back_from_an_isolated_step_shows_its_input(browser, tmp_path):
    record = planted()
    trace = record.traces[0]
    step = next(k for k in trace.steps if k and k - 1 not in trace.steps)
    opened(browser, tmp_path, record, f"#view=player&step={step}&loop={trace.loop}")
    loop = next(loop.name for loop in record.loops if loop.key == trace.loop)
    assert browser.texts(".state thead th")[1] == f"after step {step - 1}"
    given = float(browser.texts(".state td")[0])
    assert given == pytest.approx(planted_states(step)[loop][-1], rel=1e-3)


def test_many_loops_are_listed_slowest_first_and_three_of_them_are_open(browser, tmp_path):
    v = T.vector("v")
    sums = [
        scanviz.scan(lambda v_t, s: s + v_t, v + float(k), 0.0, name=f"loop_{k}")[0][-1] for k in range(6)
    ]
    with scanviz.profile() as p:
        scanviz.function([v], sums, mode=scanviz.Mode("numpy", "none"))(np.ones(30))
    opened(browser, tmp_path, p.record)
    names = browser.texts("section[aria-label^=function] > .tree > li > details > summary strong")
    times = OperationTimes(parts_of(p.record))
    assert names == [loop.name for loop in sorted(p.record.loops, key=lambda loop: -times.whole(loop))]
    are_open = "[...document.querySelectorAll('section[aria-label^=function] > .tree > li > details')].map((e) => e.open)"
    assert browser.evaluate(are_open) == [True] * 3 + [False] * 3 and "1 call," in shown(browser)


def test_the_rows_of_a_buffer_are_described_in_a_sentence(browser, planted_page, file, record):
    browser.open(planted_page, "#view=player")
    first = browser.texts(".buffer h3 small")[0]
    assert re.fullmatch(r"sitsot, 201 rows: row 0 is the start \([01]\), then each step writes one.*", first)
    browser.open(file, f"#view=player&loop={key(record, 'rnn')}")
    [text] = browser.texts("section.buffer[aria-label='mitsot x'] h3 small")
    assert text == "mitsot, 23 rows: rows 0 to 2 are the start (x0), then each step writes one"


def test_the_chain_of_blame_is_open_at_its_steps_and_out_of_the_way_elsewhere(browser, planted_page):
    browser.open(planted_page, "#view=player&step=37")
    opened = "document.querySelector('.blame')?.open"
    assert browser.evaluate(opened) is False
    browser.press("f")
    assert browser.evaluate(opened) is True
    assert browser.texts(".blame summary")[0].startswith("Where the NaN of step 11")


def test_the_player_plays_scrubs_and_stops_at_the_end(browser, planted_page):
    browser.open(planted_page, "#view=player&step=190")
    browser.evaluate(
        "(() => { const s = document.querySelector('#view-player select'); s.value = 32; s.dispatchEvent(new Event('change')); })()"
    )
    browser.click("#play")
    assert "pause" in browser.texts("#play")[0]
    browser.wait_for("location.hash.includes('step=199')")
    browser.wait_for("document.getElementById('play').textContent.includes('play')")
    browser.evaluate(
        "(() => { const s = document.getElementById('scrub'); s.value = 55; s.dispatchEvent(new Event('input')); })()"
    )
    assert "step=55" in browser.evaluate("location.hash")


def test_a_step_that_is_not_in_the_page_names_the_command(browser, tmp_path):
    record = planted()
    step = next(k for k in range(200) if all(k not in trace.steps for trace in record.traces))
    opened(browser, tmp_path, record, f"#view=player&step={step}")
    text = shown(browser)
    assert f"step {step} is not in this page" in text
    assert f"--run 0 --step {step} --recompute" in text
    opened(browser, tmp_path, record, f"#view=player&step={step}", file="the tank's.scanviz")
    first = browser.texts("#player > :nth-child(2)")[0]
    assert "To see it: scanviz report 'the tank'\"'\"'s.scanviz' --values" in first, (
        "it stands before rows without values"
    )


def test_a_page_without_values_begins_with_the_command_to_record_them(browser, file):
    browser.open(file, "#view=player&step=7")
    todo, about = (
        browser.evaluate(f"document.querySelector('{at}').getBoundingClientRect().top")
        for at in (".todo", ".about")
    )
    assert todo < about
    assert "To see them: scanviz profile --values" in browser.texts(".todo")[0]


def test_variables_named_as_parts_of_the_page_do_not_stop_it(browser, tmp_path):
    """A shape of a picture has the name of its variable as its id: `data` was read as the page's data."""
    names = "data drawings views tabs loop step help said summary theme picture-1-0"
    inputs = [T.vector(name) for name in names.split()]
    rows, _ = scanviz.scan(lambda *read: T.tanh(sum(read)), inputs, T.constant(0.0))
    f = scanviz.function(inputs, rows)
    with scanviz.profile() as p:
        f(*(np.ones(5) for _ in inputs))
    opened(browser, tmp_path, p.record, "#view=picture")
    browser.wait_for("document.querySelectorAll('svg.picture [id]').length > 10")
    assert len(browser.texts("#tabs button")) == len(VIEWS)
    browser.evaluate("document.getElementById('step').value")
    assert not [m for m in browser.messages if m.get("method") == "Runtime.exceptionThrown"]
