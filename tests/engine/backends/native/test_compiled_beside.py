"""Loops that come later in a call are compiled by another thread while the first is compiled and runs."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends.native.cache import jit
from scanviz.engine.config import config
from scanviz.engine.errors import OutOfMemoryError
from scanviz.engine.program import loops_met
from scanviz.engine.runtime import beside
from scanviz.profiler import profile

SAID = "; made by another thread meanwhile, in "
NAME = "scanviz: later loops"
PATIENCE = 120.0  # seconds, on a machine however busy


@pytest.fixture(autouse=True)
def two_threads(monkeypatch):
    """Let there be a processor for another thread, and nothing on disk."""
    monkeypatch.setattr(config.native, "threads", 2)
    monkeypatch.setattr(config.native, "cache", "off")


@pytest.fixture
def begun(monkeypatch):
    """Let who compiles the first loop not be ready before the other thread has begun a later one, however busy the machine is."""
    event, usual = threading.Event(), jit.object_of

    def object_of(text):
        if threading.current_thread().name == NAME:
            event.set()
        elif others():
            event.wait(PATIENCE)
        return usual(text)

    monkeypatch.setattr(jit, "object_of", object_of)
    return event


@pytest.fixture
def work(monkeypatch, begun):
    """Let the other thread wait for ``goes_on`` when it has begun a loop."""
    goes_on, usual = threading.Event(), jit.object_of

    def object_of(text):
        if threading.current_thread().name == NAME:
            begun.set()
            assert goes_on.wait(PATIENCE)
        return usual(text)

    monkeypatch.setattr(jit, "object_of", object_of)
    yield begun, goes_on
    goes_on.set()
    for thread in others():
        thread.join(PATIENCE)


@pytest.fixture
def asked(monkeypatch):
    """Return what is set when a caller has come to a loop that another thread makes."""
    event, usual = threading.Event(), beside.MadeBeside.taken

    def taken(self, *met):
        if not self._left:
            event.set()
        return usual(self, *met)

    monkeypatch.setattr(beside.MadeBeside, "taken", taken)
    return event


def others():
    return [thread for thread in threading.enumerate() if thread.name == NAME]


def two_loops(mode="native", step=lambda y_t, z: T.sin(y_t) + z):
    """Return a function of a loop over a loop's rows."""
    x, k = T.vector("x"), T.lvector("k")
    y, _ = scanviz.scan(lambda k_t, y, x: T.tanh(x[k_t] - y), k, np.float64(0), x, name="first")
    z, _ = scanviz.scan(step, y, np.float64(0), name="later")
    return scanviz.function([x, k], z, mode=mode)


GIVEN = np.linspace(-1, 1, 50), np.arange(50)


def whys_of(f):
    runners = f.executable.flat.runners.values()
    return {runner.loop.name: made.why for runner in runners for made in runner.tier.all_made()}


def in_one_thread(f, *given):
    """Return what a function gives where only the caller's thread may be used."""
    config.native.threads = 1
    try:
        return f(*given)
    finally:
        config.native.threads = 2


def gradient(mode="native"):
    x, w = T.matrix("x"), T.matrix("w")
    h, _ = scanviz.scan(lambda x_t, h, w: T.tanh(x_t + T.dot(h, w)), x, T.zeros((4,)), w, name="rnn")
    return scanviz.function([x, w], [h, scanviz.grad(T.sum(h**2), w)], mode=mode)


def test_numpy_tells_the_other_thread_of_no_floating_point_errors_either(monkeypatch, begun):
    told, usual = {}, beside.MadeBeside.make

    def make(self, *given):
        told[threading.current_thread().name] = set(np.geterr().values())
        usual(self, *given)

    monkeypatch.setattr(beside.MadeBeside, "make", make)
    two_loops()(*GIVEN)
    assert told == {NAME: {"ignore"}}


def test_a_gradient_is_made_meanwhile_and_has_the_same_bits(begun):
    given = np.random.default_rng(1).normal(size=(30, 4)), np.eye(4)
    f, alone = gradient(), gradient()
    for mine, theirs in zip(f(*given), in_one_thread(alone, *given), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert SAID in whys_of(f)["grad_of_rnn"] and SAID not in whys_of(f)["rnn"]
    assert not any(SAID in why for why in whys_of(alone).values())


def test_the_default_mode_makes_meanwhile_what_it_foresees(monkeypatch, begun):
    monkeypatch.setattr(config.native, "pays_after", 1e-3)
    given = np.random.default_rng(1).normal(size=(3000, 4)), np.eye(4)
    f = gradient("auto")
    found, expected = f(*given), gradient("numpy")(*given)
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)
    assert SAID in whys_of(f.for_machine_code or f)["grad_of_rnn"]


def test_where_one_thread_is_allowed_none_is_started(monkeypatch):
    def refused(*_, **__):
        raise AssertionError("a thread was made")

    monkeypatch.setattr(beside.threading, "Thread", refused)
    np.testing.assert_allclose(in_one_thread(two_loops(), *GIVEN), two_loops("numpy")(*GIVEN), rtol=1e-12)


def test_where_there_is_no_thread_to_be_had_the_caller_makes_all(monkeypatch):
    def refused(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    f = two_loops()
    np.testing.assert_allclose(f(*GIVEN), two_loops("numpy")(*GIVEN), rtol=1e-12)
    assert set(whys_of(f).values()) == {"machine code for the shapes met"}


def test_a_loop_that_nobody_has_begun_is_made_by_the_caller(monkeypatch):
    let, usual = threading.Event(), beside._make
    monkeypatch.setattr(beside, "_make", lambda *given: let.wait(PATIENCE) and usual(*given))
    f = two_loops()
    np.testing.assert_allclose(f(*GIVEN), two_loops("numpy")(*GIVEN), rtol=1e-12)
    assert set(whys_of(f).values()) == {"machine code for the shapes met"}
    let.set()
    for thread in others():
        thread.join(PATIENCE)
    assert len(whys_of(f)) == 2


def test_code_for_other_shapes_than_foreseen_is_not_taken(monkeypatch):
    usual = loops_met.shapes_met

    def another_row(loop, shapes):
        met, rows = usual(loop, shapes)
        return [(3,), *met[1:]], rows

    monkeypatch.setattr(loops_met, "shapes_met", another_row)
    f = gradient()
    given = np.ones((5, 4)), np.eye(4)
    for mine, theirs in zip(f(*given), gradient("numpy")(*given), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)
    assert not any(SAID in why for why in whys_of(f).values())


def test_why_there_is_no_machine_code_is_told_as_ever():
    def step(y_t, z):
        return T.sum(T.arange(T.cast(T.abs(y_t) * 3, "int64"))) + z  # whose shape depends on a value

    f, alone = two_loops(step=step), two_loops(step=step)
    np.testing.assert_array_equal(f(*GIVEN), in_one_thread(alone, *GIVEN))
    assert whys_of(f) == whys_of(alone) and "no native code: " in whys_of(f)["later"]


@pytest.mark.parametrize("mode", ["native", "auto"])
def test_what_goes_wrong_is_told_where_the_loop_is_needed(monkeypatch, begun, mode):
    usual = jit.object_of

    def object_of(text):
        if threading.current_thread().name == NAME:
            begun.set()
            raise OutOfMemoryError("there is no memory for compiling a loop", expected="", fix="")
        return usual(text)

    monkeypatch.setattr(jit, "object_of", object_of)
    monkeypatch.setattr(config.native, "pays_after", 1e-9)
    f = two_loops(mode)
    if mode == "native":
        with pytest.raises(OutOfMemoryError, match="no memory for compiling a loop"):
            f(*GIVEN)
    np.testing.assert_allclose(f(*GIVEN), two_loops("numpy")(*GIVEN), rtol=1e-12)
    if mode == "native":  # that was one time without memory
        assert whys_of(f)["later"] == "machine code for the shapes met"


def test_an_error_of_the_first_loop_leaves_nothing_behind(work):
    begun, goes_on = work
    f = two_loops()
    with pytest.raises(IndexError, match="first"):
        f(GIVEN[0], np.array([3, 99]))
    assert begun.wait(PATIENCE) and others()
    goes_on.set()
    for thread in others():
        thread.join(PATIENCE)
    assert not others()
    np.testing.assert_allclose(f(*GIVEN), two_loops("numpy")(*GIVEN), rtol=1e-12)
    assert SAID in whys_of(f)["later"]  # what was made is of use


@pytest.mark.parametrize("mode", ["native", "auto"])
def test_no_argument_of_the_first_call_is_held_after_it(monkeypatch, mode):
    monkeypatch.setattr(config.native, "pays_after", 1e-9)
    f, given = two_loops(mode), GIVEN[0].copy()
    f(given, GIVEN[1])
    assert all("machine code" in why for why in whys_of(f.for_machine_code or f).values())
    held = weakref.ref(given)
    del given
    for thread in others():
        thread.join(PATIENCE)
    gc.collect()
    assert held() is None


def test_no_function_is_held_after_an_error():
    def failed():
        f = two_loops()
        try:
            f(GIVEN[0], np.array([3, 99]))
        except IndexError:
            return weakref.ref(f)

    held = failed()
    for thread in others():
        thread.join(PATIENCE)
    gc.collect()
    assert held() is None


def test_who_waits_hears_ctrl_c_and_the_next_call_takes_the_code(work, asked):
    _, goes_on = work
    f, main = two_loops(), threading.main_thread().ident

    def interrupt():
        asked.wait(PATIENCE)
        time.sleep(0.2)  # in which the caller begins to wait, or not: it is looking for the code in any case
        signal.pthread_kill(main, signal.SIGINT)

    interrupts = threading.Thread(target=interrupt)
    interrupts.start()
    with pytest.raises(KeyboardInterrupt):
        f(*GIVEN)
    interrupts.join()
    goes_on.set()
    np.testing.assert_allclose(f(*GIVEN), two_loops("numpy")(*GIVEN), rtol=1e-12)
    assert SAID in whys_of(f)["later"]


def test_who_is_interrupted_before_making_a_loop_is_waited_for_by_nobody():
    tier = SimpleNamespace(will_compile=lambda *_: True)
    tier.beside = made = beside.MadeBeside(tier)
    assert made._is_mine()  # and ctrl+c is heard right then
    made.make(([], []), 5)
    found = []
    next_call = threading.Thread(target=lambda: found.append(beside.taken(tier, [], [])), daemon=True)
    next_call.start()
    next_call.join(PATIENCE)
    assert found == [None]


def test_a_profile_tells_what_was_waited_for_and_what_was_done_beside(work, asked, monkeypatch):
    _, goes_on = work
    hour = iter([0, 3600 * 10**9])  # by the clock of who makes it
    monkeypatch.setattr(beside, "perf_counter_ns", lambda: next(hour))
    f = two_loops()

    def let_go():
        asked.wait(PATIENCE)
        time.sleep(0.05)
        goes_on.set()

    lets_go = threading.Thread(target=let_go)
    lets_go.start()
    with profile() as session:
        f(*GIVEN)
    lets_go.join()
    (later,) = [loop for loop in session.record.loops if loop.name == "later"]
    (tier,) = later.tiers
    assert SAID in tier.why
    said_ms = float(tier.why.split(SAID)[1].removesuffix(" ms"))
    assert said_ms == 3600e3 and 10e6 < tier.total_ns < 3600e9


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("patience", [PATIENCE, 0.05])
def test_a_process_that_is_forked_while_a_loop_is_made_makes_it_itself(work, monkeypatch, patience):
    begun, goes_on = work
    monkeypatch.setattr(beside, "PATIENCE_S", patience)
    f = two_loops()
    with pytest.raises(IndexError):
        f(GIVEN[0], np.array([99]))
    assert begun.wait(PATIENCE)
    if patience > 1:
        threading.Timer(0.1, goes_on.set).start()
    expected = two_loops("numpy")(*GIVEN)
    asked = time.monotonic()
    child = os.fork()
    if not child:
        code = 1
        try:
            goes_on.set()
            np.testing.assert_allclose(f(*GIVEN), expected, rtol=1e-12)
            code = 0
        finally:
            os._exit(code)
    took = time.monotonic() - asked
    goes_on.set()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    np.testing.assert_allclose(f(*GIVEN), expected, rtol=1e-12)
    assert patience < 1 or took < 0.8 * patience  # the loop's maker was not kept waiting by who waited for it


def test_ctrl_c_right_after_a_fork_keeps_no_maker_waiting_for_ever(monkeypatch):
    monkeypatch.setattr(beside, "PATIENCE_S", 0.05)
    beside._wait()  # and ctrl+c is heard before it is given back
    try:
        f = two_loops()
        np.testing.assert_allclose(f(*GIVEN), two_loops("numpy")(*GIVEN), rtol=1e-12)
        for thread in others():
            thread.join(120)
        assert not others()
        beside._wait()  # another fork
    finally:
        beside._go_on()
    with ThreadPoolExecutor(1) as another:
        assert another.submit(beside._unless_kept_waiting, lambda: "free").result(20) == "free"


def test_threads_that_call_a_new_function_at_once_all_get_what_it_gives():
    f, expected, found = two_loops(), two_loops("numpy")(*GIVEN), []
    callers = [threading.Thread(target=lambda: found.append(f(*GIVEN))) for _ in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(PATIENCE)
    assert len(found) == 6
    for result in found:
        np.testing.assert_allclose(result, expected, rtol=1e-12)


def test_a_process_that_ends_meanwhile_ends_well():
    script = (
        "import sys, threading, numpy as np\n"
        f"sys.path.insert(0, {os.path.dirname(__file__)!r})\n"
        "from test_compiled_beside import two_loops\n"
        "from scanviz.engine.config import config\n"
        "from scanviz.engine.backends.native.cache import jit\n"
        "config.native.cache, config.native.threads, usual = 'off', 2, jit.object_of\n"
        "def object_of(text):\n"
        f"    if threading.current_thread().name == {NAME!r}:\n"
        "        threading.main_thread().join()\n"  # until the program has come to its end
        "    return usual(text)\n"
        "jit.object_of = object_of\n"
        "f = two_loops()\n"
        "try:\n"
        "    f(np.zeros(3), np.array([9]))\n"
        "finally:\n"
        f"    print([thread.name for thread in threading.enumerate() if thread.name == {NAME!r}])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 1 and done.stderr.count("Traceback") == 1 and "IndexError" in done.stderr
    assert done.stdout == f"[{NAME!r}]\n"
