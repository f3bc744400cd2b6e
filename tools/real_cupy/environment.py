"""An environment in which CuPy itself runs on the host.

It is a virtual environment with the wheel of CuPy.  One module of the wheel, ``cupy_backends.cuda.api.runtime``, holds the runtime
of CUDA and is compiled again, from the source package of CuPy; it and all others then load libraries built from the C++ files here.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CUPY, CYTHON = "14.2.0", "3.2.4"  # the Cython that the wheel of this CuPy was made with
HEADERS = ("nvidia-cuda-runtime", "nvidia-cuda-crt", "nvidia-cuda-cccl", "nvidia-cuda-profiler-api")
NVRTC = "nvidia-cuda-nvrtc"  # for tests of machine code alone, which leave host_cupy out
CUDA = "13.0.*"
SOURCES = sorted(path for path in HERE.iterdir() if path.suffix in (".cpp", ".h"))
LIBRARIES = {
    "cublas": "libcublas.so.13",
    "cusolver": "libcusolver.so.12",
    "cusparse": "libcusparse.so.12",
    "curand": "libcurand.so.10",
}
START = 'import os; os.environ.get("HOST_CUPY") == "off" or __import__("host_cupy")'
NOT_SUPPORTED = {"cu": 801, "nvrtc": 3, "cublas": 15, "cusolver": 15, "cusparse": 10, "curand": 202}
CYTHON_CONSTANTS = {
    "CUPY_CUDA_VERSION": 13000,
    "CUPY_HIP_VERSION": 0,
    "CUPY_USE_CUDA_PYTHON": False,
    "CUPY_CUFFT_STATIC": False,
    "CUPY_CYTHON_VERSION": CYTHON,
}
CYTHON_DIRECTIVES = ("binding=False", "c_api_binop_methods=True", "freethreading_compatible=True")


class Environment:
    """The environment in a folder.

    Parameters
    ----------
    folder : Path
        Where it is or will be; some 900 MB, and compiled kernels.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.python = self.folder / "venv" / "bin" / "python"
        self.host = self.folder / "host"  # C++ sources and the libraries made of them
        self.source = self.folder / "cupy"
        self.stamp = self.folder / "built"

    def prepare(self) -> None:
        """Build missing parts, or parts older than their recipe; exit with a sentence if a tool is missing."""
        missing = [tool for tool in ("g++", "nm") if shutil.which(tool) is None]
        if missing:
            sys.exit(
                f"real_cupy needs {' and '.join(missing)}: install a C++ compiler (on Debian: apt install g++)"
            )
        recipe = self._recipe()
        if not self.stamp.exists() or self.stamp.read_text() != recipe:
            print(f"building {self.folder} (a few minutes, once)", flush=True)
            self.stamp.unlink(missing_ok=True)
            self._install()
            self._build()
            self.stamp.write_text(recipe)
        self._enter_at_start()

    def variables(self) -> dict[str, str]:
        """Return the variables of processes in the environment."""
        kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        return {**kept, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}

    def _recipe(self) -> str:
        parts = [sys.version, os.environ.get("CUDA_PATH", ""), *requirements()]
        parts += [path.read_text() for path in (Path(__file__), *SOURCES)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def _install(self) -> None:
        site = self.folder / "venv" / "lib"
        for start in site.glob("python*/site-packages/host_cupy.*"):
            start.unlink()  # CuPy is not there, or not whole, while pip works
        if not self.python.exists():
            ran([sys.executable, "-m", "venv", str(self.folder / "venv")])
        headers = () if os.environ.get("CUDA_PATH") else HEADERS
        pip = [str(self.python), "-m", "pip", "--disable-pip-version-check", "-q"]
        of_cuda = [f"{name}=={CUDA}" for name in (NVRTC, *headers)]
        ran([*pip, "install", f"cupy-cuda13x=={CUPY}", f"Cython=={CYTHON}", *of_cuda, *requirements()])
        if not list(self.folder.glob("cupy-*.tar.gz")):
            source = ["download", "--no-deps", "--no-binary", "cupy", f"cupy=={CUPY}", "-d", str(self.folder)]
            ran([*pip, *source], CUPY_INSTALL_USE_STUB="1")  # none of its extension modules is built
        shutil.unpack_archive(next(self.folder.glob("cupy-*.tar.gz")), self.source, filter="data")

    def _build(self) -> None:
        self.host.mkdir(exist_ok=True)
        for path in (*SOURCES, HERE / "host_cupy.py"):
            shutil.copy(path, self.host)
        (self.host / "kernel_headers.h.gch").unlink(missing_ok=True)
        (self.host / "cuda_path").write_text(str(self.cuda()))
        self._build_runtime()
        names = self._names("cuda/libs/_cnvrtc.pxi")
        self._link("libnvrtc.so.13", "host_nvrtc.cpp", "nvrtc", (f"nvrtc{name}" for name in names))
        for name, library in LIBRARIES.items():
            module = self._wheel(f"cupy_backends/cuda/libs/{name}")
            needed = (symbol.partition("@")[0] for symbol in symbols(module, "-D", "--undefined-only"))
            self._link(library, f"host_{name}.cpp", name, (each for each in needed if each.startswith(name)))

    def _build_runtime(self) -> None:
        """Build the driver and runtime, and CuPy's module that is linked with them."""
        module = self._compiled_runtime()
        names = self._names("cuda/api/_driver_extern.pxi")
        needed = {
            *symbols(module, "--undefined-only"),
            *(f"cu{name}{end}" for name in names for end in ("", "_v2")),
        }
        self._link(
            "libcuda.so.1",
            "host_cuda.cpp",
            "cu",
            (each for each in needed if re.match(r"cu(da)?[A-Z]", each)),
        )
        target = self._wheel("cupy_backends/cuda/api/runtime")
        libraries = [f"-L{self.host}", "-l:libcuda.so.1", f"-Wl,-rpath,{self.host}"]
        ran(["g++", "-shared", module, "-o", target, *libraries])

    def _names(self, file: str) -> list[str]:
        """Return the ends of the names of functions that CuPy looks up in a library when it is imported."""
        return re.findall(r"_L\.get\(f?'(\w+)", self._cupy_file(file).read_text())

    def _compiled_runtime(self) -> Path:
        """Return the object file of CuPy's module of the runtime."""
        source = self._cupy_file("cuda/api/runtime.pyx")
        constants = ",".join(f"{name}={value}" for name, value in CYTHON_CONSTANTS.items())
        directives = [word for directive in CYTHON_DIRECTIVES for word in ("-X", directive)]
        cython = [self.python, "-m", "cython", "-3", "--cplus", source, "-E", constants, *directives]
        ran([*cython, "-o", source.with_suffix(".cpp")], cwd=source.parents[3])
        includes = self._asked(
            "import sysconfig, numpy; print(sysconfig.get_paths()['include'], numpy.get_include())"
        )
        defines = ['-DCYTHON_EXTERN_C=extern "C"', "-DNPY_TARGET_VERSION=NPY_2_0_API_VERSION"]
        options = [*(f"-I{folder}" for folder in includes.split()), *defines]
        return self._compiled(source.with_suffix(".cpp"), "-O0", "-std=c++17", *options)

    def _compiled(self, source: Path, *options: str) -> Path:
        found = self.host / f"{source.stem}.o"
        ran(["g++", "-fPIC", "-w", "-c", f"-I{self.cuda()}/include", *options, source, "-o", found])
        return found

    def _link(self, library: str, source: str, kind: str, needed: Iterable[str]) -> None:
        """Make a library of a source file, if there is one, and functions that answer "not supported" for other names."""
        written = self.host / source
        own = [self._compiled(written, "-O1")] if written.exists() else []
        defined = {name for path in own for name in symbols(path, "--defined-only")}
        answers = [
            f"int {name}() {{ return {NOT_SUPPORTED[kind]}; }}\n" for name in sorted({*needed} - defined)
        ]
        rest = self.host / f"{library}.rest.cpp"
        rest.write_text(f'extern "C" {{\n{"".join(answers)}}}\n')
        version = self.host / f"{library}.version"
        version.write_text(f"{library if kind in LIBRARIES else ''} {{ global: *; }};")
        options = ["-fPIC", "-shared", f"-Wl,-soname,{library}", f"-Wl,--version-script={version}"]
        ran(["g++", *options, rest, *own, "-o", self.host / library, "-ldl"])

    def _enter_at_start(self) -> None:
        """Let each Python of the environment begin with ``host_cupy``, so that commands and their children need no option."""
        text = (HERE / "host_cupy.py").read_text()
        if not (kept := self.host / "host_cupy.py").exists() or kept.read_text() != text:
            kept.write_text(text)
        purelib = next((self.folder / "venv" / "lib").glob("python*/site-packages"))
        (purelib / "host_cupy.pth").write_text(f"{self.host}\n{START}\n")

    def cuda(self) -> Path:
        """Return the folder whose ``include`` has CUDA's headers."""
        given = os.environ.get("CUDA_PATH")
        found = Path(given) if given else self._site() / "nvidia" / "cu13"
        header = found / "include" / "cuda.h"
        if not header.exists() or "#define CUDA_VERSION 13" not in header.read_text(errors="replace"):
            sys.exit(
                f"real_cupy needs the headers of CUDA 13, and {header} is not theirs: set CUDA_PATH, or leave it unset"
            )
        return found

    def _site(self) -> Path:
        return next((self.folder / "venv" / "lib").glob("python*/site-packages"))

    def _wheel(self, module: str) -> Path:
        return next(self._site().glob(f"{module}.*.so"))

    def _cupy_file(self, name: str) -> Path:
        return self.source / f"cupy-{CUPY}" / "cupy_backends" / name

    def _asked(self, code: str) -> str:
        return subprocess.run([self.python, "-c", code], capture_output=True, text=True, check=True).stdout


def requirements() -> list[str]:
    """Return what scanviz and its tests need, but for what its other extras do."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["test"]]
    return [each for each in wanted if not each.startswith(project["name"])]


def symbols(path: Path, *options: str) -> set[str]:
    """Return names that an object file or a library defines or needs."""
    listed = subprocess.run(["nm", *options, path], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in listed.splitlines() if line.strip()}


def ran(command: list[str | Path], cwd: Path | None = None, **variables: str) -> None:
    """Run a command, or exit with its output."""
    done = subprocess.run(command, cwd=cwd, env={**os.environ, **variables}, capture_output=True, text=True)
    if done.returncode:
        sys.exit(
            f"real_cupy: this failed: {' '.join(map(str, command))}\n{(done.stdout + done.stderr)[-4000:]}"
        )
