"""Every law holds of a small sample; the command that searches for hours finds a broken one, and prints how to repeat it."""

import importlib
import subprocess
import sys

import hypothesis
import pytest
from hypothesis import strategies as st

from tests.laws import Law, all_laws
from tests.laws.nightly import Search, run_here, summary


@pytest.mark.parametrize("law", all_laws(), ids=lambda law: f"{law.family}-{law.name}")
def test_a_law_holds(law):
    # Half of a sample is tried by each run of the tests, another half every time; the nightly command searches for hours.
    more = max(1 / 2, hypothesis.settings.default.max_examples // 40)
    assert law.run(max(1, round(law.sample * more))) > 0


def never_seven(number):
    assert number != 7


BROKEN = Law(
    "never_seven", "numbers", "No number is seven.", never_seven, {"number": st.integers(0, 20)}, 100
)


def test_a_seed_draws_the_same_examples_whatever_was_imported(tmp_path, monkeypatch):
    def drawn():
        found = []
        strategies = {"numbers": st.lists(st.integers(), min_size=9)}
        Law("drawn", "numbers", "", lambda numbers: found.append(numbers), strategies, 99).run(seed=1)
        return found

    before = drawn()
    (tmp_path / "other.py").write_text(f"numbers = {list(range(10**9, 10**9 + 50))}")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("other")
    after = drawn()
    del sys.modules["other"]
    assert after == before


def test_a_broken_law_is_a_finding_with_its_example():
    found = run_here(BROKEN, seed=1, seconds=20)
    assert found.finding is not None and "number=7" in found.finding
    total = Search()
    total.add(found)
    assert "1 findings" in summary(total) and "never_seven" in summary(total)


def test_the_first_break_of_a_law_is_reported_before_its_smallest_example_is_sought(capsys):
    run_here(BROKEN, seed=1, seconds=20)
    text = capsys.readouterr().err
    assert text.count("broken first by") == 1 and "assert number != 7" in text


def test_a_slow_broken_law_is_reported_before_its_example_is_minimal(
    monkeypatch,
):
    monkeypatch.setattr(sys.modules[Law.__module__], "SHRINKING", 0.0)
    with pytest.raises(AssertionError) as caught:
        BROKEN.run(seed=1)
    assert "number': 7" in caught.value.__notes__[-1] and "not the smallest" in caught.value.__notes__[-1]


def test_an_example_outside_the_scope_of_a_law_does_not_break_it(monkeypatch, capsys):
    def of_even_numbers(number):
        hypothesis.assume(number % 2 == 0)

    monkeypatch.setattr(sys.modules[Law.__module__], "SHRINKING", 0.0)
    law = Law("even", "numbers", "Of even ones.", of_even_numbers, {"number": st.integers(0, 999)}, 30)
    assert run_here(law, seed=1, seconds=0.1).finding is None
    assert not capsys.readouterr().err


def test_the_command_counts_its_examples():
    command = [sys.executable, "-m", "tests.laws", "--minutes", "0.01", "--jobs", "1", "loops"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "examples" in done.stdout and "0 findings" in done.stdout


def test_an_unknown_law_is_refused_with_those_that_there_are():
    command = [sys.executable, "-m", "tests.laws", "lops"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "loops" in done.stderr


def test_a_law_broken_only_once_is_reported_with_its_first_error():
    calls = []

    def once(number):
        calls.append(number)
        assert len(calls) > 1, "only the first"

    law = Law("once", "numbers", "Holds but once.", once, {"number": st.integers(0, 20)}, 10)
    with pytest.raises(AssertionError, match="only the first"):
        law.run()
