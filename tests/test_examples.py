"""Every example runs as a user would run it, and prints what can be checked."""

import re
from pathlib import Path

import pytest

from tests.cli.commands import script

ROOT = Path(__file__).resolve().parent.parent


def run(name):
    done = script(ROOT / "examples" / f"{name}.py", cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout


def number(pattern, text):
    found = re.search(pattern, text)
    assert found, f"{pattern!r} is not in:\n{text}"
    return float(found.group(1))


def test_every_example_is_tested_here():
    assert {path.stem for path in (ROOT / "examples").glob("*.py")} == set(CHECKS)


CHECKS = {
    "power": lambda text: (
        "[  0   1   3   6  10" in text and "= 19.0" in text and "42.0 50.0 sum 92.0" in text
    ),
    "several_taps_rnn": lambda text: number(r"NumPy: (\S+)", text) < 1e-12 and "steps: 496" in text,
    "several_taps_gradient": lambda text: (
        abs(number(r"W_feedback.*: (\S+)", text) - number(r"differences: +(\S+)", text)) < 1e-7
    ),
    "kalman": lambda text: number(r"filtered.* (\S+) m", text) < 0.5 * number(r"measured.* (\S+) m", text),
    "gibbs": lambda text: abs(number(r"correlation (\S+)", text) - 0.8) < 0.02 and "True" in text,
    "newton": lambda text: number(r"error: (\S+)", text) < 1e-15 and 10 <= number(r"after (\d+)", text) <= 40,
    "mandelbrot": lambda text: 400 < number(r"60 steps: (\d+)", text) < 460 and len(text.splitlines()) == 29,
    "train_char_lstm": lambda text: (
        number(r"after 400 rounds: (\S+)", text) < 0.5
        and any(
            word in text for word in ("Jabberwock, my son", "jaws that bite", "vorpal sword", "slithy toves")
        )
    ),
    "fit_ode": lambda text: (
        number(r"after 299 steps.* (\S+)", text) < 0.06
        and abs(number(r"born (\S+) a year", text) - 0.545) < 0.05
        and abs(number(r"die (\S+) a year", text) - 0.80) < 0.05
    ),
    "hmc": lambda text: (
        number(r"(\d+) % accepted", text) > 80
        and abs(number(r"variances (\S+) and", text) - 1.0) < 0.15
        and abs(number(r"covariance (\S+)", text) - 0.8) < 0.15
    ),
    "char_lstm": lambda text: abs(number(r"entropy (\S+)", text) - number(r"gives (\S+)", text)) < 0.1,
}


@pytest.mark.parametrize("name", CHECKS)
def test_an_example_prints_the_expected_output(name):
    text = run(name)
    assert CHECKS[name](text), text
