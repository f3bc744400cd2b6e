"""Code found on disk by the key of its loop: nothing is written for it, and nothing else is ever found."""

import ast
import dataclasses
import marshal
import os
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import scanviz
from scanviz import starting
from scanviz import tensor as T
from scanviz.engine.backends.native import cache, code, jit, kept_code, loop_key, tier
from scanviz.engine.backends.registry import availability
from scanviz.engine.config import config
from scanviz.engine.graph.declaration import Declaration, Op, declared_already, for_now
from scanviz.engine.graph.nodes import build_one
from scanviz.engine.program.instructions import all_loops
from scanviz.profiler import profile
from tests.laws.rows_apart import parts_always

pytestmark = pytest.mark.skipif(not availability("native").works, reason=availability("native").why)
FROM_DISK = "machine code for the shapes met, kept on disk from an earlier run"


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """Keep entries in a folder of the test's, here and in the processes that it starts."""
    found = tmp_path / "kept"
    monkeypatch.setattr(config.native, "cache", str(found))
    monkeypatch.setenv("SCANVIZ_NATIVE_CACHE", str(found))
    return found


def gates(bias=0.5, name="gates"):
    x, W = T.matrix("x"), T.matrix("W")

    def step(x_t, h, W):
        inside, _ = scanviz.scan(lambda g: T.tanh(g * bias), None, h, n_steps=3, name="within")
        return inside[-1] + T.dot(x_t, W) * np.arange(4.0)

    rows, _ = scanviz.scan(step, x, T.zeros(4), [W], name=name)
    return scanviz.function([x, W], rows, mode="native")


def loop_of(f):
    return next(loop for loop, parent in all_loops(f.program) if parent is None)


def why_of(f):
    (runner,) = f.executable.flat.runners.values()
    return runner.tier.all_made()[0].why


VALUES = np.linspace(-1, 1, 12).reshape(3, 4), np.linspace(0, 1, 16).reshape(4, 4)


def test_nothing_is_written_for_a_loop_that_is_kept(monkeypatch):
    expected = gates()(*VALUES)

    def refused(*_, **__):
        raise AssertionError("code was written")

    monkeypatch.setattr(code, "text_of", refused)
    again = gates(name="under another name")
    np.testing.assert_array_equal(again(*VALUES), expected)
    assert why_of(again) == FROM_DISK


def test_no_plan_is_made_for_a_loop_that_is_kept_until_somebody_asks_for_it(monkeypatch):
    first, expected = gates(), gates()(*VALUES)
    first(*VALUES)
    made, usual = [], tier.plan_loop
    monkeypatch.setattr(tier, "plan_loop", lambda loop, *given: made.append(loop.name) or usual(loop, *given))
    again = gates()
    np.testing.assert_array_equal(again(*VALUES), expected)
    assert why_of(again) == FROM_DISK and not made
    (plan,), (known,) = again.memory_plans().values(), first.memory_plans().values()
    assert made == ["gates"] and plan == known
    with profile() as session:  # which needs it too
        again(*VALUES)
    assert session.record.loops and made.count("gates") == 1


@pytest.mark.parametrize(
    "damaged",
    [
        lambda memory: memory._replace(buffers=()),
        lambda memory: memory._replace(outputs=(*memory.outputs, (4,))),
        lambda memory: memory._replace(buffers=(((-1,), "float64"), *memory.buffers[1:])),
        lambda memory: memory._replace(buffers=(((4,), "no dtype"), *memory.buffers[1:])),
        lambda memory: memory._replace(arena="much"),
    ],
)
def test_an_entry_whose_sizes_are_not_those_of_the_loop_is_none(damaged):
    x, W = T.matrix("x"), T.matrix("W")
    rows, _ = scanviz.scan(lambda x_t, h, W: T.dot(T.tanh(T.dot(x_t, W)) + h, W), x, T.zeros(4), [W])
    f = scanviz.function([x, W], rows, mode=scanviz.Mode("native", "none"))
    f(*VALUES)
    loop = loop_of(f)
    (made,) = next(iter(f.executable.flat.runners.values())).tier.all_made()
    handed, memory = made.written("plain").handed, made.memory
    assert any(kind == "buffer" for kind, _, _ in handed.addresses)
    assert kept_code.from_bytes(loop, kept_code.to_bytes(loop, handed, memory, b"code")) == (
        handed,
        memory,
        b"code",
    )
    assert kept_code.from_bytes(loop, kept_code.to_bytes(loop, handed, damaged(memory), b"code")) is None


def test_code_from_disk_can_be_looked_at():
    first, again = gates(), gates()
    first(*VALUES)
    again(*VALUES)
    texts = [
        next(iter(f.executable.flat.runners.values())).tier.all_made()[0].written("plain").text
        for f in (first, again)
    ]
    assert texts[0] == texts[1] and "define i64" in texts[1]


def test_a_process_that_finds_all_on_disk_imports_neither_llvm_nor_what_writes_code(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, numpy as np, scanviz\n"
        "from scanviz import tensor as T\n"
        "x = T.vector('x')\n"
        "y, _ = scanviz.scan(lambda x_t, y: T.tanh(x_t - y), x, np.float64(0))\n"
        "print(scanviz.function([x], y[-1], mode='native')(np.ones(5)).item().hex())\n"
        "late = 'llvmlite.binding', 'native.ir', 'native.loop', 'native.frame', 'native.operations', '_hashlib', 'json'\n"
        "print([name for name in sys.modules if name.endswith(late)])\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(scanviz.__file__).parents[1])}
    found = [
        subprocess.run(
            [sys.executable, str(script)], capture_output=True, text=True, env=environment, check=True
        )
        for _ in range(2)
    ]
    (first, written), (second, read) = (done.stdout.splitlines() for done in found)
    assert first == second
    assert "native.operations" in written and read == "[]"


@pytest.mark.parametrize(("rows", "parts"), [(64, [(64, 32)]), (50, [(50, 32), (50, 18)])])
def test_code_of_parts_that_threads_take_is_found_too(monkeypatch, rows, parts):
    monkeypatch.setattr(config.native, "threads", 2)
    x, h0 = T.tensor3("x"), T.matrix("h0")
    given = np.linspace(-1, 1, 50 * rows * 4).reshape(50, rows, 4), np.ones((rows, 4))
    written, usual = [], code.text_of

    def noted(loop, plan, kind, *rest, **more):
        written.append(kind.share)
        return usual(loop, plan, kind, *rest, **more)

    monkeypatch.setattr(code, "text_of", noted)
    found = []
    with parts_always():
        for expected in ([(1, 1), *parts], []):
            states, _ = scanviz.scan(lambda x_t, h: T.tanh(x_t - h), x, h0)
            f = scanviz.function([x, h0], states, mode="native")
            found += [f(*given), f(*given)]  # after the first it is known how long steps take
            (made,) = next(iter(f.executable.flat.runners.values())).tier.all_made()
            assert any(made.written("plain")._in_parts._made.values())
            assert written == expected
            written.clear()
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


def test_a_constant_of_another_value_is_other_code():
    first, second = gates(0.5), gates(0.25)
    first(*VALUES)
    assert not np.array_equal(first(*VALUES), second(*VALUES))
    assert why_of(second) == "machine code for the shapes met"


def test_other_shapes_are_other_code():
    gates()(*VALUES)
    x, W = T.matrix("x"), T.matrix("W")
    rows, _ = scanviz.scan(lambda x_t, W: T.dot(x_t, W), x, None, [W])
    f = scanviz.function([x, W], rows, mode=scanviz.Mode("native", "none"))
    narrow, wide = (f(np.ones((2, 4)), np.ones((4, n))) for n in (3, 5))
    assert narrow.shape == (2, 3) and wide.shape == (2, 5)


def kept_fields(value):
    untold = loop_key.UNTOLD.get(type(value), ())
    return [field.name for field in dataclasses.fields(value) if field.name not in untold]


def changed(value):
    """Return another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, tuple):
        return (*value, value[-1]) if value else (1,)
    if isinstance(value, str):
        return value + "_"
    return 1 if value is None else None


def test_whatever_a_loop_says_of_its_step_is_part_of_the_key():
    loop = loop_of(gates())
    met, kind = code.Met(((4,),), ((4,),)), code.Kind("plain")
    known = loop_key.key_of_loop(loop, met, kind)
    keys = [known, loop_key.key_of_loop(loop, met._replace(shapes=((5,),)), kind)]
    keys += [
        loop_key.key_of_loop(loop, met, other)
        for other in (code.Kind("steps"), kind._replace(inline=False), kind._replace(share=(64, 32)))
    ]
    for holder, put in (
        (loop, lambda found: found),
        (loop.body, lambda found: dataclasses.replace(loop, body=found)),
        (loop.states[0], lambda found: dataclasses.replace(loop, states=(found, *loop.states[1:]))),
        (
            loop.body.instructions[0],
            lambda found: dataclasses.replace(
                loop, body=dataclasses.replace(loop.body, instructions=(found, *loop.body.instructions[1:]))
            ),
        ),
    ):
        for name in kept_fields(holder):
            other = changed(getattr(holder, name))
            keys.append(loop_key.key_of_loop(put(dataclasses.replace(holder, **{name: other})), met, kind))
    assert None not in keys and len(set(keys)) == len(keys)


@pytest.mark.parametrize("what", ["described", "_files_of_the_engine"])
def test_another_processor_and_other_files_of_scanviz_are_another_key(monkeypatch, what):
    loop = loop_of(gates())
    known = loop_key.key_of_loop(loop)
    loop_key._made_here.cache_clear()
    monkeypatch.setattr(loop_key, what, lambda: "another")
    other = loop_key.key_of_loop(loop)
    monkeypatch.setattr(loop_key, what, lambda: None)
    loop_key._made_here.cache_clear()
    none = loop_key.key_of_loop(loop)
    loop_key._made_here.cache_clear()
    assert known != other and none is None


def test_the_target_that_a_user_names_is_part_of_the_key(monkeypatch):
    loop = loop_of(gates())
    known = loop_key.key_of_loop(loop)
    jit.target()
    monkeypatch.setenv("SCANVIZ_NATIVE_TARGET", "baseline")
    assert loop_key.key_of_loop(loop) != known
    if platform.machine() == "x86_64":  # code is for what its key says, also where that is set late
        assert jit.target() == ("x86-64", "", 16)


def test_a_file_that_changes_changes_the_key(monkeypatch, tmp_path):
    top = tmp_path / "engine"
    for folder in (*loop_key._WRITING, "backends/native/deeper"):
        (top / folder).mkdir(parents=True)
    for file in ("ops/one.py", *loop_key._ALONE):
        (top / file).write_text("1")
    monkeypatch.setattr(loop_key, "__file__", str(top / "backends" / "native" / "loop_key.py"))
    assert loop_key._files_of_the_engine() is None  # what was imported before may be another
    monkeypatch.setattr(starting, "BEGUN_NS", time.time_ns() + 10**12)
    keys = [loop_key._files_of_the_engine()]
    (top / "ops" / "one.py").write_text("12")
    keys.append(loop_key._files_of_the_engine())
    os.utime(top / "ops" / "one.py", (0, 0))
    keys.append(loop_key._files_of_the_engine())
    (top / "backends" / "native" / "deeper" / "two.py").write_text("")
    keys.append(loop_key._files_of_the_engine())
    (top / "backends" / "estimate.py").write_text("12")
    keys.append(loop_key._files_of_the_engine())
    assert None not in keys and len(set(keys)) == len(keys)
    for found in top.rglob("*.py"):
        found.unlink()
    assert loop_key._files_of_the_engine() is None  # there is byte code alone


RUNNING = {  # of what native code imports: how it is run, kept and told of, not what it is
    "backends.base", "backends.numpy", "backends.other_tier", "backends.short_calls", "config",
    "enumerated", "errors", "locks", "methods", "named_tuple", "observe", "slotted", "told",
}  # fmt: skip


def test_the_key_has_all_files_that_what_writes_code_imports():
    engine = Path(loop_key.__file__).parents[2]
    known = {*loop_key._WRITING, "backends/source", *(name.removesuffix(".py") for name in loop_key._ALONE)}
    known |= {name.replace(".", "/") for name in RUNNING}
    for file in (engine / "backends" / "native").glob("*.py"):
        imports = (node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ImportFrom))
        for module in (node.module or "" for node in imports):
            if module.startswith("scanviz.engine."):
                path = module.removeprefix("scanviz.engine.").replace(".", "/")
                assert any(f"{path}/".startswith(f"{name}/") for name in known), (file.name, module)


def window_from(start):
    """Return the rows of a loop with an operation of a user's, which looks at a part of what it reads."""
    with for_now():
        window = Declaration(
            "window",
            "user",
            arity=1,
            doc="Two numbers.",
            infer=lambda op, inputs: [inputs[0].type.with_shape((2,))],
            perform=lambda op, values: [values[0][start : start + 2]],
            shapes=lambda op, dims: [(2,)],
            views=0,
        )
        globals()["DECLARED"] = window  # a name of the user's module, as declarations have
        x = T.matrix("x")
        rows, _ = scanviz.scan(lambda x_t, h: h + build_one(Op(window), x_t), x, T.zeros(2))
        return scanviz.function([x], rows, mode="native")(np.arange(4.0).reshape(1, 4))[0].tolist()


def test_an_operation_of_a_user_that_is_another_now_is_not_found():
    assert [window_from(start) for start in (0, 1)] == [[0, 1], [1, 2]]


def test_all_operations_of_scanviz_have_keys_and_those_of_users_have_none():
    assert all(
        loop_key._is_ours(declaration)
        for declaration in declared_already()
        if "scanviz" in declaration.infer.__module__
    )
    op = next(
        instruction.op
        for instruction in loop_of(gates()).body.instructions
        if hasattr(instruction.op, "declaration")
    )
    foreign = object.__new__(type(op.declaration))
    for name in ("family", "infer", "name", "perform"):
        setattr(foreign, name, getattr(op.declaration, name))
    assert not loop_key._is_ours(foreign)


def test_an_entry_that_holds_something_else_is_written_anew(place):
    expected = gates()(*VALUES)
    for entry in list(place.iterdir()):
        cache.store(entry.name, b"no such thing")
    f = gates()
    np.testing.assert_array_equal(f(*VALUES), expected)
    assert why_of(f) == "machine code for the shapes met"
    assert why_of_again() == FROM_DISK


def why_of_again():
    f = gates()
    f(*VALUES)
    return why_of(f)


@pytest.mark.parametrize(
    "told",
    [b"", b"{}", b"[[]]", marshal.dumps([]), marshal.dumps([[]] * 9), marshal.dumps({}), marshal.dumps(5)],
)
def test_what_is_no_entry_is_told_from_one(told):
    for data in (
        told,
        len(told).to_bytes(8, "little") + told,
        len(told).to_bytes(8, "little") + told + b"code",
    ):
        assert kept_code.from_bytes(loop_of(gates()), data) is None


def test_errors_of_code_from_disk_are_those_of_code_that_was_written():
    def failing():
        x, at = T.matrix("x"), T.lvector("at")
        rows, _ = scanviz.scan(
            lambda x_t, k, h: T.ifelse(k < 9, h + scanviz.scan(lambda s, x_t: s + x_t[k], None, 0.0, [x_t], n_steps=2)[0][-1], h),
            [x, at], 0.0, name="picks",
        )  # fmt: skip
        return scanviz.function([x, at], rows, mode="native")

    told = []
    for _ in range(2):
        f = failing()
        f(np.ones((3, 4)), [0, 1, 3])
        with pytest.raises(Exception, match="picks") as raised:
            f(np.ones((3, 4)), [0, 4, 1])
        told.append(str(raised.value))
    assert told[0] == told[1] and why_of(f).startswith(FROM_DISK)


def test_runs_of_a_loop_inside_are_counted_in_code_from_disk():
    counted = []
    for _ in range(2):
        f = gates()
        f(*VALUES)
        with profile() as session:
            f(*VALUES)
        counted.append({loop.name: (loop.runs, loop.steps) for loop in session.record.loops})
    assert counted[0] == counted[1] and counted[0]["within"][0] == 3


def test_special_functions_are_found_by_code_from_disk():
    def made():
        x = T.vector("x")
        rows, _ = scanviz.scan(
            lambda x_t, h: T.erf(x_t + h) + T.fmod(x_t, 0.3) if hasattr(T, "fmod") else T.erf(x_t + h), x, 0.0
        )
        return scanviz.function([x], rows, mode="native")

    given = np.linspace(-2, 2, 9)
    first, again = made(), made()
    np.testing.assert_array_equal(first(given), again(given))
    assert why_of(again) == FROM_DISK


def test_code_that_calls_out_is_found_by_its_text():
    def made():
        x = T.tensor3("x")
        rows, _ = scanviz.scan(
            lambda x_t, h: T.tanh(T.linalg.eigh(x_t)[0] + h * T.exp(h) - T.sin(h)) * h + x_t[0], x, T.ones(3)
        )
        return scanviz.function([x], rows, mode="native")

    given = np.stack([np.eye(3) * k for k in (1.0, 2.0, 3.0)])
    first, again = made(), made()
    np.testing.assert_array_equal(first(given), again(given))
    assert "called out" in why_of(again) and "kept on disk" in why_of(again)


def test_processes_that_are_killed_while_they_compile_leave_nothing_wrong(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np, scanviz\n"
        "from scanviz import tensor as T\n"
        "print('begun', flush=True)\n"
        "for k in range(4):\n"
        "    x = T.vector('x')\n"
        "    y, _ = scanviz.scan(lambda x_t, y: T.tanh(x_t - y * (k + 1)), x, np.float64(0))\n"
        "    print(scanviz.function([x], y[-1], mode='native')(np.ones(5)).item().hex(), flush=True)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(scanviz.__file__).parents[1])}

    def started():
        return subprocess.Popen(
            [sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=environment
        )

    for pause in (0.02, 0.1, 0.2):
        killed = [started() for _ in range(2)]
        for process in killed:
            assert process.stdout.readline() == "begun\n"
        time.sleep(pause)
        for process in killed:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            process.stdout.close()
    whole = [started() for _ in range(2)]
    told = [process.communicate(timeout=300)[0] for process in whole]
    environment["SCANVIZ_NATIVE_CACHE"] = "off"
    expected = started().communicate(timeout=300)[0]
    assert told == [expected, expected] and all(process.returncode == 0 for process in whole)


def test_memory_of_code_that_nobody_holds_is_given_back():
    machine = jit.machine_of(jit.object_of(TEXT), False)
    assert machine.function(1, 2, None, None) == 7
    memory = machine.held[0]
    del machine
    assert memory.closed is False  # this test holds it
    assert tier.code_of is code.code_of


TEXT = "define i64 @scanviz_loop(i64 %a, i64 %b, ptr %c, ptr %d) {\n  ret i64 7\n}\n"
