"""`scanviz advise`: advice as text and as JSON, from a saved profile."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from scanviz.profiler.advice import advice_of
from scanviz.profiler.advice.report import advice_json
from scanviz.record.model import ProfileRecord, SourceRecord, ThreadTimesRecord, TierRecord
from scanviz.record.storage.file import save
from tests.cli.commands import command
from tests.profiler.records import RNN, SMALL

ROOT = Path(__file__).resolve().parent.parent.parent
LINE = SourceRecord("rnn.py", 9, "h, _ = scanviz.scan(step, x, h0, [W, U])")


@pytest.fixture
def record() -> ProfileRecord:
    tiers = (TierRecord("numpy", "generated for the shapes met", 20, 10_000_000),)
    compiled = replace(RNN, source=LINE, tiers=tiers, total_ns=40_000_000)
    return replace(SMALL, loops=(compiled,), threads=ThreadTimesRecord(inside_ns=10_000_000))


def test_advice_is_printed_with_its_line_and_figures(record: ProfileRecord, tmp_path: Path) -> None:
    save(record, tmp_path / "rnn.scanviz")
    done = command("advise", "rnn.scanviz", cwd=tmp_path)
    assert done.returncode == 0 and done.stderr == ""
    heading, _, title, line, evidence, *_ = done.stdout.splitlines()
    assert heading == "rnn.py --layers 2 · 50.0 ms"
    assert title == "1. `rnn` was compiled 20 times: about 9.50 ms (19 % of the run)"
    assert line.startswith("   rnn.py:9  h, _ = ") and "20 sets of shapes" in evidence


def test_json_is_the_same_advice_as_data(record: ProfileRecord, tmp_path: Path) -> None:
    save(record, tmp_path / "rnn.scanviz")
    done = command("advise", "--json", "rnn.scanviz", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert found == json.loads(json.dumps(advice_json(record, advice_of(record))))
    assert [each["kind"] for each in found["advice"]] == ["many_shapes"]
    assert found["advice"][0]["source"] == {"file": "rnn.py", "line": 9, "text": LINE.text}


def test_advise_without_a_suggestion_prints_the_slowest_line(tmp_path: Path) -> None:
    short = replace(
        SMALL, wall_ns=12_000_000, functions=(replace(SMALL.functions[0], build_ns={}),), building=()
    )
    save(short, tmp_path / "rnn.scanviz")
    done = command("advise", "rnn.scanviz", cwd=tmp_path)
    assert done.returncode == 0 and "No change is certain to help." in done.stdout
    assert "rnn.py:6 is the slowest line" in done.stdout
    data = json.loads(command("advise", "--json", "rnn.scanviz", cwd=tmp_path).stdout)
    assert data["advice"] == [] and [each["topic"] for each in data["dominant"]] == ["time", "time"]


def test_a_file_that_is_no_profile_is_an_error_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "x.scanviz").write_text("hello")
    done = command("advise", "x.scanviz", cwd=tmp_path)
    assert done.returncode == 1 and done.stderr.startswith("scanviz: ") and "Traceback" not in done.stderr


# What each example may be advised; every one of these was followed once, and the gain was there.
TRUE_OF_EXAMPLES = {
    "newton": set(),
    "hmc": {"draws", "short_inner_loops"},
    "several_taps_rnn": {"tiny_steps"},
    "power": set(),
}


@pytest.mark.parametrize("name", sorted(TRUE_OF_EXAMPLES))
def test_examples_get_only_true_advice(name: str, tmp_path: Path) -> None:
    script = f"examples/{name}.py"
    done = command("profile", "-q", "-o", str(tmp_path / "p.scanviz"), script, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    found = json.loads(command("advise", "--json", "p.scanviz", cwd=tmp_path).stdout)["advice"]
    assert {each["kind"] for each in found} <= TRUE_OF_EXAMPLES[name]
