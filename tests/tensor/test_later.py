"""Files of the tensor layer imported on first use contain the names announced for them."""

import inspect
import re
import subprocess
import sys

import pytest

from scanviz import tensor as T
from scanviz.engine.graph.syntax import MEANINGS


@pytest.mark.parametrize("file", T._LAZY)
def test_lazily_imported_names_are_those_of_the_file(file: str) -> None:
    module = T._file(file)
    for name in T._LAZY[file]:
        assert getattr(T, name) is getattr(module, name)
    own = {name for name, each in vars(module).items() if getattr(each, "__module__", "") == module.__name__}
    documented = {name for name in own if name[0] != "_" and ">>> " in (getattr(module, name).__doc__ or "")}
    public = {*T.__all__, *T.nnet.__all__}
    assert file.startswith(".engine") or documented <= public, "a function that nobody finds"


@pytest.mark.parametrize("file", sorted({*T._LAZY, *T._MEANINGS}))
def test_lazily_imported_operators_and_methods_are_those_of_the_file(file: str) -> None:
    given = [
        name
        for called in re.findall(r"meaning\((.*?)\)", inspect.getsource(T._file(file)))
        for name in re.findall(r'"(.*?)"', called)
    ]
    assert sorted(given) == sorted(T._MEANINGS.get(file, ()))
    assert all(name in MEANINGS for name in given)


def test_functions_of_elementwise_operations_are_made_on_first_use():
    code = """
from scanviz import tensor as T
from scanviz.engine.graph.syntax import MEANINGS
made = set(vars(T._elementwise))
x = T.vector("x")
assert "multiply" not in MEANINGS and "tanh" not in made
T.tanh(2 * x)
assert set(vars(T._elementwise)) - made == {"multiply", "tanh"}
assert T.abs is T.absolute is T._elementwise.abs_ and T.tanh is T._elementwise.tanh
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        T.nonsense  # noqa: B018
