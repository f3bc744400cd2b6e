"""Times and shares for people: three digits and a unit; a small number is never printed as 0."""

from __future__ import annotations

_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))


def three_digits(value: float) -> str:
    """Return a number with three digits, or more if its integer part is longer.

    Examples
    --------
    >>> three_digits(1.2345), three_digits(99.96), three_digits(1234.5)
    ('1.23', '100', '1234')
    """
    if value >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def duration(nanoseconds: float) -> str:
    """Return a time with three digits and its unit.

    Examples
    --------
    >>> duration(1234), duration(0), duration(0.3), duration(59_960_000_000)
    ('1.23 µs', '0', '<1 ns', '60.0 s')
    """
    if nanoseconds <= 0:
        return "0"
    if nanoseconds < 1:
        return "<1 ns"
    for size_ns, unit in _TIMES:
        if nanoseconds >= size_ns * 0.9995:
            return f"{three_digits(nanoseconds / size_ns)} {unit}"
    return f"{three_digits(nanoseconds)} ns"


def share(part: float, whole: float) -> str:
    """Return a percentage.

    Examples
    --------
    >>> share(1, 3), share(1, 1e9), share(0, 3), share(0.02, 1)
    ('33 %', '<0.1 %', '0 %', '2.0 %')
    """
    if whole <= 0 or part <= 0:
        return "0 %"
    percent = 100 * part / whole
    if percent < 0.1:
        return "<0.1 %"
    return f"{percent:.1f} %" if percent < 9.95 else f"{percent:.0f} %"
