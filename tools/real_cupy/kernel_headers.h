// Compiled once: what each kernel of CuPy includes.
#include "cuda_for_gxx.h"

#include <cupy/complex.cuh>

#include <cupy/atomics.cuh>
#include <cupy/carray.cuh>
#include <cupy/math_constants.h>
