"""What must hold of whatever can be drawn, one file a family; ``python -m tests.laws`` searches for hours.

Examples
--------
>>> from tests.laws import all_laws
>>> [law.name for law in all_laws(["loops"])][0]
'a_loop_agrees_with_a_plain_python_loop'
"""

import pkgutil
from importlib import import_module

from tests.laws.law import Law, all_laws, law

for _file in pkgutil.iter_modules(__path__, f"{__name__}."):
    if not _file.name.endswith("__main__"):
        import_module(_file.name)

__all__ = ["Law", "all_laws", "law"]
