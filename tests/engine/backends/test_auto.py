"""The default mode: NumPy, and machine code from the call on in which it pays, decided by counts alone."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from scanviz.engine.backends import registry
from scanviz.engine.backends.auto import AutoRunner
from scanviz.engine.backends.base import Availability
from scanviz.engine.config import config
from scanviz.engine.observe import WAITED, Observer, observed_by
from scanviz.engine.runtime.specialised import MOST_SHAPES
from scanviz.profiler.recording.session import profile

needs_llvm = pytest.mark.skipif(
    not registry.availability("native").works, reason=registry.availability("native").why
)
RNG = np.random.default_rng(5)
MODULES = 241  # of scanviz, when a short loop has given its first result


@pytest.fixture(autouse=True)
def pays_after(monkeypatch):
    """Return what sets after how many seconds machine code pays."""

    def sets(seconds):
        monkeypatch.setattr(config.native, "pays_after", seconds)

    sets(3e-3)
    return sets


def bent(mode="auto", until=False):
    x = T.vector("x")

    def step(x_t, s):
        following = T.tanh(x_t - s * 0.5)
        return (following, scanviz.until(following > 0.9)) if until else following

    s, _ = scanviz.scan(step, x, np.float64(0), name="bent")
    return scanviz.function([x], s, name="f", mode=mode)


def tiers_of(f):
    """Return of each loop of a function the tier of its code, and why it is that."""
    return [
        (made.tier.name, made.why) for run in f.executable.flat.runners.values() for made in run.all_made()
    ]


def calls_until_native(f, *given):
    for number in range(100):
        f(*given)
        if f.executable.runs_whole or tiers_of(f)[0][0] == "native":
            return number
    return None


def test_the_default_mode_is_auto():
    assert Mode().backend == "auto" == bent(None).backend


@needs_llvm
def test_code_for_some_shapes_is_never_used_for_others(pays_after):
    pays_after(1e-4)  # machine code follows some calls after code for any shapes was made
    x = T.matrix("x")
    rows, _ = scanviz.scan(lambda x_t, s: T.tanh(x_t - s * 0.5), x, T.zeros_like(x[0]), name="wide")
    f, plain = scanviz.function([x], rows), scanviz.function([x], rows, mode="reference")
    for width in range(1, 2 * MOST_SHAPES):
        given = RNG.normal(size=(3, width))
        for _ in range(3):
            np.testing.assert_allclose(f(given), plain(given), rtol=1e-12)
    [runner] = f.executable.flat.runners.values()
    assert len(runner.cache) == MOST_SHAPES + 1
    assert tiers_of(f)[-1] == ("numpy", "the shapes change from run to run")
    assert "native" in {tier for tier, _ in tiers_of(f)}


@needs_llvm
def test_a_few_dozen_batch_sizes_each_have_machine_code(pays_after):
    pays_after(0.0)
    x = T.matrix("x")
    f = scanviz.function([x], scanviz.scan(lambda x_t, s: x_t - s, x, T.zeros_like(x[0]), mode=None)[0])
    f.executable._whole = None  # by parts
    for size in (*range(1, 21), *range(1, 21)):
        f(np.ones((2, size)))
    assert [tier for tier, _ in tiers_of(f)] == ["native"] * 20


@needs_llvm
def test_a_short_loop_stays_on_numpy_and_names_its_compile_threshold():
    f = bent()
    f(np.ones(10))
    after = "machine code once the function's loops have taken 3 ms here, by estimate"
    assert tiers_of(f) == [("numpy", f"generated for the shapes met; {after}")]


@needs_llvm
def test_all_shapes_of_a_loop_count_together():
    x = T.matrix("x")
    s, _ = scanviz.scan(lambda x_t, s: T.tanh(x_t - s * 0.5), x, T.zeros_like(x[0]))
    f = scanviz.function([x], s)
    for width in (2, 3, 4, 5):
        f(np.ones((1000, width)))  # about a millisecond each
    assert [tier for tier, _ in tiers_of(f)] == ["numpy", "numpy", "native", "native"]


@needs_llvm
def test_loops_of_one_function_count_together():
    def compiled_after(loops):
        x = T.matrix("x")
        rows = [
            scanviz.scan(lambda x_t, s, k=k: T.tanh(x_t - s * (k + 0.5)), x, T.zeros((3,)), name=f"loop{k}")[
                0
            ]
            for k in range(loops)
        ]
        f = scanviz.function([x], rows)
        f.executable._whole = None  # by parts
        return calls_until_native(f, RNG.normal(size=(100, 3)))

    alone, both = compiled_after(1), compiled_after(2)
    assert alone > 4 and abs(both - alone / 2) <= 1


@needs_llvm
def test_a_function_is_rewritten_once_when_its_loops_switch_to_machine_code():
    x, w = T.matrix("x"), T.vector("w")
    rows, _ = scanviz.scan(lambda x_t, h, w: T.tanh(w * h + x_t * 0.5), x, T.zeros((8,)), w, name="model")
    loss = (rows**2).sum()
    f = scanviz.function([x, w], [loss, scanviz.grad(loss, w)])
    program, given = f.program, (RNG.normal(size=(3_000, 8)), np.full(8, 0.3))
    expected = scanviz.function([x, w], [loss, scanviz.grad(loss, w)], mode="native")(*given)
    for _ in range(3):
        for mine, theirs in zip(f(*given), expected, strict=True):
            np.testing.assert_array_equal(mine, theirs)
    assert [tier for tier, _ in tiers_of(f)] == ["native", "native"] and f.program is program


@needs_llvm
def test_a_loop_with_a_stop_condition_counts_the_steps_that_it_took():
    short, long = np.full(1_000_000, 9.0), np.full(1_000, 0.1)
    f = bent(until=True)
    assert calls_until_native(f, short) is None
    assert 1 < calls_until_native(f, long) < 9


@needs_llvm
def test_a_short_function_counts_the_steps_taken_not_the_possible_ones():
    def whole_after(most, until):
        x, n = T.scalar("x"), T.lscalar("n")

        def step(h, x):
            following = 0.5 * (h + x / h)
            return (following, scanviz.until(abs(following - h) < 1e-9)) if until else following

        rows, _ = scanviz.scan(step, outputs_info=T.constant(1.0), non_sequences=x, n_steps=n)
        f = scanviz.function([x, n], rows[-1])
        return next((call for call in range(2000) if f(2.0, most) and f.executable.runs_whole), None)

    stops, takes_five = whole_after(100_000, True), whole_after(5, False)
    assert stops is not None and 0.5 < stops / takes_five < 2


@needs_llvm
def test_a_loop_refused_by_the_compiler_stays_on_numpy_with_a_reason(monkeypatch):
    asked = []
    monkeypatch.setattr(
        AutoRunner, "_machine_code", lambda self, shapes, rows: asked.append(self) or "a reason"
    )
    f, plain, given = bent(), bent("numpy"), RNG.normal(size=100_000)
    for _ in range(3):
        np.testing.assert_array_equal(f(given), plain(given))
    assert tiers_of(f) == [("numpy", "no native code: a reason")] and len(asked) == 1


@needs_llvm
def test_a_long_loop_is_compiled_before_its_first_step():
    f = bent()
    given = RNG.normal(size=100_000)
    expected = bent("native")(given)
    for _ in range(3):
        np.testing.assert_array_equal(f(given), expected)
    assert tiers_of(f) == [("native", "machine code for the shapes met")]


@needs_llvm
def test_the_steps_of_a_loop_inside_count_for_the_loop_around_it(pays_after):
    pays_after(5e-3)
    x = T.lmatrix("x")

    def row(x_t, s):
        inner, _ = scanviz.scan(lambda x_j, s: T.minimum(x_j + s, s * 3), x_t, s, name="inner")
        return inner[-1]

    out, _ = scanviz.scan(row, x, np.int64(1), name="outer")
    f = scanviz.function([x], out)
    given = RNG.integers(
        0, 9, (200, 300)
    )  # 60,000 steps inside, of 0.17 microseconds and more each by estimate
    np.testing.assert_array_equal(f(given), scanviz.function([x], out, mode="reference")(given))
    assert tiers_of(f) == [("native", "machine code for the shapes met")]
    [outer] = f.executable.flat.runners.values()
    assert [inner.all_made() for inner in outer.runners.values()] == [[]]  # no other code was made


@needs_llvm
def test_sequential_reductions_are_charged_per_element(pays_after):
    pays_after(3e-3)
    h, source, goal = T.matrix("h"), T.lvector("source"), T.lvector("goal")
    out, _ = scanviz.scan(
        lambda h, source, goal: T.inc_subtensor((0.1 * h)[goal], h[source]), None, h, [source, goal], 100
    )
    f = scanviz.function([h, source, goal], out)
    given = np.ones((100, 8)), *RNG.integers(0, 100, (2, 400))
    assert calls_until_native(f, *given) <= 1  # steps of 40 microseconds, most of it in `add.at`


@needs_llvm
@pytest.mark.parametrize(("shape", "tier"), [((500, 6, 3), "native"), ((3, 6, 500), "numpy")])
def test_broadcasts_along_short_axes_are_charged_more_than_along_long_ones(pays_after, shape, tier):
    pays_after(3e-3)
    points, centres = T.matrix("points"), T.matrix("centres")
    out, _ = scanviz.scan(
        lambda c, p: c * 0.9 + T.sum((p[:, None, :] - c) ** 2) * 1e-9, None, centres, points, 100
    )
    f = scanviz.function([points, centres], out)
    given = RNG.normal(size=(shape[0], shape[2])), RNG.normal(size=shape[1:])
    for _ in range(2):
        f(*given)
    assert tiers_of(f)[0][0] == tier


@needs_llvm
def test_many_short_calls_are_compiled_at_a_reproducible_call():
    given = RNG.normal(size=200)
    counts = [calls_until_native(bent(), given) for _ in range(3)]
    assert counts[0] > 2 and len(set(counts)) == 1


@needs_llvm
def test_draws_in_a_step_are_charged_at_their_numpy_cost(pays_after):
    pays_after(1e-2)
    streams, x = T.random.RandomStreams(3), T.vector("x")
    rows, updates = scanviz.scan(lambda s: s + streams.normal(size=(4,)), outputs_info=x, n_steps=40)
    f = scanviz.function([x], rows[-1], updates=updates, mode=Mode("auto", rewrites="all,-batch_draws"))
    assert calls_until_native(f, np.zeros(4)) < 30


@needs_llvm
@pytest.mark.parametrize("seconds, expected", [(0.0, "native"), (float("inf"), "numpy")])
def test_a_setting_compiles_all_loops_or_none(pays_after, seconds, expected):
    pays_after(seconds)
    f = bent()
    f(np.ones(100_000 if seconds else 2))
    assert f.executable.runs_whole == (expected == "native")
    assert [tier for tier, _ in tiers_of(f)] == ([] if expected == "native" else ["numpy"])


@needs_llvm
def test_one_loop_may_be_asked_to_stay_on_numpy():
    x = T.vector("x")
    s, _ = scanviz.scan(lambda x_t, s: T.tanh(x_t - s), x, np.float64(0), mode="numpy")
    f = scanviz.function([x], s)
    f(np.ones(100_000))
    assert tiers_of(f) == [("numpy", "generated for the shapes met")]


@needs_llvm
def test_a_loop_without_native_code_stays_on_numpy_with_a_reason(pays_after):
    x = T.tensor("float64", (None, 3, 3), "x")
    y, _ = scanviz.scan(lambda x_t, y: T.linalg.eigh(x_t + y)[1], x, T.zeros((3, 3)))
    f = scanviz.function([x], y[-1])
    pays_after(0.0)
    f(RNG.normal(size=(9, 3, 3)))
    [(tier, why)] = tiers_of(f)
    assert tier == "numpy" and why.startswith("no native code: ") and "`eigh`" in why


def test_loops_stay_on_numpy_with_a_reason_when_llvm_is_missing(monkeypatch):
    monkeypatch.setattr(
        "scanviz.engine.backends.auto.availability",
        lambda name: Availability(False, "llvmlite is not installed", "pip install llvmlite"),
    )
    f = bent()
    given = RNG.normal(size=100_000)
    np.testing.assert_array_equal(f(given), bent("numpy")(given))
    assert tiers_of(f) == [("numpy", "no native code: llvmlite is not installed")]


@needs_llvm
def test_a_profiled_loop_uses_the_same_tiers_and_shows_both():
    given, plain, watched = RNG.normal(size=400), bent(), bent()
    expected = [plain(given) for _ in range(20)]
    with profile() as session:
        found = [watched(given) for _ in range(20)]
    np.testing.assert_array_equal(expected, found)
    [loop] = session.record.loops
    assert [tier.tier for tier in loop.tiers] == ["numpy", "native"]
    assert loop.steps == 8000


def printed_by(script):
    """Return the output of a new process with the usual compile threshold."""
    environment = {key: value for key, value in os.environ.items() if key != "SCANVIZ_NATIVE_PAYS_AFTER"}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment
    )
    return done.stdout


def test_a_short_loop_loads_neither_llvm_nor_many_modules():
    script = (
        "import sys, numpy as np, scanviz\n"
        "from scanviz import tensor as T\n"
        "x = T.vector('x')\n"
        "s, _ = scanviz.scan(lambda x_t, s: T.tanh(x_t - s), x, np.float64(0))\n"
        "scanviz.function([x], s)(np.ones(100))\n"
        "later = ('llvmlite', 'backends.native.', 'ops.random', 'ops.sort', 'ops.factorise', 'runtime.wording', 'engine.gradient.')\n"
        "print([name for name in sys.modules if any(each in name for each in later)])\n"
        "print(sum(name.startswith('scanviz') for name in sys.modules))\n"
    )
    found, count = printed_by(script).splitlines()
    assert found == "[]"
    assert int(count) <= MODULES, "what every first result waits for: import it where it is used"


@needs_llvm
def test_a_long_loop_with_a_stop_condition_switches_tier_while_it_runs(pays_after):
    pays_after(1e-3)
    x, k = T.vector("x"), T.lscalar("k")

    def step(x_t, n, h, before, k):
        following = T.tanh(0.9 * h - 0.3 * before + x_t)
        return (n + 1, following, x_t * 2), scanviz.until(n + 1 >= k)

    (n, h, twice), _ = scanviz.scan(
        step, x, [np.int64(0), dict(initial=T.zeros((2,)), taps=[-1, -2]), None], k, name="long"
    )
    f, plain = (scanviz.function([x, k], [n[-1], h, twice], mode=mode) for mode in ("auto", "numpy"))
    given = RNG.normal(size=9_000)
    for steps in (7_000, 8_999, 20_000):
        for mine, theirs in zip(f(given, steps), plain(given, steps), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-9)
        assert tiers_of(f)[0][0] == "native"  # in the first call


@needs_llvm
def test_a_profiled_loop_switches_tier_at_the_same_step():
    given = np.full(9_000, 0.1)
    plain, watched = bent(until=True), bent(until=True)
    expected = plain(given)
    with profile() as session:
        found = watched(given)
    np.testing.assert_array_equal(found, expected)
    [loop] = session.record.loops
    assert [tier.tier for tier in loop.tiers] == ["numpy", "native"] and loop.steps == 9_000


class HeldLock:
    """A lock that notes when a thread has to wait for it."""

    def __init__(self) -> None:
        self.lock, self.waits = threading.RLock(), threading.Event()

    def __enter__(self) -> None:
        if not self.lock.acquire(blocking=False):
            self.waits.set()
            self.lock.acquire()

    def __exit__(self, *_: object) -> None:
        self.lock.release()


class Compilations(Observer):
    """Keeps compilations of loops, by thread."""

    def __init__(self) -> None:
        self.made: list[tuple[int, int, str, str]] = []

    def specialised(self, function, loop, elapsed_ns, tier, why):
        self.made.append((threading.get_ident(), elapsed_ns, tier, why))


@pytest.fixture(params=[0, 3], ids=lambda steps: f"{steps} earlier steps")
def two_at_once(request, pays_after, monkeypatch):
    """Return a function, and what calls it in two threads of which one compiles the loop and the other waits for that."""
    pays_after(1e-3)
    x = T.vector("x")
    s, _ = scanviz.scan(lambda x_t, s: T.tanh(s + x_t), x, 0.0, name="sums")
    f = scanviz.function([x], s[-1])
    [runner] = f.executable.flat.runners.values()
    in_place_of = AutoRunner._in_place_of

    def compiled(self, *given):
        assert held.waits.wait(60)
        return in_place_of(self, *given)

    def call():
        if request.param:
            f(np.ones(request.param))  # makes NumPy's code
        runner._lock = held
        data = np.ones(3_000)
        threads = [threading.Thread(target=f, args=(data,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    held = HeldLock()
    monkeypatch.setattr(AutoRunner, "_in_place_of", compiled)
    return f, call


@needs_llvm
def test_waiting_for_another_threads_compilation_is_compilation(two_at_once):
    _, call = two_at_once
    with observed_by(Compilations()) as seen:
        call()
    native = [(thread, why == WAITED) for thread, _, tier, why in seen.made if tier == "native"]
    assert (
        sorted(waited for _, waited in native) == [False, True] and len({thread for thread, _ in native}) == 2
    )


class WaitsForPlans(Observer):
    """Waits in each compilation, as the lock of a recorder may, for a thread that reads the plans of the function."""

    def __init__(self, f) -> None:
        self.f, self.came = f, []

    def specialised(self, function, loop, elapsed_ns, tier, why):
        reading = threading.Thread(target=self.f.memory_plans, daemon=True)
        reading.start()
        reading.join(30)
        self.came.append(not reading.is_alive())


@needs_llvm
def test_threads_may_read_plans_while_an_observer_is_notified_of_a_compilation(two_at_once):
    f, call = two_at_once
    with observed_by(WaitsForPlans(f)) as seen:
        call()
    assert len(seen.came) >= 2 and all(seen.came)
