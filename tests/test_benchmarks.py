"""The benchmarks run, compare what they measure, and write what they say; their numbers are no matter of tests."""

import json
import platform
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"


def run(*arguments):
    return subprocess.run(
        [sys.executable, *arguments], cwd=FOLDER, capture_output=True, text=True, timeout=300
    )


def test_tiers_give_what_loops_by_hand_give_and_the_table_is_written_with_the_machine_in_words(tmp_path):
    done = run("loops.py", "--quick", "--json", str(tmp_path / "new" / "loops.json"))
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "new" / "loops.json").read_text(encoding="utf-8"))
    assert found["benchmark"] == "loops"
    assert set(found["machine"]) == {"processor", "processors", "system", "python", "numpy"}
    assert platform.node() not in found["machine"].values()
    for row in found["rows"]:
        assert row["numpy_ratio"] > 0 and row["reference_ratio"] > 0
        assert row["loop"] in done.stdout
    assert {row["goal"] for row in found["rows"]} == {1.1, 1.2, None}


def test_nothing_is_timed_that_gives_something_else_than_the_loop_by_hand():
    code = (
        "import sys, loops, by_hand, workloads\n"
        "sys.argv = ['loops.py', '--quick']\n"
        "by_hand.power = lambda a, steps: a\n"
        "loops.main()\n"
    )
    done = run("-c", code)
    assert done.returncode != 0
    assert "Not equal to tolerance" in done.stderr


def test_no_loop_of_the_memory_benchmark_grows_with_its_steps():
    done = run("memory.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "grows" not in done.stdout


def test_gradients_are_compared_with_those_by_hand(tmp_path):
    done = run("gradients.py", "--quick", "--json", str(tmp_path / "gradients.json"))
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "gradients.json").read_text(encoding="utf-8"))["rows"]
    assert [row["steps"] for row in rows] == [50, 50] and all(
        row["ratio"] > 0 < row["build_ms"] for row in rows
    )


def test_checkpoints_are_smaller_also_in_a_quick_run(tmp_path):
    done = run("checkpoints.py", "--quick", "--json", str(tmp_path / "checkpoints.json"))
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "checkpoints.json").read_text(encoding="utf-8"))["rows"]
    assert [row["loop"] for row in rows] == ["elementwise", "recurrent"]
    assert all(row["bytes"] > 2 * row["bytes_with_checkpoints"] > 0 for row in rows)


def test_rewrites_are_measured_against_the_same_functions_without(tmp_path):
    done = run("rewrites.py", "--quick", "--json", str(tmp_path / "rewrites.json"))
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "rewrites.json").read_text(encoding="utf-8"))["rows"]
    assert [row["goal"] for row in rows if "gain" in row] == [1.2, 2.0, 2.0, None, 1.2]
    (kept,) = [row["rows"] for row in rows if "rows" in row]
    assert kept < 5  # of 10,000 steps
    assert any(row["what"] == "LSTM with its gradient" and row["ms"] > 0 for row in rows)


def test_growth_with_the_number_of_loops_is_fitted_for_each_kind_of_function(tmp_path):
    done = run("scaling.py", "--quick", "--json", str(tmp_path / "scaling.json"))
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "scaling.json").read_text(encoding="utf-8"))["rows"]
    fitted = {row["what"]: row["exponents"] for row in rows if "exponents" in row}
    assert set(fitted) == {"chain", "apart", "together", "stacked", "updated", "deep", "within"}
    assert all(set(each) == {"build", "first_call", "call", "profiled", "record"} for each in fitted.values())


def test_short_calls_are_measured_beside_another_checkout(tmp_path):
    done = run(
        "calls.py", "--rounds", "1", "--before", str(FOLDER.parent), "--json", str(tmp_path / "calls.json")
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "calls.json").read_text(encoding="utf-8"))["rows"]
    assert len(rows) == 10 and all(row["us"] > 0 < row["ratio"] for row in rows)


def test_scripts_that_are_advised_and_those_that_follow_give_the_same_and_the_table_is_written(tmp_path):
    kinds = ["non_sequences", "same_at_every_call"]
    done = run(
        "advice.py", *kinds, "--rounds", "1", "--profiles", "1", "--json", str(tmp_path / "advice.json")
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "advice.json").read_text(encoding="utf-8"))["rows"]
    assert [row["advice"] for row in rows] == kinds
    for row in rows:
        assert row["advice"] in done.stdout and row["before_ms"] > 0 and row["after_ms"] > 0
