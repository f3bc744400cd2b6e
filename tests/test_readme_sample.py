"""The sample of a report in README adds up as it is printed: the parts of the run, the typical step, and its operations."""

import re
from decimal import Decimal
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"
UNITS = {"ns": Decimal("1e-9"), "µs": Decimal("1e-6"), "ms": Decimal("1e-3"), "s": Decimal(1)}
TIME = r"(\d[\d.,]*) (ns|µs|ms|s)\b"


def seconds(text):
    """Return the time that a text begins with, and half of its last digit: how far off rounding makes it."""
    if re.match(r"0\b(?!\.)", text) or text.startswith("below resolution"):
        return Decimal(0), Decimal(0)
    number, unit = re.match(TIME, text).groups()
    value = Decimal(number.replace(",", ""))
    return value * UNITS[unit], Decimal(1).scaleb(value.as_tuple().exponent) / 2 * UNITS[unit]


def assert_adds_up(whole, parts):
    """Check that times as printed sum to one, but for rounding."""
    (total, doubt), known = seconds(whole), [seconds(part) for part in parts]
    assert abs(sum(time for time, _ in known) - total) <= doubt + sum(error for _, error in known), parts


def sample():
    return re.search(r"scanviz profile SCRIPT.*?```text\n(.*?)```", README.read_text("utf-8"), re.DOTALL)[1]


def test_the_parts_of_the_run_add_up_to_it():
    whole, rows = re.search(r"where the time goes: (.*?)\n((?:  .*\n)+)", sample()).groups()
    cells = [re.split(r"  +", row.strip()) for row in rows.splitlines()]
    assert cells[-1][0] == "unattributed" and len(cells) > 5
    assert_adds_up(whole, [time for _, time, _ in cells])
    assert f" · {whole} · " in sample().splitlines()[0]
    shares = [Decimal(share.strip("<% ")) for _, _, share in cells]
    assert abs(sum(shares) - 100) <= Decimal("0.5") * len(shares)


def test_the_typical_step_is_the_sum_of_its_parts_and_operations_sum_to_theirs():
    line = re.search(r"typical step (.*) = operations (.*) \+ copies (.*) \+ loop (.*) \(", sample())
    whole, *parts = line.groups()
    assert sum(seconds(part)[0] for part in parts) == seconds(whole)[0]  # exactly, as it is printed
    body = parts[0]
    rows = [row for row in sample().splitlines() if re.search(rf"{TIME} +[\d.]+ %  examples/", row)]
    assert_adds_up(body, [re.search(TIME, row)[0] for row in rows])
    in_loops = Decimal(re.search(r"  loops .*? ([\d.]+) %", sample())[1])
    shares = [Decimal(re.search(r"([\d.]+) %", row)[1]) for row in rows]
    assert 0.7 * float(in_loops) < sum(shares) <= in_loops, "all are shares of the run"
