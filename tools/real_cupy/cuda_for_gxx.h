// CUDA C++ for g++: what kernels of CuPy, and ours, use beside C++.
#pragma once
#define __CUDACC_VER_MAJOR__ 13
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include <cuda_fp16.h>
#include <vector_functions.h>
#include <vector_types.h>

#undef __device__
#undef __global__
#undef __host__
#undef __shared__
#undef __constant__
#undef __forceinline__
#undef __noinline__
#undef __launch_bounds__
#define __device__
#define __global__
#define __host__
#define __shared__ static  // blocks run one after another
#define __constant__ static
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __ldg(p) (*(p))

// threads and barriers: host_cuda.cpp
extern "C" {
extern uint3 host_threadIdx, host_blockIdx, host_blockDim, host_gridDim;
void host_barrier();
}
#define threadIdx host_threadIdx
#define blockIdx host_blockIdx
#define blockDim host_blockDim
#define gridDim host_gridDim
#define warpSize 32
#define __syncthreads() host_barrier()
#define __syncwarp(...) host_barrier()
inline void __threadfence() {}

// lanes of a warp: each leaves its value where the others find it; all threads of a block must come by
static char host_lanes[1024][16];
inline int host_thread() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
template <class T>
inline T host_shuffle(T value, int lane) {
  const int first = host_thread() / warpSize * warpSize;
  memcpy(host_lanes[host_thread()], &value, sizeof value);
  host_barrier();
  memcpy(&value, host_lanes[first + lane % warpSize], sizeof value);
  host_barrier();
  return value;
}
inline int host_lane() { return host_thread() % warpSize; }
template <class T>
inline T __shfl_sync(unsigned, T value, int lane) { return host_shuffle(value, lane); }
template <class T>
inline T __shfl_xor_sync(unsigned, T value, int mask) { return host_shuffle(value, host_lane() ^ mask); }
template <class T>
inline T __shfl_down_sync(unsigned, T value, int by) {
  return host_shuffle(value, host_lane() + by < warpSize ? host_lane() + by : host_lane());
}
template <class T>
inline T __shfl_up_sync(unsigned, T value, int by) {
  return host_shuffle(value, host_lane() >= by ? host_lane() - by : host_lane());
}
inline unsigned __ballot_sync(unsigned mask, int here) {
  unsigned found = 0;
  for (int lane = 0; lane < warpSize; ++lane) found |= (unsigned)(host_shuffle(here, lane) != 0) << lane;
  return found & mask;
}
inline int __any_sync(unsigned mask, int here) { return __ballot_sync(mask, here) != 0; }
inline int __all_sync(unsigned mask, int here) { return __ballot_sync(mask, here) == mask; }

// functions of CUDA that C++ lacks
template <class T, class U, class C = typename std::common_type<T, U>::type>
inline C min(T a, U b) { return (C)a < (C)b ? (C)a : (C)b; }
template <class T, class U, class C = typename std::common_type<T, U>::type>
inline C max(T a, U b) { return (C)a > (C)b ? (C)a : (C)b; }
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
using std::isfinite;
using std::isinf;
using std::isnan;
using std::signbit;
inline double rsqrt(double x) { return 1 / sqrt(x); }
inline float rsqrtf(float x) { return 1 / sqrtf(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline double sinpi(double x) { return sin(M_PI * x); }
inline double cospi(double x) { return cos(M_PI * x); }
inline double erfcx(double x) { return exp(x * x) * erfc(x); }
inline double normcdf(double x) { return 0.5 * erfc(-x / M_SQRT2); }
inline float normcdf(float x) { return normcdf((double)x); }
inline double erfinv(double y) {
  if (y <= -1 || y >= 1) return y == 1 ? INFINITY : y == -1 ? -INFINITY : NAN;
  const double w = -log((1 - y) * (1 + y));
  double x = w < 5 ? 0.886 * y : copysign(sqrt(w), y);
  for (int k = 0; k < 60; ++k) {  // Halley's method
    const double d = (erf(x) - y) / (M_2_SQRTPI * exp(-x * x));
    x -= d / (1 + x * d);
    if (fabs(d) < 1e-17) break;
  }
  return x;
}
inline float erfinv(float y) { return erfinv((double)y); }
inline double erfcinv(double y) { return erfinv(1 - y); }
inline float erfcinv(float y) { return erfcinv((double)y); }

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
template <class To, class From>
inline To host_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "bits of one size");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}
inline float __int_as_float(int x) { return host_bits<float>(x); }
inline int __float_as_int(float x) { return host_bits<int>(x); }
inline double __longlong_as_double(long long x) { return host_bits<double>(x); }
inline long long __double_as_longlong(double x) { return host_bits<long long>(x); }

// one thread runs at a time, so these are atomic
template <class T>
inline T host_exchange(T* p, T v) { T old = *p; *p = v; return old; }
inline int atomicAdd(int* p, int v) { return host_exchange(p, *p + v); }
inline unsigned atomicAdd(unsigned* p, unsigned v) { return host_exchange(p, *p + v); }
inline unsigned long long atomicAdd(unsigned long long* p, unsigned long long v) { return host_exchange(p, *p + v); }
inline int atomicSub(int* p, int v) { return host_exchange(p, *p - v); }
inline unsigned atomicSub(unsigned* p, unsigned v) { return host_exchange(p, *p - v); }
inline float atomicAdd(float* p, float v) { return host_exchange(p, *p + v); }
inline double atomicAdd(double* p, double v) { return host_exchange(p, *p + v); }
template <class T>
inline T atomicMax(T* p, T v) { return host_exchange(p, v > *p ? v : *p); }
template <class T>
inline T atomicMin(T* p, T v) { return host_exchange(p, v < *p ? v : *p); }
template <class T>
inline T atomicCAS(T* p, T expected, T v) { return host_exchange(p, *p == expected ? v : *p); }
template <class T>
inline T atomicExch(T* p, T v) { return host_exchange(p, v); }

// calls a kernel with the arguments of a launch, an array of pointers to them
template <class... A, size_t... I>
inline void host_call(void (*kernel)(A...), void** a, std::index_sequence<I...>) {
  kernel(*(typename std::remove_reference<A>::type*)a[I]...);
}
template <class... A>
inline void host_run(void (*kernel)(A...), void** a) { host_call(kernel, a, std::index_sequence_for<A...>{}); }
