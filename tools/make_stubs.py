"""Write the type stubs of modules whose functions are made from tables: run it after adding an op or a constructor.

    python tools/make_stubs.py

A test (tests/tensor/test_stubs.py) fails where they are out of date.
"""

from __future__ import annotations

import inspect
from pathlib import Path

from scanviz.tensor import constructors, elementwise

ROOT = Path(__file__).resolve().parent.parent / "scanviz" / "tensor"


def elementwise_stub() -> str:
    """Return the stub of scanviz.tensor.elementwise."""
    lines = ["from typing import Any", "", "from scanviz.engine.graph.nodes import Variable", ""]
    for name in sorted(elementwise.__all__):
        signature = inspect.signature(getattr(elementwise, name))
        parts = []
        for parameter in signature.parameters.values():
            default = "" if parameter.default is inspect.Parameter.empty else " = ..."
            kind = "Any" if parameter.annotation is inspect.Parameter.empty else str(parameter.annotation)
            parts.append(f"{parameter.name}: {kind}{default}")
        lines.append(f"def {name}({', '.join(parts)}) -> Variable: ...")
    return "\n".join([*lines, "", _names(elementwise.__all__), ""])


def constructors_stub() -> str:
    """Return the stub of scanviz.tensor.constructors."""
    lines = ["from typing import Any", "", "from scanviz.engine.graph.nodes import Constant, Variable", ""]
    fixed = {
        "tensor": "dtype_or_name: object = ..., /, shape: Any = ..., name: str | None = ..., *, dtype: object = ...",
        "constant": "value: Any, name: str | None = ..., dtype: object = ...",
        "as_tensor": "value: Any, name: str | None = ..., dtype: object = ...",
        "as_tensor_variable": "value: Any, name: str | None = ..., dtype: object = ...",
    }
    for name in sorted(constructors.__all__):
        plural = name.endswith("s") and name not in fixed
        parameters = fixed.get(
            name,
            "*names: Any, dtype: object = ..."
            if plural
            else "name: str | None = ..., dtype: object = ..., shape: Any = ...",
        )
        result = "list[Variable]" if plural else "Constant" if name == "constant" else "Variable"
        lines.append(f"def {name}({parameters}) -> {result}: ...")
    return "\n".join([*lines, "", _names(constructors.__all__), ""])


def _names(names: list[str]) -> str:
    return "__all__ = [\n" + "".join(f'    "{name}",\n' for name in sorted(names)) + "]"


def stubs() -> dict[Path, str]:
    """Return the text of each stub by its path."""
    return {ROOT / "elementwise.pyi": elementwise_stub(), ROOT / "constructors.pyi": constructors_stub()}


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text, encoding="utf-8")
        print("wrote", path.name)
