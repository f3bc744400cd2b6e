"""Tiers run the instructions that they report as supported, and no others."""

import random

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends import registry
from scanviz.engine.backends.base import supported_by
from scanviz.engine.backends.cupy import CupyBackend, compile_for
from scanviz.engine.backends.cupy.executable import device_executable
from scanviz.engine.backends.cupy.table import CUPY
from scanviz.engine.backends.reference import ReferenceBackend
from scanviz.engine.backends.tiers import check_support, refused_by, tiers_of, unsupported
from scanviz.engine.errors import ScanvizNotImplementedError
from scanviz.engine.graph.declaration import declarations, declared
from scanviz.engine.graph.meaning_table import MeaningTable
from scanviz.engine.ops.control import ifelse
from scanviz.engine.program.instructions import LoopInstruction
from scanviz.engine.program.lower import lower
from scanviz.engine.program.printer import Notes, program_text
from tests.engine.backends.cupy.stand_in import LIBRARY
from tests.support.graphs import grown

X, V = T.matrix("x"), T.vector("v")
OWN = MeaningTable("meaning of mine", "mine/{family}.py")
OWN.row(*(declared(name) for name in ("add", "dimension", "index", "greater", "cast")))(lambda: None)


class Mine(ReferenceBackend):
    """A tier of a third party that has a few operations."""

    name = "mine"
    supports = staticmethod(supported_by(OWN))

    def compile(self, program):
        check_support(program, self.name, self.supports)
        return super().compile(program)


@pytest.fixture(autouse=True)
def tiers(monkeypatch):
    for name in ("_factories", "_made", "_broken"):
        monkeypatch.setattr(registry, name, {})
    registry.register("mine", Mine)


def instructions(outputs):
    program = lower([X, V], list(outputs), "f")
    return program, program.instructions


def test_built_in_tiers_run_every_declared_operation():
    silent = [
        declaration.name
        for declaration in declarations()
        if declaration not in CUPY and not declaration.name.startswith("test_")
    ]
    assert set(silent) <= {"scan", "subgraph"}  # an instruction of its own, and one already lowered
    program, (add, exp) = instructions([T.exp(X + X)])
    for each in (add, exp):
        found = tiers_of(each, program, ["reference", "numpy", "cupy"])
        assert [support.runs for support in found.values()] == [True] * 3


def test_a_third_party_tier_supports_the_operations_of_its_table():
    program, (add, exp) = instructions([T.exp(X + X)])
    assert tiers_of(add, program)["mine"].runs
    assert tiers_of(exp, program)["mine"] == (False, "`exp` has no meaning of mine")


def test_a_tier_runs_loops_and_branches_whose_operations_it_supports():
    rows, _ = scanviz.scan(lambda x, v: T.tanh(x + v), X, V, name="rnn")
    program, all_of_it = instructions([rows, ifelse(V[0] > 0, V + 1.0, T.exp(V))])
    (loop,) = (each for each in all_of_it if isinstance(each, LoopInstruction))
    assert tiers_of(loop, program)["mine"].why == "`tanh` in it: `tanh` has no meaning of mine"
    assert tiers_of(all_of_it[-1], program)["mine"].why == "`exp` in it: `exp` has no meaning of mine"
    rows, _ = scanviz.scan(lambda x, v: T.tanh(x + v), X, V, mode="numpy")
    program, all_of_it = instructions([rows])
    (loop,) = (each for each in all_of_it if isinstance(each, LoopInstruction))
    assert tiers_of(loop, program)["mine"].runs  # another tier is asked to run it


def test_an_unsupported_operation_is_an_error_with_its_loop_and_line():
    rows, _ = scanviz.scan(lambda x, v: T.tanh(x + v), X, V, name="rnn")
    with pytest.raises(
        ScanvizNotImplementedError, match="the backend 'mine' has no 'tanh', used in loop `rnn`"
    ) as caught:
        scanviz.function([X, V], rows, mode=scanviz.Mode("mine", "none"))
    text = str(caught.value)
    assert "test_tiers.py" in text and "`tanh` has no meaning of mine" in text


def test_a_listing_prints_operations_that_some_tiers_lack():
    rows, _ = scanviz.scan(lambda x, v: T.tanh(x + v), X, V, name="rnn")
    program, _ = instructions([rows])
    lines = program_text(program, notes=Notes(refused=refused_by()), lines=False).splitlines()
    (tanh,) = (line for line in lines if "tanh(" in line)
    assert tanh.endswith("not on mine: `tanh` has no meaning of mine")
    assert sum("not on mine" in line for line in lines) == 2  # the loop, and the operation in it
    assert "not on" not in program_text(program, notes=Notes(refused=refused_by(["numpy", "cupy"])))


def test_a_tier_that_fails_to_load_or_has_no_table_is_skipped():
    def breaks():
        raise RuntimeError("no licence file")

    registry.register("broken", breaks)
    registry.register("silent", type("Silent", (ReferenceBackend,), {"name": "silent"}))
    program, (exp,) = instructions([T.exp(X)])
    assert "broken" not in tiers_of(exp, program)
    assert tiers_of(exp, program)["silent"].runs
    assert CupyBackend().supports(exp, program).runs  # asked of its table, whether or not there is a device


@pytest.mark.parametrize("seed", range(25))
def test_the_reported_support_of_a_program_agrees_with_its_run(seed, monkeypatch):
    choose, case = random.Random(seed), grown(seed, 12)
    program = lower(case.inputs, case.outputs, "f")
    names = sorted({instruction.op.name for instruction in program.instructions})
    hidden = set(choose.sample(names, min(choose.randint(0, 2), len(names))))
    whole = MeaningTable.get
    monkeypatch.setattr(
        MeaningTable,
        "get",
        lambda table, key: None if table is CUPY and key.name in hidden else whole(table, key),
    )
    text = {
        found.instruction.op.name
        for instruction in program.instructions
        for found in unsupported(instruction, program, "cupy", CupyBackend().supports)
    }
    assert text == hidden
    for build in (compile_for, device_executable):  # the second looks at nothing before it needs it
        if hidden:
            with pytest.raises(ScanvizNotImplementedError):
                build(program, LIBRARY, "cupy").run([np.asarray(row) for row in case.rows[0]], None)
        else:
            build(program, LIBRARY, "cupy").run([np.asarray(row) for row in case.rows[0]], None)
