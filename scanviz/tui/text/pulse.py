"""Progress of a running script: steps per second, active loops, and time since the last step.

Beats come from the successive records of the script.  Their times are the script's own, so the display does not depend on when
the application reads them.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from rich.text import Text

from scanviz.profiler.report.units import amount, sparkline
from scanviz.record.model import ProfileRecord
from scanviz.record.plain_text import sanitize
from scanviz.tui.text.colours import CYAN, GREEN, YELLOW

MOST = 1_000  # beats that are kept
CELL_NS = 500_000_000  # of a column of the course
LATELY_NS = 2_000_000_000  # window of the steps per second
STILL_NS = 1_000_000_000  # without a step, after which the script counts as idle
SHORTEST, LONGEST = 8, 60  # columns of the course
TURNING = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


class Beat(Struct, frozen=True):
    """Counts of a record at one time.

    Attributes
    ----------
    wall_ns : int
        Time since the script began.
    steps, calls : int
        Counts of all loops, and of all functions.
    """

    wall_ns: int
    steps: int
    calls: int


class Pulse(Struct, frozen=True):
    """Progress of a script at one moment.

    Attributes
    ----------
    beats : tuple of Beat
        The last ones, the oldest first.
    spent : dict of int to int
        Nanoseconds by loop, of the last record.
    at_work : tuple of int
        Keys of the loops that have taken time since the record before, the one that took most first.
    turns : int
        Number of turns of the sign: with each record in which steps had been counted, and while one waits for the next.
    """

    beats: tuple[Beat, ...] = ()
    spent: dict[int, int] = field(default_factory=dict)
    at_work: tuple[int, ...] = ()
    turns: int = 0

    def after(self, record: ProfileRecord) -> Pulse:
        """Return the pulse with a newer record."""
        beat = Beat(
            record.wall_ns,
            sum(loop.steps for loop in record.loops),
            sum(function.calls for function in record.functions),
        )
        last = self.beats[-1] if self.beats else Beat(0, 0, 0)
        spent = {loop.key: loop.total_ns for loop in record.loops}
        grown = {key: spent[key] - self.spent.get(key, 0) for key in spent}
        at_work = sorted((key for key, more in grown.items() if more > 0), key=lambda key: -grown[key])
        kept = (*self.beats, beat)[-MOST:] if beat.wall_ns > last.wall_ns else self.beats
        return Pulse(kept, spent, tuple(at_work), self.turns + (beat.steps > last.steps))

    def turned(self) -> Pulse:
        """Return the pulse with the next sign, if steps are being counted."""
        return replace(self, turns=self.turns + 1) if self.at_work else self

    @property
    def sign(self) -> str:
        """A sign that rotates while steps are counted."""
        return TURNING[self.turns % len(TURNING)]

    def rates(self) -> tuple[float, float]:
        """Return recent steps and calls per second."""
        if not self.beats:
            return 0.0, 0.0
        last = self.beats[-1]
        before = [Beat(0, 0, 0), *self.beats[:-1]]
        first = next(
            (beat for beat in reversed(before) if last.wall_ns - beat.wall_ns >= LATELY_NS),
            before[0],
        )
        seconds = max(1, last.wall_ns - first.wall_ns) / 1e9
        return (last.steps - first.steps) / seconds, (last.calls - first.calls) / seconds

    def still_ns(self) -> int:
        """Return the time since the last counted step."""
        if not self.beats:
            return 0
        last = self.beats[-1]
        since = next(beat for beat in self.beats if beat.steps == last.steps)
        return last.wall_ns - since.wall_ns

    def course(self, cells: int) -> np.ndarray:
        """Return steps per second over the last half-second intervals, oldest first.

        Examples
        --------
        >>> Pulse((Beat(500_000_000, 10, 1), Beat(1_000_000_000, 40, 2))).course(8).tolist()
        [20.0, 60.0]
        """
        if not self.beats:
            return np.zeros(0)
        times = np.array([0, *(beat.wall_ns for beat in self.beats)], float)
        steps = np.array([0, *(beat.steps for beat in self.beats)], float)
        whole = max(1, min(cells, round(times[-1] / CELL_NS)))
        ends = times[-1] - CELL_NS * np.arange(whole, -1, -1.0)
        taken: np.ndarray = np.diff(np.interp(np.maximum(ends, 0), times, steps))
        return taken * (1e9 / CELL_NS)


def pulse_line(pulse: Pulse, record: ProfileRecord, elapsed: float, width: int) -> Text:
    """Return a line about a script's progress."""
    steps, calls = pulse.rates()
    text = Text(f"{pulse.sign} ", f"bold {GREEN}", no_wrap=True, overflow="ellipsis")
    text.append(f"{clock(elapsed)}  ", "bold not dim default")
    text.append(f"{quick(steps)} steps/s ", f"not bold {CYAN}")
    end = _now(pulse, record, calls)
    room = width - text.cell_len - end.cell_len - 2
    if room < SHORTEST:
        end = _now(pulse, record, None)
        room = width - text.cell_len - end.cell_len - 2
    if room >= SHORTEST:
        text.append(drawn(pulse.course(min(LONGEST, room))), f"not bold {CYAN}")
    return text.append("  ").append_text(end)


def _now(pulse: Pulse, record: ProfileRecord, calls: float | None) -> Text:
    """Return the active loop, or the time since the last counted step."""
    text = Text("" if calls is None else f"{quick(calls)} calls/s  ", "not bold")
    still, names = pulse.still_ns(), {loop.key: loop.name for loop in record.loops}
    if not pulse.beats or not pulse.beats[-1].steps:
        return text.append("no loop has run yet", "not bold dim")
    if still >= STILL_NS:
        return text.append(f"no step for {still / 1e9:.0f} s", f"bold {YELLOW}")
    if pulse.at_work:
        return text.append(f"in {sanitize(names.get(pulse.at_work[0], ''))}", f"not bold {GREEN}")
    return text


def drawn(course: np.ndarray) -> str:
    """Return numbers as columns of one row; 0 is a dot.

    Examples
    --------
    >>> drawn(np.array([0.0, 1.0, 4.0, 8.0]))
    '·▁▄█'
    """
    bars = sparkline(course.tolist(), float(course.max(initial=0.0))) or "·" * len(course)
    return "".join(bar if rate > 0 else "·" for bar, rate in zip(bars, course, strict=True))


def quick(rate: float) -> str:
    """Return a rate in a few characters.

    Examples
    --------
    >>> quick(0.0), quick(0.25), quick(12.3), quick(45_678.0), quick(2.5e6)
    ('0', '0.2', '12', '45.7 k', '2.5 M')
    """
    for unit, many in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if rate >= 10 * many or (rate >= many and unit != "k"):
            return f"{rate / many:.1f} {unit}"
    return amount(round(rate)) if rate >= 1 or rate == 0 else f"{rate:.1f}"


def clock(seconds: float) -> str:
    """Return a time as a clock shows it.

    Examples
    --------
    >>> clock(7.9), clock(754.0), clock(3661.0)
    ('0:07', '12:34', '1:01:01')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
