"""Declarations, ops with parameters, and tables of meanings."""

import importlib
import importlib.util
import pickle
import sys
from typing import NamedTuple

import pytest

from scanviz import tensor as T
from scanviz.engine.backends.native.emit.instructions import WRITE
from scanviz.engine.backends.numpy.emit import EMIT
from scanviz.engine.errors import InternalError, ScanvizNotImplementedError
from scanviz.engine.gradient.sweeps.choices import CHOICES
from scanviz.engine.gradient.table import PULLBACKS
from scanviz.engine.graph import declaration
from scanviz.engine.graph.declaration import Declaration, Op, declarations, declared
from scanviz.engine.graph.meaning_table import MeaningTable
from scanviz.engine.rewrites.rule import OUTSIDE, RULES
from tests.support.internals import missing_rows


class Parameters(NamedTuple):
    axis: int | None = None
    keepdims: bool = False


def add():
    return declared("add")


def test_every_declaration_is_found_by_its_name_and_documented():
    all_of_them = list(declarations())
    assert len({each.name for each in all_of_them}) == len(all_of_them) > 100
    for each in all_of_them:
        assert declared(each.name) is each and each.doc and each.family


def test_a_name_can_be_declared_once_only():
    with pytest.raises(InternalError, match="declared twice"):
        Declaration("add", "elementwise", arity=2, doc="", infer=lambda op, i: [], perform=lambda op, v: [])


INTERRUPTED = """
from scanviz.engine.graph.declaration import Declaration
from scanviz.engine.rewrites.rule import rule

made = Declaration("{name}", "elementwise", arity=1, doc="", infer=lambda op, i: [], perform=lambda op, v: [])

@rule(name="{name}", phase="canonical", on=(made,))
def act(node, level):
    return None

open("{ctrl_c}").close()
"""


@pytest.fixture
def interrupted(monkeypatch, tmp_path):
    """Name a module that declares an operation and a rule, and whose import ends with an error once."""
    name, ctrl_c = "imported_until_ctrl_c", tmp_path / "ctrl_c"
    (tmp_path / f"{name}.py").write_text(INTERRUPTED.format(name=name, ctrl_c=ctrl_c))
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(FileNotFoundError):
        importlib.import_module(name)
    ctrl_c.touch()
    yield name
    declaration._REGISTRY.pop(name)
    RULES.pop(name)
    OUTSIDE.remove(name)
    sys.modules.pop(name)


def test_an_interrupted_import_of_a_module_can_be_repeated(interrupted):
    module = importlib.import_module(interrupted)
    assert declared(interrupted) is module.made and RULES[interrupted].act is module.act
    assert OUTSIDE.count(interrupted) == 1
    with pytest.raises(InternalError, match="declared twice"):
        module.Declaration(interrupted, "elementwise", arity=1, doc="", infer=None, perform=None)
    with pytest.raises(InternalError, match="written twice"):
        module.rule(name=interrupted, phase="canonical", on=(module.made,))(module.act)


def test_an_unknown_name_is_refused():
    with pytest.raises(ScanvizNotImplementedError, match="nonsense"):
        declared("nonsense")


def test_ops_are_equal_if_declaration_and_parameters_are():
    assert Op(add(), Parameters(1)) == Op(add(), Parameters(1)) != Op(add(), Parameters(2))
    assert hash(Op(add(), Parameters(1))) == hash(Op(add(), Parameters(1)))
    assert Op(add()) != Op(declared("multiply")) and Op(add()) != "add"


def test_an_op_prints_the_parameters_that_are_set():
    assert str(Op(add(), Parameters(1))) == "add{axis=1, keepdims=False}"
    assert (str(Op(add())), repr(Op(add()))) == ("add", "Op(add)")
    assert str(T.vector("x")[1:].owner.op) == "index[1:]"


def test_an_op_pickles_by_name():
    op = T.sum(T.matrix("x"), axis=1).owner.op
    again = pickle.loads(pickle.dumps(op))
    assert again == op and again.declaration is op.declaration


@pytest.mark.parametrize("table", [PULLBACKS, CHOICES, EMIT, WRITE], ids=lambda table: table.meaning)
def test_a_lazily_imported_file_has_rows_of_its_own_operations_alone(monkeypatch, table):
    place = "scanviz." + table.places[0].removesuffix(".py").replace("/", ".")
    families = sorted({declaration.family for declaration in declarations()})
    families = [family for family in families if importlib.util.find_spec(place.format(family=family))]
    for family in families:
        importlib.import_module(place.format(family=family))
    met = set()
    monkeypatch.setattr(
        MeaningTable, "row", lambda self, *keys: met.update(keys) or (lambda row: row)
    )  # of whatever table: a file fills several

    def of_a_kind(self, kind):
        met.update(one for one in declarations() if type(one) is kind)
        return lambda row: row

    monkeypatch.setattr(MeaningTable, "kind", of_a_kind)
    for family in families:
        found = importlib.util.find_spec(place.format(family=family))
        found.loader.exec_module(importlib.util.module_from_spec(found))  # again, beside the one that counts
        found = {(declared(key) if isinstance(key, str) else key).family for key in met}
        assert found == {family}
        met.clear()


def test_a_table_gives_rows_and_names_missing_rows():
    table = MeaningTable("meaning of tests", "tests/{family}.py")
    table.row(add(), declared("multiply"))("row")
    assert table[add()] == table.get(declared("multiply")) == "row"
    assert add() in table and declared("tanh") not in table and "add" not in table
    assert "tanh" in missing_rows(table) and "add" not in missing_rows(table)
    assert table.get(declared("tanh")) is None
    with pytest.raises(ScanvizNotImplementedError, match=r"tests/elementwise\.py"):
        table[declared("tanh")]


def test_the_order_of_operations_is_independent_of_the_import_order():
    found = [(each.family, each.name) for each in declarations()]
    assert found == sorted(found)
