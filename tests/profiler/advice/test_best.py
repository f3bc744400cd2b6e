"""The sentence that a report's verdict ends with."""

import pytest

from scanviz.profiler.advice import report, rules
from scanviz.profiler.advice.item import Advice
from scanviz.profiler.report.overview import render_report
from scanviz.record.model import ProfileRecord, SourceRecord
from scanviz.record.summary.verdict import VerdictSentence

LONG = ProfileRecord(script="rnn.py", wall_ns=4_000_000_000)


def advised(monkeypatch, *gains):
    """Let the rules give advice with such gains, None for what promises nothing."""
    line = SourceRecord("rnn.py", 7, "draw()")
    given = [Advice("draws", f"change {k}", "", "", line, gain_ns=gain) for k, gain in enumerate(gains)]
    monkeypatch.setattr(rules, "advice_of", lambda record: given)


def test_the_largest_certain_gain_is_named_with_its_line(monkeypatch):
    advised(monkeypatch, 3e8, None, 1e9)
    text = report.to_try(LONG).text
    assert text == "To try: change 2 (rnn.py:7), about 25 % of the time; scanviz advise tells more."


@pytest.mark.parametrize("gains", [(), (None,), (1e6,)], ids=["none", "no promise", "little"])
def test_no_advice_is_given_without_a_certain_gain(monkeypatch, gains):
    advised(monkeypatch, *gains)
    assert report.to_try(LONG) is None


def test_short_runs_get_no_advice(monkeypatch):
    monkeypatch.setattr(rules, "advice_of", lambda record: pytest.fail("looked through"))
    assert report.to_try(ProfileRecord(script="rnn.py", wall_ns=10_000_000)) is None


def test_the_report_shows_advice_for_called_functions():
    from tests.record.test_verdict import run

    text = render_report(run(loop_ns=80_000), to_try=VerdictSentence("try", "To try: this."))
    assert "\nTo try: this.\n" in text
