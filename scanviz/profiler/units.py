"""Numbers for people: times, shares, bytes and counts, never 0.0 for something that was there."""

from __future__ import annotations

import re

_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
_BYTES = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))


def _three_digits(value: float) -> str:
    if value >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def duration(nanoseconds: float) -> str:
    """Return a time with three digits and its unit.

    Examples
    --------
    >>> duration(1234), duration(0), duration(59_960_000_000)
    ('1.23 µs', '0', '60.0 s')
    """
    if nanoseconds <= 0:
        return "0"
    if nanoseconds < 1:
        return "<1 ns"
    for size, unit in _TIMES:
        if nanoseconds >= size * 0.9995:
            return f"{_three_digits(nanoseconds / size)} {unit}"
    return f"{_three_digits(nanoseconds)} ns"


def share(part: float, whole: float) -> str:
    """Return a percentage.

    Examples
    --------
    >>> share(1, 3), share(1, 1e9), share(0, 3)
    ('33 %', '<0.1 %', '0 %')
    """
    if whole <= 0 or part <= 0:
        return "0 %"
    percent = 100 * part / whole
    if percent < 0.1:
        return "<0.1 %"
    return f"{percent:.1f} %" if percent < 9.95 else f"{percent:.0f} %"


def size(count: float) -> str:
    """Return bytes with their unit.

    Examples
    --------
    >>> size(1536), size(12)
    ('1.50 KiB', '12 B')
    """
    for scale, unit in _BYTES:
        if count >= scale:
            return f"{count:.0f} B" if scale == 1 else f"{_three_digits(count / scale)} {unit}"
    return "0 B"


def amount(value: int) -> str:
    """Return a count with thin groups of thousands.

    Examples
    --------
    >>> amount(1234567)
    '1,234,567'
    """
    return f"{value:,}"


def plain(text: str) -> str:
    """Return text from a script with control characters made visible, so that it cannot steer a terminal.

    Examples
    --------
    >>> plain("a\\x1b[31mb")
    'a\\\\x1b[31mb'
    """
    return re.sub(
        r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]",
        lambda found: f"\\x{ord(found.group()):02x}",
        text,
    )


def clipped(text: str, width: int) -> str:
    """Return text of at most ``width`` characters, cut in the middle of nothing but its end.

    Examples
    --------
    >>> clipped("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"


_BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: list[float]) -> str:
    """Return a line of bars, the largest value full.

    Examples
    --------
    >>> sparkline([1, 2, 4])
    '▂▄█'
    """
    top = max(values, default=0)
    if top <= 0:
        return ""
    return "".join(_BARS[min(7, max(0, round(8 * value / top) - 1))] for value in values)
