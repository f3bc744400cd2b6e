"""CuPy on the host: its kernels are compiled by g++, and NumPy stands in for a part of cuSOLVER and for Thrust.

Every Python of the environment imports this at its start (``environment.py``).  What CuPy does before a kernel runs stays CuPy's:
types, promotion, shapes, indexing, ``out=``, refusals, and the kernel's text.
"""

from __future__ import annotations

import ctypes
import hashlib
import inspect
import os
import re
import subprocess
import sys
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
CUDA = (HERE / "cuda_path").read_text()
KERNELS = HERE.parent / "kernels"
LIBRARIES = {
    "cublas": "libcublas.so.13",
    "cublasLt": "libcublas.so.13",
    "cusolver": "libcusolver.so.12",
    "cusparse": "libcusparse.so.12",
    "curand": "libcurand.so.10",
    "nvrtc": "libnvrtc.so.13",
}
os.environ.setdefault("CUDA_PATH", CUDA)
os.environ["CUPY_ACCELERATORS"] = ""  # no CUB

# A request for the driver or a library of CUDA by name returns the one loaded first.
DRIVER = ctypes.CDLL(str(HERE / "libcuda.so.1"), mode=ctypes.RTLD_GLOBAL)
DRIVER.host_counter.restype = ctypes.c_long

import cuda.pathfinder as pathfinder  # noqa: E402
import numpy as np  # noqa: E402


def load_library(name: str) -> Any:
    """Load a library of CUDA: the one built here."""
    path = HERE / LIBRARIES.get(name, "libcuda.so.1")
    library = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    return types.SimpleNamespace(_handle_uint=library._handle, abs_path=str(path), library=library)


pathfinder.load_nvidia_dynamic_lib = load_library

import cupy  # noqa: E402
import cupyx  # noqa: E402  # lazy in CuPy: a module of it that is imported before it is used would be imported twice
from cupy.cuda import compiler, function  # noqa: E402
from cupy.linalg import _util  # noqa: E402


class Counts(NamedTuple):
    """The device's work so far: kernels launched, memory allocated, copies each way, waits."""

    launches: int
    allocations: int
    to_device: int
    to_host: int
    waits: int


def counts() -> Counts:
    """Return the device's work since the process began."""
    return Counts(*(DRIVER.host_counter(which) for which in range(len(Counts._fields))))


# kernels

INCLUDES = Path(cupy.__file__).parent / "_core" / "include"
FOLDERS = [HERE, *(INCLUDES / "cupy" / "_cccl" / each for each in ("cub", "thrust", "libcudacxx")), INCLUDES]
COMPILER = ["g++", "-O0", "-std=c++17", "-fPIC", "-w", "-fpermissive", "-fwrapv", "-ffp-contract=off"]
COMPILER += [f"-I{folder}" for folder in (*FOLDERS, Path(CUDA) / "include")]
HEADERS = HERE / "kernel_headers.h"
KERNEL = re.compile(r'extern\s+"C"\s+__global__\s+void\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?(\w+)\s*\(')
DYNAMIC_SHARED = re.compile(r"extern\s+__shared__\s+([\w: ]+?)\s+(\w+)\[\]")
SHARED_ELEMENTS = 6144  # 48 KiB of doubles


def image(source: str, options: Sequence[str] = (), names: Sequence[str] = ()) -> bytes:
    """Compile CUDA C++ and return what ``cupy.cuda.function.Module.load`` takes on the host: the path of a library.

    Parameters
    ----------
    source : str
        Of kernels.
    options : sequence of str
        As NVRTC takes them; macros alone are heeded.
    names : sequence of str
        Expressions that name instances of kernel templates.
    """
    macros = [option for option in options if option.startswith("-D")]
    text = _as_library(source, names)
    key = hashlib.sha256(f"{HEADERS_KEY}{COMPILER}{macros}{text}".encode()).hexdigest()[:40]
    library = KERNELS / f"{key}.so"
    if not library.exists():
        _compile(text, macros, library)
    return f"{library}\0".encode()


def _as_library(source: str, names: Sequence[str]) -> str:
    """Return the source of a library that has an entry for each kernel."""
    source = DYNAMIC_SHARED.sub(rf"static \1 \2[{SHARED_ELEMENTS}]", source)
    kernels = {name: name for name in KERNEL.findall(source)}
    kernels |= {f"instance{number}": name for number, name in enumerate(names)}
    entries = [
        f'extern "C" void host_entry_{entry}(void** a) {{ host_run({kernel}, a); }}\n'
        for entry, kernel in kernels.items()
    ]
    barriers = "true" if re.search(r"__sync\w+\(|_sync\(", source) else "false"
    flag = f'extern "C" const bool host_has_barriers;\nconst bool host_has_barriers = {barriers};\n'
    return f'#include "{HEADERS.name}"\n{source}\n{"".join(entries)}{flag}'


def _compile(text: str, macros: Sequence[str], library: Path) -> None:
    KERNELS.mkdir(exist_ok=True)
    compiled = HEADERS.with_name(f"{HEADERS.name}.gch")
    if not compiled.exists():
        new = compiled.with_name(f"{os.getpid()}.gch")
        subprocess.run([*COMPILER, "-x", "c++-header", HEADERS, "-o", new], check=True)
        new.replace(compiled)
    written = library.with_name(f"{library.stem}.{os.getpid()}")
    source = written.with_suffix(".cpp")
    source.write_text(text)
    linking = ["-shared", f"-L{HERE}", "-l:libcuda.so.1", "-o", written]
    done = subprocess.run([*COMPILER, *macros, source, *linking], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"g++ cannot compile {source}: {done.stderr[:1500]}")
    source.replace(library.with_suffix(".cpp"))
    written.replace(library)


def compile_with_cache(
    source: str,
    options: Sequence[str],
    arch: Any,
    extra_source: Any = None,
    backend: str = "nvrtc",
    enable_cooperative_groups: bool = False,
    name_expressions: Sequence[str] | None = None,
    *rest: Any,
    **others: Any,
) -> function.Module:
    """Stand in for CuPy's function of that name, which calls NVRTC."""
    names = tuple(name_expressions or ())
    module = function.Module()
    module.load(image(source, options, names))
    module._set_mapping({name: f"instance{number}" for number, name in enumerate(names)})
    return module


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
def compile_program(source: bytes, program: int) -> int:
    """Compile a program that was given to NVRTC itself, as scanviz does with its kernels of whole loops."""
    try:
        code, log, status = image(source.decode()), b"", 0
    except RuntimeError as error:
        code, log, status = b"", str(error).encode(), COMPILATION_ERROR
    NVRTC.host_nvrtc_result(ctypes.c_void_p(program), code, log)
    return status


COMPILATION_ERROR = 6
NVRTC = load_library("nvrtc").library
NVRTC.host_nvrtc_compiler(compile_program)
HEADERS_KEY = "".join((HERE / name).read_text() for name in ("cuda_for_gxx.h", HEADERS.name))
compiler._compile_with_cache_cuda = compile_with_cache


# cuSOLVER but for LU and Cholesky factors: CuPy's checks, then NumPy


def _by_numpy(name: str, check: Callable[..., None]) -> None:
    """Replace a function of ``cupy.linalg``, there and where CuPy's own functions call it."""
    ours, theirs = getattr(np.linalg, name), getattr(cupy.linalg, name)
    signature = inspect.signature(theirs)

    def call(a: Any, *given: Any, **options: Any) -> Any:
        signature.bind(a, *given, **options)
        _util._assert_cupy_array(a)
        check(a)
        _util.linalg_common_type(a)
        try:
            found = ours(a.get(), *given, **options)
        except np.linalg.LinAlgError:
            if cupyx._ufunc_config.get_config_linalg() == "raise":
                raise
            found = np.full(a.shape, np.nan)
        return tuple(map(cupy.asarray, found)) if isinstance(found, tuple) else cupy.asarray(found)

    for module in (cupy.linalg, sys.modules[theirs.__module__]):
        setattr(module, name, call)


def _square(a: Any) -> None:
    _util._assert_stacked_2d(a)
    _util._assert_stacked_square(a)


for _name in ("qr", "svd"):
    _by_numpy(_name, _util._assert_stacked_2d)
for _name in ("eigh", "eigvalsh"):
    _by_numpy(_name, _square)


# Thrust


def sort(a: Any, axis: int = -1, kind: None = None) -> Any:
    """Stand in for CuPy's function of that name."""
    return cupy.asarray(np.sort(a.get(), axis=axis))


def argsort(a: Any, axis: int = -1, kind: None = None) -> Any:
    """Stand in for CuPy's function of that name."""
    return cupy.asarray(np.argsort(a.get(), axis=axis, kind="stable"))


cupy.sort, cupy.argsort = sort, argsort
