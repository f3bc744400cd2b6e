"""Files of the tensor layer that are imported when first used: what is said of them beforehand is what is in them."""

from __future__ import annotations

import importlib
import inspect
import re

import pytest

from scanviz import tensor as T
from scanviz.engine.graph.syntax import LATER, MEANINGS


@pytest.mark.parametrize("file", T._LATER)
def test_names_that_are_there_later_are_those_of_the_file(file: str) -> None:
    module = importlib.import_module(f"scanviz.tensor.{file}")
    already = {name for part in T._PARTS for name in part.__all__}
    offered = set(T._LATER[file])
    assert offered == set(module.__all__) - already or file == "nnet"  # of which old scripts know three names
    for name in offered:
        assert getattr(T, name) is getattr(module, name)


@pytest.mark.parametrize("file", T._LATER)
def test_methods_that_are_there_later_are_those_of_the_file(file: str) -> None:
    module = importlib.import_module(f"scanviz.tensor.{file}")
    given = re.findall(r'"method:(\w+)"', inspect.getsource(module))
    assert sorted(given) == sorted(T._METHODS.get(file, ()))
    assert all(f"method:{name}" in LATER and f"method:{name}" in MEANINGS for name in given)


def test_all_public_names_are_there() -> None:
    assert [name for name in T.__all__ if not hasattr(T, name)] == []
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        T.nonsense  # noqa: B018
