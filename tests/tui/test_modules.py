"""Each module can be imported on its own, in whatever order."""

import pkgutil
import subprocess
import sys

import scanviz.tui

ALONE = """
import importlib, sys
for name in sys.argv[1:]:
    for known in [each for each in sys.modules if each.startswith("scanviz.tui")]:
        del sys.modules[known]
    importlib.import_module(name)
"""


def test_each_module_can_be_imported_first():
    names = [package.name for package in pkgutil.walk_packages(scanviz.tui.__path__, "scanviz.tui.")]
    assert "scanviz.tui.asking" in names
    done = subprocess.run(
        [sys.executable, "-c", ALONE, *names], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
