"""The benchmarks run, compare what they measure, and write what they say; their numbers are no matter of tests."""

import json
import platform
import re
import shlex
from pathlib import Path

import pytest

from scanviz import config
from scanviz.engine.backends.registry import availability
from tests.cli.commands import script

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"


def run(name, *arguments):
    return script(FOLDER / name, *arguments, cwd=FOLDER)


def run_text(tmp_path, code):
    (tmp_path / "code.py").write_text(
        f"import sys\nsys.path.insert(0, {str(FOLDER)!r})\n{code}", encoding="utf-8"
    )
    return script(tmp_path / "code.py", cwd=FOLDER)


def test_tiers_agree_with_handwritten_loops_and_the_table_names_the_machine(tmp_path):
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


def test_benchmarks_time_only_results_that_agree_with_handwritten_loops(tmp_path):
    code = (
        "import sys, loops, by_hand, workloads\n"
        "sys.argv = ['loops.py', '--quick']\n"
        "by_hand.power = lambda a, steps: a\n"
        "loops.main()\n"
    )
    done = run_text(tmp_path, code)
    assert done.returncode != 0
    assert "Not equal to tolerance" in done.stderr


def test_steps_lost_in_noise_keep_the_stated_time(tmp_path):
    done = run_text(
        tmp_path,
        "from profile_truth import _beside\nfrom truth_instruments import Measured\n"
        "print(_beside([30.0, 40.0, 50.0], [Measured(ns, 9.0) for ns in (-20.0, 10.0, 10.0)], 10.0))\n"
        "print(_beside([30.0, 40.0, 50.0], [Measured(ns, 1.0) for ns in (30.0, 20.0, 50.0)], 30.0))\n",
    )
    assert done.stdout.split() == ["40.0", "30.0"], done.stderr


def test_no_loop_of_the_memory_benchmark_grows_with_its_steps():
    done = run("memory.py", "--quick")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "grows" not in done.stdout


def has_gradients(rows):
    return [row["steps"] for row in rows] == [50, 50] and all(
        row["ratio"] > 0 < row["build_ms"] for row in rows
    )


def has_threads_of_each_dtype(rows):
    (row,) = rows
    return set(row["ms"]) == {"float64, 1", "float64, all", "float32, 1", "float32, all"}


def has_smaller_checkpoints(rows):
    smaller = all(row["bytes"] > 2 * row["bytes_with_checkpoints"] > 0 for row in rows)
    return smaller and [row["loop"] for row in rows] == ["elementwise", "recurrent"]


def has_gains_of_rewrites(rows):
    (kept,) = [row["rows"] for row in rows if "rows" in row]  # of 10,000 steps
    lstm = any(row["what"] == "LSTM with its gradient" and row["ms"] > 0 for row in rows)
    return lstm and kept < 5 and [row["goal"] for row in rows if "gain" in row] == [1.2, 2.0, 2.0, None, 1.2]


def has_tiers_with_and_without_gradient(rows):
    return {(row["tier"], row["gradient"]) for row in rows} >= {("numpy", True), ("native", False)}


def has_growth_of_each_kind(rows):
    fitted = {row["what"]: set(row["exponents"]) for row in rows if "exponents" in row}
    measured = {"build", "first_call", "call", "profiled", "record"}
    return len(fitted) == 9 and all(each == measured for each in fitted.values())


def has_calls_of_another_checkout(rows):
    compared = [row for row in rows if row["how"] != "beside its steps"]
    alone = {row["call"] for row in rows} - {row["call"] for row in compared}
    ratios = all(row["us"] > 0 < row["ratio"] for row in compared)
    return ratios and len(compared) == 10 and alone >= {"one number, numpy", "value and gradient, numpy"}


def has_short_loops(rows):
    return len(rows) == 16 and all(row["numpy_ms"] > 0 < row["ratio"] for row in rows)


def has_both_scripts_of_each_advice(rows):
    kinds = [row["what"] for row in rows if row["before_ms"] > 0 < row["after_ms"]]
    return kinds == ["non_sequences", "same_at_every_call"]


RUNS = [
    ("gradients.py --quick", has_gradients),
    ("float32.py --quick --seconds 0.1 --only 'leaky tanh, width 64'", has_threads_of_each_dtype),
    ("checkpoints.py --quick", has_smaller_checkpoints),
    ("rewrites.py --quick", has_gains_of_rewrites),
    ("assigned.py --quick", has_tiers_with_and_without_gradient),
    ("scaling.py --quick", has_growth_of_each_kind),
    (f"calls.py --quick --rounds 1 --before {FOLDER.parent}", has_calls_of_another_checkout),
    ("short_loops.py --quick --only numbers --rounds 1", has_short_loops),
    ("advice.py non_sequences same_at_every_call --rounds 1 --profiles 1", has_both_scripts_of_each_advice),
]


@pytest.mark.parametrize(("command", "is_complete"), RUNS, ids=[run[0].split()[0] for run in RUNS])
def test_a_short_run_writes_what_it_measures(command, is_complete, tmp_path):
    if command.startswith(("float32", "assigned")) and not availability("native").works:
        pytest.skip("no native code here")
    name, *options = shlex.split(command)
    done = run(name, *options, "--json", str(tmp_path / "rows.json"))
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "rows.json").read_text(encoding="utf-8"))["rows"]
    assert is_complete(rows), rows


def test_every_script_that_can_be_run_is_in_the_list():
    listed = (FOLDER / "README.md").read_text(encoding="utf-8")
    scripts = [
        path for path in FOLDER.glob("*.py") if '__name__ == "__main__"' in path.read_text(encoding="utf-8")
    ]
    assert len(scripts) > 15
    assert [path.name for path in scripts if f"`python benchmarks/{path.name}" not in listed] == []


def test_comparisons_stop_when_their_time_is_over_with_the_counts_so_far(tmp_path):
    code = (
        "import comparing\n"
        "class Clock:\n"
        "    now = 0.0\n"
        "    def monotonic(self): return self.now\n"
        "comparing.time = Clock()\n"
        "class Tally:\n"
        "    def __init__(self, wanted): self.wanted, self.count = wanted, 0\n"
        "    def compare(self): self.count += 1; comparing.time.now += 0.02\n"
        "    def row(self): return (self.count, self.wanted)\n"
        "print(comparing.done([Tally(5), Tally(50)], None), comparing.done([Tally(500), Tally(5000)], 0.005))\n"
    )
    done = run_text(tmp_path, code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("[(5, 5), (50, 50)] [(")
    few, many = (int(number) for number in re.findall(r"\((\d+), 500", done.stdout))
    assert 0 < few < many and few + many == 14 and many >= 5 * few  # kinds in turn, by how many are wanted


def test_the_summary_has_each_goal_of_all_results(tmp_path):
    machine = {"processor": "fast", "processors": 2, "system": "", "python": "3", "numpy": "2"}
    cost = {
        "what": "steps of 1 µs",
        "plain_us": 1.0,
        "slowdown": 1.1,
        "stated": 1.1,
        "goal": 1.15,
        "met": True,
    }
    start = {"what": "start-up", "cProfile": 50.0, "scanviz": 90.0, "beyond": 40.0, "goal": 20, "met": False}
    itself = {"what": "itself", "count": 40, "wanted": 100, "wrong": 1, "no_verdict": 2, "met": True}
    truth = {"loop": "RNN", "claim": "typical step", "error": 0.2, "goal": 0.1, "kept": False}
    for name, rows in (("overhead", [cost, start]), ("comparing", [itself]), ("profile_truth", [truth])):
        text = json.dumps({"benchmark": name, "machine": machine, "rows": rows})
        (tmp_path / f"{name}.json").write_text(text, encoding="utf-8")
    done = run("summary.py", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "1 of 2 goals met; missed: start-up" in done.stdout
    assert "with itself, 40 of 100 comparisons: 1 found a difference (goal: 5%)" in done.stdout
    assert "1 missed   0 uncertain: RNN, typical step +20%" in done.stdout
    assert done.stdout.count("not measured") == 3


def test_the_cards_of_lesson_9_get_the_gains_of_their_rules(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "1")  # as importing it does: so it is taken back
    import lesson_cards

    rows = lesson_cards.cards(steps=3, width=2, rounds=1)
    assert [row["rule"] for row in rows] == [
        "PushOutNonSeqScan",
        "PushOutSeqScan",
        "PushOutDot1",
        "ScanSaveMem",
    ]
    old = lesson_cards.LESSON.read_text("utf-8")
    new = lesson_cards.with_gains(old, rows)
    changed = [pair for pair in zip(old.splitlines(), new.splitlines(), strict=True) if pair[0] != pair[1]]
    assert [line for _, line in changed] == [lesson_cards.in_words(row) for row in rows]


def test_the_page_of_a_rewrite_gets_the_gain_of_its_rule(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setattr(config, "mode", config.mode)
    import rewrite_pages

    page = rewrite_pages.PAGES / "ScanSaveMem.md"
    row = rewrite_pages.row_of(page, 0.01)
    assert row["without_bytes"] > 10 * row["with_bytes"]
    text = page.read_text("utf-8")
    assert rewrite_pages.in_words(row) in rewrite_pages.with_gain(text, row)


def test_measurements_of_the_slow_loop_have_places_in_the_page(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import slow_loop

    assert list(slow_loop.versions()) == list(slow_loop.NAMES)
    page = slow_loop.PAGE.read_text("utf-8")
    for name in ("table", *(f"profile, {name}" for name in slow_loop.NAMES)):
        assert "| 1 | 2 |\n" in slow_loop.measured(name, "| 1 | 2 |", page)
    report = "[0.4]\n\nradar.py took 1 s: loops 41 %.\nradar.py:9 is the slowest line.\nSaved radar.scanviz. More: …\n"
    assert slow_loop.excerpt(report) == "radar.py took 1 s: loops 41 %.\nradar.py:9 is the slowest line."


@pytest.mark.skipif(availability("cupy").works, reason="CuPy works here")
def test_the_benchmark_of_a_gpu_ends_with_a_reason_where_there_is_none():
    done = run("gpu.py")
    assert done.returncode == 1
    assert "CuPy does not work here" in done.stderr and "tools/real_cupy" in done.stderr
