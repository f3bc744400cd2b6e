"""Numbers for people: times, shares, bytes and counts; a small number is never printed as 0."""

from __future__ import annotations

from scanviz.record.measures import Unit
from scanviz.record.units import duration, share, three_digits

_BYTES = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
_RATES: dict[Unit, str] = {"bytes/s": "GB/s", "flops/s": "GFLOP/s"}
_BARS = "▁▂▃▄▅▆▇█"


def size(count: float) -> str:
    """Return bytes with their unit.

    Examples
    --------
    >>> size(1536), size(12), size(0)
    ('1.50 KiB', '12 B', '0 B')
    """
    for scale, unit in _BYTES:
        if count >= scale:
            return f"{three_digits(count / scale)} {unit}"
    return f"{count:.0f} B"


def _rate(a_second: float, unit: str) -> str:
    """Return a rate in billions per second."""
    billions = a_second / 1e9
    return f"{three_digits(billions) if billions >= 0.0995 else format(billions, '.3f')} {unit}"


def amount(value: int) -> str:
    """Return a count with thousands separators.

    Examples
    --------
    >>> amount(1234567)
    '1,234,567'
    """
    return f"{value:,}"


def quantity(value: float, unit: Unit) -> str:
    """Return a measure with its unit.

    Examples
    --------
    >>> quantity(1500, "ns"), quantity(2048, "bytes"), quantity(3, "count"), quantity(0.5, "count")
    ('1.50 µs', '2.00 KiB', '3', '0.5')
    >>> quantity(12.34e9, "bytes/s"), quantity(3.2e6, "flops/s")
    ('12.3 GB/s', '0.003 GFLOP/s')
    """
    if unit in _RATES:
        return _rate(value, _RATES[unit])
    if unit == "count":
        return f"{value:,.6g}" if value != int(value) else amount(int(value))
    return duration(value) if unit == "ns" else size(value)


def counted(value: int, noun: str) -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> counted(1, "run"), counted(2000, "step")
    ('1 run', '2,000 steps')
    """
    return f"{amount(value)} {noun}{'' if value == 1 else 's'}"


def sparkline(values: list[float], full: float) -> str:
    """Return a line of bars; values of ``full`` and more fill theirs.

    Examples
    --------
    >>> sparkline([1, 2, 4, 9], full=4)
    '▂▄██'
    """
    if full <= 0:
        return ""
    return "".join(_BARS[min(7, max(0, round(8 * value / full) - 1))] for value in values)


__all__ = [
    "amount",
    "counted",
    "duration",
    "quantity",
    "share",
    "size",
    "sparkline",
]
