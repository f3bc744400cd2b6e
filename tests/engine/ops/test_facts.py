"""Facts about operations are fields of their declarations, and nothing beside them lists operations."""

import ast
import importlib
import inspect
import pkgutil

import numpy as np
import pytest

import scanviz.engine
from scanviz import tensor as T
from scanviz.engine.graph.declaration import Declaration, declarations
from scanviz.engine.graph.facts import NOTHING_KNOWN
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration

MOST = 3  # operations that a rule may name where it matches them


def modules():
    for found in pkgutil.walk_packages(scanviz.engine.__path__, "scanviz.engine."):
        yield importlib.import_module(found.name)


MODULES = list(modules())
NAMES = {declaration.name for declaration in declarations()}
FAMILIES = {declaration.family for declaration in declarations()}


def is_list_of_operations(value):
    """Return whether a value lists operations or their names without their meanings."""
    if isinstance(value, dict):
        text = all(isinstance(each, (bool, int, float, str)) for each in value.values())
        return text and is_list_of_operations(set(value))
    if not isinstance(value, (set, frozenset, tuple, list)) or len(value) < 2:
        return False
    return all(isinstance(each, Declaration) for each in value) or (
        len(value) > 2 and all(isinstance(each, str) and each in NAMES for each in value)
    )


def listed(module):
    """Return the lists of operations among a module's names."""
    return [name for name, value in vars(module).items() if is_list_of_operations(value)]


def matched(module):
    """Return the lines where more than a few operations or families are named in a test."""
    tree = ast.parse(inspect.getsource(module))
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            among = node.comparators[0]
            if isinstance(among, (ast.Tuple, ast.Set, ast.List)) and any(
                is_about_operations(elt, module) for elt in among.elts
            ):
                families = all(isinstance(elt, ast.Constant) for elt in among.elts)
                if families or len(among.elts) > MOST:
                    yield f"{module.__name__}:{node.lineno}"


def is_about_operations(node, module):
    if isinstance(node, ast.Constant):
        return node.value in FAMILIES - {"index", "shape"}
    try:
        return isinstance(eval(ast.unparse(node), dict(vars(module))), Declaration)
    except Exception:
        return False


@pytest.mark.parametrize("module", MODULES, ids=lambda each: each.__name__)
def test_no_module_lists_operations_beside_their_declarations(module):
    assert listed(module) == [] and list(matched(module)) == []


def test_a_list_of_operations_would_be_seen():
    ops = list(declarations())[:2]
    assert is_list_of_operations(frozenset(ops)) and is_list_of_operations(dict.fromkeys(ops, True))
    assert is_list_of_operations(("exp", "log", "add")) and not is_list_of_operations(("exp", "nonsense"))
    assert not is_list_of_operations(dict.fromkeys(ops, len))


def test_every_elementwise_operation_declares_its_cost_and_overwritable_inputs():
    for declaration in declarations():
        if isinstance(declaration, ElementwiseDeclaration):
            facts = declaration.facts
            assert facts is not NOTHING_KNOWN and facts.flops is not None
            assert facts.overwrites >= declaration.arity and facts.foldable


@pytest.mark.parametrize("key", [np.s_[1:], np.s_[:, 0], np.s_[[0, 1]], np.s_[[0], 1:]], ids=str)
def test_facts_of_an_index_are_those_of_its_pattern(key):
    facts = T.matrix("x")[key].owner.op.facts
    view = np.shares_memory(array := np.zeros((3, 3)), array[key])
    assert facts.always_view == view == (facts.weight == "free") == (not facts.never_view)


WITHOUT_AXES = {
    **dict.fromkeys(("arange", "eye", "from_diagonal"), "of numbers, or one axis that becomes two"),
    **dict.fromkeys(("dimension", "make_vector", "broadcast_size"), "sizes and numbers"),
    "assert": "conditions may be of any shape, and each is looked at as a whole",
    **dict.fromkeys(("scan", "ifelse", "subgraph"), "programs inside are gone through instead"),
    **dict.fromkeys(("state_words", "words_state"), "random states"),
}


def test_every_operation_declares_its_axes_or_is_a_listed_exception():
    facts = {
        declaration.name: declaration.facts
        for declaration in declarations()
        if not callable(declaration.facts)
    }
    silent = {
        name
        for name, found in facts.items()
        if found.axes is None and not name.startswith(("draw_", "test_"))
    }
    assert silent == set(WITHOUT_AXES)
