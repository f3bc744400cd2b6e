"""The type stubs of generated functions are what tools/make_stubs.py writes."""

import importlib.util
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "make_stubs.py"


def test_the_stubs_are_up_to_date():
    spec = importlib.util.spec_from_file_location("make_stubs", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for path, text in module.stubs().items():
        assert path.read_text(encoding="utf-8") == text, f"run python {TOOL.name}: {path.name} is out of date"
