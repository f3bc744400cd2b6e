"""The answer of the profiler in README is short, its shares are those of its times, and its slowest line comes first."""

import re
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"
UNITS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
TIME = r"([\d.,]+) (ns|µs|ms|s)\b"
SHARE = r"([\d.]+) %"


def sample():
    return re.search(r"scanviz profile SCRIPT.*?```text\n(.*?)```", README.read_text("utf-8"), re.DOTALL)[1]


def seconds(text):
    number, unit = re.search(TIME, text).groups()
    return float(number.replace(",", "")) * UNITS[unit]


def test_the_answer_is_short_and_its_parts_sum_to_the_run():
    head = " ".join(sample().split()).partition(" is the slowest line")[0]
    assert len(sample().splitlines()) <= 20
    shares = [float(share) for share in re.findall(SHARE, head)]
    assert len(shares) > 4 and 95 <= sum(shares) <= 101, "parts below 1 % are not named"


def test_the_slowest_line_is_the_first_row_and_shares_are_those_of_times():
    text = " ".join(sample().split())
    whole = seconds(text)
    rows = [re.findall(rf"(\S+:\d+) .*? {SHARE} +{TIME}", line) for line in sample().splitlines()]
    rows = [row[0] for row in rows if row]
    assert len(rows) == 5 and f"{rows[0][0]} is the slowest line: {rows[0][1]} %" in text
    for _, share, number, unit in rows:
        assert abs(100 * float(number) * UNITS[unit] / whole - float(share)) <= 0.6
    assert [float(row[1]) for row in rows] == sorted((float(row[1]) for row in rows), reverse=True)
