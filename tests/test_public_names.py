"""dir() of a public module shows what is offered there, and nothing that it only imports."""

import importlib
import inspect
import pkgutil

import pytest

import scanviz

PACKAGES = [
    "scanviz",
    *(package.name for package in pkgutil.walk_packages(scanviz.__path__, "scanviz.") if package.ispkg),
]
OFFERING = [
    name for name in PACKAGES if not name.startswith("scanviz.engine") and hasattr(importlib.import_module(name), "__all__")
]  # fmt: skip


def modules():
    """Public packages with ``__all__``, and the modules among their names."""
    found = {name: importlib.import_module(name) for name in OFFERING}
    for module in list(found.values()):
        for name in module.__all__:
            inner = getattr(module, name)
            if inspect.ismodule(inner):
                found[inner.__name__] = inner
    return sorted(found.items())


def test_public_modules_include_those_that_users_import():
    names = dict(modules())
    assert {
        "scanviz",
        "scanviz.tensor",
        "scanviz.tensor.nnet",
        "scanviz.tensor.linalg",
        "scanviz.tensor.random",
    } <= set(names)
    assert {"scanviz.testing", "scanviz.profiler"} <= set(names)


@pytest.mark.parametrize(("name", "module"), modules())
def test_dir_shows_public_names_alone(name, module):
    shown = {each for each in dir(module) if not each.startswith("__")}
    assert shown == set(module.__all__)
    for each in shown:
        assert getattr(module, each) is not None
