"""Run CUDA kernels on the host: compiled by g++, one thread after another, on arrays of the stand-in for CuPy."""

import ctypes
import functools
import hashlib
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path

import numpy as np

ORDERS = {"from the first": 0, "from the last": 1, "at random": 2}
_ONE_GRID = threading.Lock()  # a library has one set of threads and of shared memory
HAS_COMPILER = shutil.which("g++") is not None
SHIM = """\
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>
#include <ucontext.h>
struct sv_place { unsigned x, y, z; };
static sv_place blockIdx, blockDim, gridDim, threadIdx;
#define __global__
#define __device__
#define __restrict__
#define __shared__ static
#define __constant__ static const
static void wait_for_all();
#define __syncthreads wait_for_all
using namespace std;
inline double erfinv(double y) {
  if (!(y > -1 && y < 1)) return y == 1 ? INFINITY : y == -1 ? -INFINITY : NAN;
  double w = -log((1 - y) * (1 + y)), x = w < 5 ? 0.886 * y : (y < 0 ? -1 : 1) * sqrt(w);
  for (int k = 0; k < 60; ++k) { double d = (erf(x) - y) / (1.1283791670955126 * exp(-x * x)); x -= d / (1 + x * d); }
  return x;
}
inline float erfinv(float y) { return erfinv((double)y); }
template <class... A, size_t... I> static void call(void (*kernel)(A...), void** a, index_sequence<I...>) {
  kernel(*(typename remove_reference<A>::type*)a[I]...);
}
template <class... A> static void call(void (*kernel)(A...), void** a) { call(kernel, a, index_sequence_for<A...>{}); }
"""
# The threads of a block take turns: one runs until it waits for the others.  ``order`` is that of blocks and of threads: from the
# first to the last, from the last to the first, or a random one for each turn.
ENTRY = """
static ucontext_t all;
static std::vector<ucontext_t> threads;
static std::vector<char> ended;
static void** given;
static unsigned current;
static void wait_for_all() { swapcontext(&threads[current], &all); }
static void run_thread() { call(NAME, given); ended[current] = 1; }
static std::vector<unsigned> turns(unsigned count, int order, unsigned long long* seed) {
  std::vector<unsigned> found(count);
  for (unsigned k = 0; k < count; ++k) found[k] = order == 1 ? count - 1 - k : k;
  for (unsigned k = count; order == 2 && k > 1; --k) {
    *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
    std::swap(found[k - 1], found[(*seed >> 33) % k]);
  }
  return found;
}
extern "C" void run_grid(unsigned grid, unsigned block, void** a, int order) {
  unsigned long long seed = 1;
  const size_t size = 1 << 16;
  static std::vector<char> stacks;
  stacks.resize(size * block);
  gridDim.x = grid; blockDim.x = block; given = a;
  for (unsigned b : turns(grid, order, &seed)) {
    threads.assign(block, ucontext_t()); ended.assign(block, 0);
    blockIdx.x = b;
    for (unsigned t = 0; t < block; ++t) {
      getcontext(&threads[t]);
      threads[t].uc_stack.ss_sp = &stacks[size * t]; threads[t].uc_stack.ss_size = size; threads[t].uc_link = &all;
      makecontext(&threads[t], run_thread, 0);
    }
    for (bool left = true; left;) {
      left = false;
      for (unsigned t : turns(block, order, &seed)) {
        current = t;
        if (ended[current]) continue;
        threadIdx.x = current;
        swapcontext(&all, &threads[current]);
        left = left || !ended[current];
      }
    }
  }
}
"""


@functools.cache
def folder():
    """Return a folder for this process's libraries."""
    return Path(tempfile.mkdtemp(prefix="scanviz_kernels_"))


@functools.cache
def library(source, entry):
    """Return a compiled source with the function ``entry``."""
    text = f"{SHIM}{source}{entry}"
    path = folder() / f"{hashlib.sha256(text.encode()).hexdigest()}.so"
    path.with_suffix(".cpp").write_text(text)
    command = ["g++", "-std=c++17", "-O1", "-ffp-contract=off", "-fwrapv", "-w", "-fPIC", "-shared"]
    done = subprocess.run(
        [*command, path.with_suffix(".cpp"), "-o", path], capture_output=True, text=True, check=False
    )
    assert not done.returncode, f"{done.stderr[:3000]}\n{source}"
    return ctypes.CDLL(str(path))


class HostLauncher:
    """Launches one kernel.

    Attributes
    ----------
    launches : int
        How often kernels were launched.
    order : int
        A number of :data:`ORDERS`: in which order the next launches take blocks and threads.
    """

    launches = 0
    order = 0

    def __init__(self, source, name):
        self.run = library(source, ENTRY.replace("NAME", name)).run_grid

    def __call__(self, grid, block, arguments):
        HostLauncher.launches += 1
        values = [_passed(argument) for argument in arguments]
        places = (ctypes.c_void_p * len(values))(*(value.ctypes.data for value in values))
        with _ONE_GRID:
            self.run(grid[0], block[0], places, HostLauncher.order)


def _passed(argument):
    """Return what a kernel gets, in memory: a number, or the address of an array."""
    if hasattr(type(argument), "__cuda_array_interface__"):
        return np.array(argument.__cuda_array_interface__["data"][0], np.uint64)
    return np.array(argument)
