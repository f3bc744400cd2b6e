"""A few whole screens, character by character, of a record with fixed times.

``SCANVIZ_UPDATE_SNAPSHOTS=1 pytest tests/tui/test_snapshots.py`` writes them anew; look at what has changed before you commit it.
They hold for one version of Textual, whose own drawing changes, and are skipped with others.
"""

import asyncio
import os
from pathlib import Path

import numpy as np
import pytest
import textual
from msgspec import structs

from scanviz.record.model import CallPartsRecord, CostRecord, ThreadTimesRecord
from scanviz.record.values import DurationRecord
from tests.tui.driver import NUMBERS, opened
from tests.tui.records_for_tui import traced_record

FOLDER = Path(__file__).parent / "snapshots"
TEXTUAL = "8.2"
pytestmark = pytest.mark.skipif(
    not textual.__version__.startswith(TEXTUAL), reason=f"screens are those of Textual {TEXTUAL}"
)
US = 1_000
SCREENS = {
    "profile-120x40": ("Profile", (120, 40), ""),
    "profile-80x24": ("Profile", (80, 24), ""),
    "steps-80x24": ("Steps", (80, 24), "right right"),
    "variables-120x40": ("Variables", (120, 40), "down down"),
    "rewrites-160x40": ("Rewrites", (160, 40), "right_square_bracket v"),
    "values-100x30": ("Values", (100, 30), "f v"),
}


def fixed_record():
    """Return the profile with times that do not change from run to run."""
    record = traced_record()
    loops = tuple(structs.replace(_fixed_loop(loop), measures={}) for loop in record.loops)
    functions = tuple(
        structs.replace(_fixed_function(function), measures={}) for function in record.functions
    )
    return structs.replace(
        record,
        script="rnn.py",
        loops=loops,
        functions=functions,
        wall_ns=5_000 * US,
        measures={},
        cost=CostRecord(),
        building=(),
        threads=ThreadTimesRecord(inside_ns=4_000 * US),
    )


def _fixed_loop(loop):
    # which steps have a time depends on how fast they were: here all have
    length = loop.steps // max(1, loop.runs)
    rows = [[run, step, 0, 0] for run in range(loop.runs) for step in range(length)]
    series = np.array(rows, np.int64).reshape(-1, 4)
    series[:, 2] = US * (20 + series[:, 1] % 7 + 30 * (series[:, 1] == 13))
    series[:, 3] = np.where(series[:, 1] == 13, 3, 1)
    count, total = loop.steps, 1_000 * US * (1 + (loop.gradient_of is not None))
    operations = tuple(
        structs.replace(
            operation,
            typical_ns=100.0 * (operation.index + 1),
            mean_ns=125.0 * (operation.index + 1),
            samples=10,
        )
        for operation in loop.operations
    )
    return structs.replace(
        loop,
        total_ns=total,
        step_times=DurationRecord(count, 20 * US * count, 20 * US, 23 * US, 26 * US, 49 * US, 49 * US),
        operations=operations,
        body_ns=15_000.0,
        copy_ns=2_000.0,
        overhead_ns=3_000.0,
        buffer_bytes=4096,
        recorder_ns=0,
        setup_ns=0,
        first_run_ns=0,
        tiers=(),
        cost_ns=0.0,
        series=series,
    )


def _fixed_function(function):
    applications = tuple(
        structs.replace(application, time_ns=50 * US) for application in function.rewrites.applications
    )
    operations = tuple(
        structs.replace(operation, typical_ns=1_000.0, mean_ns=1_000.0, samples=3)
        for operation in function.operations
    )
    return structs.replace(
        function,
        first_ns=2_000 * US,
        build_ns={},
        call_parts=CallPartsRecord(),
        call_times=DurationRecord(3, 4_000 * US, US, US, US, US, US),
        operations=operations,
        rewrites=structs.replace(function.rewrites, applications=applications),
    )


def drawn(app):
    """Return the screen as text."""
    rows = [strip.text.rstrip() for strip in app.screen._compositor.render_strips()]
    return "\n".join(rows) + "\n"


@pytest.mark.parametrize("name", SCREENS)
def test_screens_agree_with_the_approved_ones(name):
    title, size, keys = SCREENS[name]
    path = FOLDER / f"{name}.txt"

    async def run():
        async with opened(fixed_record(), size) as (app, pilot):
            await pilot.press(NUMBERS[title], *keys.split())
            await pilot.pause()
            await pilot.pause()
            return drawn(app)

    found = asyncio.run(run())
    if os.environ.get("SCANVIZ_UPDATE_SNAPSHOTS"):
        FOLDER.mkdir(exist_ok=True)
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8")
