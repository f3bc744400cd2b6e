"""``python tools/real_cupy``: run the GPU's tests on CuPy itself, on a machine without a GPU.

It runs ``benchmarks/gpu.py --check``, whose parts and options it takes, in an environment where CuPy runs on the host.
Environment and kernels are kept in a folder, so later runs are shorter.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from environment import ROOT, Environment


def main() -> int:
    """Prepare the environment, run the parts, and return 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python tools/real_cupy", description=__doc__)
    parser.add_argument("--seconds", default="600", help="how long laws are searched (default: 600)")
    parser.add_argument("--folder", type=Path, default=ROOT / ".real_cupy", help="default: .real_cupy")
    given, others = parser.parse_known_args()
    environment = Environment(given.folder)
    environment.prepare()
    command = [
        environment.python,
        ROOT / "benchmarks" / "gpu.py",
        "--check",
        "--seconds",
        given.seconds,
        *others,
    ]
    return subprocess.run(command, env=environment.variables(), check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
