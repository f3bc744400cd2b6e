"""``python -m scanviz`` is the ``scanviz`` command."""

import sys

from scanviz.cli import main

if __name__ == "__main__":
    sys.exit(main())
