"""A function's rows in the Profile tab add up to it, and the whole run stands below."""

import asyncio

import numpy as np
import pytest
from msgspec import structs

import scanviz
from scanviz import tensor as T
from scanviz.record.summary.run_breakdown import parts_of
from scanviz.tui.views.run_parts import function_rows, run_summary
from scanviz.tui.views.tables import SortedTable
from tests.tui.driver import opened, text_of

X, W = T.matrix("X"), T.matrix("W")


@pytest.fixture(scope="module")
def record():
    with scanviz.profile() as p:
        encoded, _ = scanviz.scan(lambda x, w: T.tanh(T.dot(x, w)), X, non_sequences=W, name="encoder")
        h, _ = scanviz.scan(lambda e, h: T.tanh(e + h), encoded, T.zeros(8), name="decoder")
        f = scanviz.function([X, W], h[-1].sum(), mode="numpy", name="net")
        for _ in range(4):
            f(np.ones((30, 8)), np.ones((8, 8)))
    return p.record


def test_rows_sum_to_the_function_and_name_moved_work(record):
    (function,), parts = record.functions, parts_of(record)
    rows = function_rows(function, parts, ())
    (part,) = (part for part in parts if part.kind == "function")
    assert sum(row[0].value for _, row in rows) == part.total_ns
    names = [row[2].text for _, row in rows]
    assert "loop decoder" in names and names[-1] == "unattributed"
    assert any("(out of encoder by PushOutSeqScan)" in name for name in names)
    assert len({key for key, _ in rows}) == len(rows)


def test_the_whole_run_and_removed_loops_are_listed_below(record):
    shown = str(run_summary(record, parts_of(record), 80))
    for text in ("the whole run:", "compilation", "your own code", "encoder: gone"):
        assert text in shown
    assert max(map(len, shown.split("\n")[:7])) <= 80


def test_the_tab_shows_rows_of_a_function(record):
    async def look():
        async with opened(record) as (app, pilot):
            app.state = app.state.at_function(record.functions[0].key)
            await pilot.pause()
            await pilot.pause()
            return app.main.query_one("#profile-table", SortedTable).texts(), text_of(app, "#profile-pair")

    texts, below = asyncio.run(look())
    assert any("loop decoder" in text for text in texts)
    assert "unattributed" in below


def test_measured_machine_limits_are_shown_beside_operations(record):
    limits = {"large_copy_bytes_per_s": 9e9, "product_flops_per_s": 1e6, "numpy_call_ns": 300.0}
    limited = structs.replace(record, measures=record.measures | limits)

    async def look(record):
        async with opened(record) as (app, pilot):
            found = []
            for state in (app.state.at_function(record.functions[0].key), app.state):
                app.state = state
                await pilot.pause()
                await pilot.pause()
                table = app.main.query_one("#profile-table", SortedTable)
                found.append((table.texts(), text_of(app, "#profile-about")))
            return found

    for texts, about in asyncio.run(look(limited)):
        assert "memory 9.00 GB/s, products 0.001 GFLOP/s, a call 300 ns" in about
        assert any("% arithmetic" in text or "% the call" in text for text in texts)
    for texts, about in asyncio.run(look(record)):
        assert "limits" not in about and not any("% the call" in text for text in texts)
