"""`scanviz rewrites --verify`, `--bisect` and `--ablate` in real processes."""

import re

import pytest

from tests.cli.measured_scripts import SCRIPT, WRONG, runner


@pytest.fixture
def run(tmp_path):
    return runner(tmp_path)


def test_values_and_gradients_are_compared_on_the_inputs_of_the_script(run):
    done = run("--verify", "--bisect", "rnn.py")
    assert done.returncode == 0 and done.stdout == "done\n"
    assert "train, on the inputs of one of its 3 calls" in done.stderr
    assert re.search(r"values agree before and after each of \d+ rewrites: ", done.stderr)
    assert "gradients agree with those of the graph as built, after rewrite" in done.stderr
    assert "no rewrite changed a value" in done.stderr


@pytest.mark.parametrize("option", ["--verify", "--bisect"])
def test_a_wrong_rewrite_is_named_and_exits_with_1(run, option):
    done = run(option, "wrong.py")
    assert done.returncode == 1, done.stderr
    right, _, wrong = done.stderr.partition("\nf, on the inputs of its call\n")
    assert "changed" not in right.replace("no rewrite changed", "") and right.startswith("right, on ")
    assert re.search(
        r"rewrite \d+, wrong \(tanh is nearly sin\), changed .*off by 0\.356", " ".join(wrong.split())
    )
    alone = run(option, "--function", "right", "wrong.py")
    assert alone.returncode == 0 and "wrong (" not in alone.stderr


@pytest.mark.parametrize(("ending", "code"), [("sys.exit()", 1), ("sys.exit(3)", 3), ("raise ValueError", 1)])
def test_a_program_that_exits_by_itself_is_checked_too(run, tmp_path, ending, code):
    (tmp_path / "ends.py").write_text(f"{WRONG}\nimport sys\n{ending}\n")
    done = run("--verify", "ends.py")
    assert done.returncode == code and "wrong (tanh is nearly sin), changed" in done.stderr
    assert ("ValueError" in done.stderr) == ("ValueError" in ending) and "scanviz/cli" not in done.stderr


def test_calls_made_in_threads_are_waited_for(run, tmp_path):
    slow = (
        "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.5), f(np.ones(3)))).start()\n"
    )
    (tmp_path / "threads.py").write_text(WRONG.replace("right(np.ones(3)), f(np.ones(3))", slow))
    assert run("--verify", "threads.py").returncode == 1


@pytest.mark.parametrize("option", ["--verify", "--bisect", "--ablate"])
def test_functions_never_called_are_listed(run, option):
    done = run(option, "uncalled.py")
    assert done.returncode == 0
    assert "once, on the inputs of its call" in done.stderr
    assert "never was never called: there are no inputs to run it on" in done.stderr
    alone = run(option, "--function", "never", "uncalled.py")
    assert alone.returncode == 0 and "once" not in alone.stderr and "never was never called" in alone.stderr


@pytest.mark.parametrize("option", ["--verify", "--bisect", "--ablate"])
def test_a_script_without_functions_is_reported(run, option):
    done = run(option, "none.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "hi\n", "no function was built\n")


def test_unknown_names_are_an_error_and_check_nothing(run):
    for option, message in (
        ("--function=tra", "no function named 'tra'; did you mean train?; functions: train"),
        ("--scan=rn", "no loop named 'rn'; did you mean rnn?; loops: rnn, grad_of_rnn"),
    ):
        done = run("--verify", option, "rnn.py")
        assert done.returncode == 2 and done.stderr.strip() == f"scanviz: there is {message}"


def test_verification_can_be_restricted_to_one_rule_or_loop(run):
    rule = run("--verify", "--rule", "PushOutDot1", "rnn.py")
    assert rule.returncode == 0 and "before and after the one rewrite" in rule.stderr
    some, every = (
        int(re.search(r"each of (\d+) rewrites", run("--verify", *more, "rnn.py").stderr)[1])
        for more in (["--scan", "rnn"], [])
    )
    assert 1 < some < every


def test_a_function_with_a_failing_call_is_reported_as_not_measured(run, tmp_path):
    call = "try:\n    f(np.ones((4, 2)), np.ones((5, 3)))\nexcept Exception:\n    print('caught')\n"
    (tmp_path / "fails.py").write_text(
        SCRIPT.replace("for _ in range(3):\n    f(np.ones((4, 2)), np.ones((2, 3)))", call)
    )
    done = run("--verify", "--bisect", "--ablate", "--budget", "1", "fails.py")
    assert done.returncode == 0 and done.stdout == "caught\ndone\n"
    assert "not looked at: it ends in an error on these inputs: ShapeError" in done.stderr
