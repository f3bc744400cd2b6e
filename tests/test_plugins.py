"""What another distribution adds is found by its entry points, when it is asked for, and a broken one is named with its distribution."""

import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.cli.export import main as export_command
from scanviz.cli.options import HelpWanted
from scanviz.cli.rewrites import _rules
from scanviz.engine.backends import registry
from scanviz.engine.errors import BackendError, PluginError
from scanviz.engine.graph.declaration import declared
from scanviz.engine.rewrites import families
from scanviz.engine.rewrites import rule as rules
from scanviz.engine.rewrites.families import all_rules
from scanviz.plugins import PluginFailure, plugins
from scanviz.profiler.export import export, format_named, formats
from scanviz.record.model import ProfileRecord
from tests.support.internals import temporary_declarations

OPERATION = """
    import numpy as np
    from scanviz.engine.ops.elementwise_declaration import elementwise
    from scanviz.engine.scalar.expression import x
    from scanviz.engine.scalar.formula import numbers

    cubed = elementwise("cubed", numbers(x * x * x), "x three times.", like=np.square)
"""
RULE = """
    from scanviz.engine.ops import elementwise as e
    from scanviz.engine.rewrites.rule import Match, rule


    @rule(name="sum_of_equals", phase="canonical", on=(e.add,))
    def sum_of_equals(node, level):
        \"\"\"Write a sum of equals as a product.\"\"\"
        left, right = node.inputs
        return Match({node.outputs[0]: e.multiply(left, 2.0)}, "x + x is 2 x") if left is right else None
"""
BACKEND = """
    from scanviz.engine.backends.reference import ReferenceBackend


    class Slow(ReferenceBackend):
        name = "slow"
"""
FORMAT = """
    from scanviz.profiler.export import Format

    FORMAT = Format(".loops.txt", "names of loops")


    def export(record):
        return {"": "".join(f"{loop.name}\\n" for loop in record.loops).encode()}
"""
POINTS = """
    [scanviz.ops]
    cubed = few_tools.operation
    quartered = few_tools.operation

    [scanviz.rewrites]
    sum_of_equals = few_tools.rewrite
    sum_of_nothing = few_tools.absent

    [scanviz.backends]
    slow = few_tools.backend:Slow
    slower = few_tools.backend:Slower

    [scanviz.exports]
    names = few_tools.names
    wrong = few_tools.rewrite
"""
METADATA = "Metadata-Version: 2.1\nName: few-tools\nVersion: 1.2\n"


def write(folder: Path) -> None:
    """Put a distribution into a folder as pip does."""
    files = {"operation": OPERATION, "rewrite": RULE, "backend": BACKEND, "names": FORMAT, "__init__": ""}
    (folder / "few_tools").mkdir()
    for name, text in files.items():
        (folder / "few_tools" / f"{name}.py").write_text(textwrap.dedent(text))
    (folder / "few_tools-1.2.dist-info").mkdir()
    (folder / "few_tools-1.2.dist-info" / "METADATA").write_text(METADATA)
    (folder / "few_tools-1.2.dist-info" / "entry_points.txt").write_text(textwrap.dedent(POINTS))


@pytest.fixture(autouse=True)
def installed(tmp_path, monkeypatch):
    """Install the distribution for one test."""
    write(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    all_rules()  # a file that is imported meanwhile would not be imported again
    monkeypatch.setattr(rules, "RULES", dict(rules.RULES))
    monkeypatch.setattr(rules, "OUTSIDE", [])
    for name in ("_factories", "_made", "_broken"):
        monkeypatch.setattr(registry, name, dict(getattr(registry, name)))
    with temporary_declarations():
        yield tmp_path
    for name in [name for name in sys.modules if name.split(".")[0] == "few_tools"]:
        del sys.modules[name]


def test_a_plugin_is_listed_with_its_distribution_and_version():
    assert plugins("scanviz.exports")["names"].distribution == "few-tools 1.2"


def test_a_rewrite_is_loaded_by_its_name_and_used_only_where_it_is_named():
    x = T.vector("x")
    plain = scanviz.function([x], x + x)
    assert "few_tools.rewrite" not in sys.modules
    asked = scanviz.function([x], x + x, mode=scanviz.Mode().including("sum_of_equals"))
    assert "sum_of_equals" in [done.rule for done in asked.rewrites]
    np.testing.assert_array_equal(asked([1.0, 2.0]), plain([1.0, 2.0]))
    again = scanviz.function([x], x + x)
    assert "sum_of_equals" not in [done.rule for done in again.rewrites], "it is loaded, and nobody asked"
    assert rules.RULES["sum_of_equals"].where == "few_tools/rewrite.py:6"
    including = scanviz.function([x], x + x, mode=scanviz.Mode().including("outside"))
    assert "sum_of_equals" in [done.rule for done in including.rewrites]


def test_a_rewrite_that_cannot_be_loaded_is_an_error_that_names_the_distribution():
    with pytest.raises(
        PluginError, match=r"'sum_of_nothing' of the distribution few-tools 1\.2 could not be loaded"
    ):
        scanviz.Mode().including("sum_of_nothing")
    assert len(families.load_outside()) == 1


def test_an_operation_of_a_saved_function_names_its_distribution():
    assert declared("cubed").name == "cubed"
    with pytest.raises(PluginError, match="importing few_tools.operation declared no operation of this name"):
        declared("quartered")


def test_a_backend_is_found_and_a_broken_one_names_its_distribution():
    x = T.vector("x")
    np.testing.assert_array_equal(scanviz.function([x], x * 2, mode="slow")([1.0]), [2.0])
    with pytest.raises(BackendError, match=r"'slower' of the distribution few-tools 1\.2.*AttributeError"):
        registry.resolve("slower")
    assert "few-tools 1.2" in registry.availability("slower").why


def test_an_export_format_is_found_and_a_broken_one_names_its_distribution():
    assert format_named("names").suffix == ".loops.txt"
    assert export(ProfileRecord(script="rnn.py", wall_ns=12), "names") == {"": b""}
    known, failed = formats()
    assert "names" in known and "wrong" not in known
    assert failed == [
        "the export format 'wrong' of the distribution few-tools 1.2 could not be loaded (few_tools.rewrite has no FORMAT, "
        "a Format, or no function export(record))"
    ]
    with pytest.raises(PluginFailure, match="few-tools"):
        export(ProfileRecord(), "wrong")


def test_commands_list_plugins_and_loading_errors():
    with pytest.raises(
        HelpWanted, match=r"names       names of loops\nthe export format 'wrong' of the distr"
    ):
        export_command(["--help"])
    listed = _rules()
    assert "  sum_of_equals\n      Write a sum of equals as a product." in listed
    assert "the rewrite 'sum_of_nothing' of the distribution few-tools 1.2 could not be loaded" in listed


def test_nothing_is_looked_up_while_functions_are_built_and_run(monkeypatch):
    monkeypatch.setattr("scanviz.plugins._installed", lambda group: pytest.fail(f"{group} was looked up"))
    x = T.vector("x")
    rows, _ = scanviz.scan(lambda a, b: a + b, x, 0.0)
    assert scanviz.function([x], [rows[-1], scanviz.grad(rows[-1], x)])([1.0])[0] == 1.0
