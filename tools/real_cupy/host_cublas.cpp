// What CuPy calls of cuBLAS for products and systems, as plain loops; other functions answer "not supported".
#include <cuda_fp16.h>

#include <cstdint>

#include "host_lapack.h"

enum { R_32F = 0, R_64F = 1, R_16F = 2, NOT_SUPPORTED = 15 };

struct Sizes {
  int transposed_a, transposed_b, m, n, k, lda, ldb, ldc;
};

template <class T, class A>
static void multiply(Sizes s, A alpha, const T* a, const T* b, A beta, T* c) {
  for (int j = 0; j < s.n; ++j)
    for (int i = 0; i < s.m; ++i) {
      A sum = 0;
      for (int l = 0; l < s.k; ++l)
        sum += (A)a[s.transposed_a ? l + (int64_t)i * s.lda : i + (int64_t)l * s.lda] *
               (A)b[s.transposed_b ? j + (int64_t)l * s.ldb : l + (int64_t)j * s.ldb];
      T& out = c[i + (int64_t)j * s.ldc];
      out = (T)(alpha * sum + (beta == 0 ? (A)0 : beta * (A)out));  // what `out` held may be NaN
    }
}

static int multiply_of(int type, Sizes s, const void* alpha, const void* a, const void* b, const void* beta, void* c) {
  switch (type) {
    case R_64F: multiply(s, *(double*)alpha, (double*)a, (double*)b, *(double*)beta, (double*)c); return 0;
    case R_32F: multiply(s, *(float*)alpha, (float*)a, (float*)b, *(float*)beta, (float*)c); return 0;
    case R_16F: multiply(s, *(float*)alpha, (__half*)a, (__half*)b, *(float*)beta, (__half*)c); return 0;
    default: return NOT_SUPPORTED;
  }
}

extern "C" {
int cublasCreate_v2(void** h) { *h = (void*)1; return 0; }
int cublasDestroy_v2(void*) { return 0; }
int cublasSetStream_v2(void*, void*) { return 0; }
int cublasGetStream_v2(void*, void** s) { *s = nullptr; return 0; }
int cublasSetMathMode(void*, int) { return 0; }
int cublasGetMathMode(void*, int* m) { *m = 0; return 0; }
int cublasSetPointerMode_v2(void*, int) { return 0; }
int cublasGetPointerMode_v2(void*, int* m) { *m = 0; return 0; }
int cublasGetVersion_v2(void*, int* v) { *v = 130000; return 0; }

int cublasGemmEx(void*, int ta, int tb, int m, int n, int k, const void* alpha, const void* a, int type, int lda,
                 const void* b, int, int ldb, const void* beta, void* c, int, int ldc, int, int) {
  return multiply_of(type, {ta, tb, m, n, k, lda, ldb, ldc}, alpha, a, b, beta, c);
}
int cublasGemmStridedBatchedEx(void*, int ta, int tb, int m, int n, int k, const void* alpha, const void* a, int type,
                               int lda, long long step_a, const void* b, int, int ldb, long long step_b,
                               const void* beta, void* c, int, int ldc, long long step_c, int count, int, int) {
  const int width = type == R_64F ? 8 : type == R_32F ? 4 : 2;
  int failed = 0;
  for (int q = 0; q < count && !failed; ++q)
    failed = multiply_of(type, {ta, tb, m, n, k, lda, ldb, ldc}, alpha, (char*)a + q * step_a * width,
                         (char*)b + q * step_b * width, beta, (char*)c + q * step_c * width);
  return failed;
}
}

#define SYSTEMS(L, T, TYPE)                                                                                           \
  extern "C" {                                                                                                        \
  int cublas##L##gemm_v2(void*, int ta, int tb, int m, int n, int k, const T* alpha, const T* a, int lda, const T* b, \
                         int ldb, const T* beta, T* c, int ldc) {                                                     \
    return multiply_of(TYPE, {ta, tb, m, n, k, lda, ldb, ldc}, alpha, a, b, beta, c);                                 \
  }                                                                                                                   \
  int cublas##L##gemmBatched(void*, int ta, int tb, int m, int n, int k, const T* alpha, T** a, int lda, T** b,       \
                             int ldb, const T* beta, T** c, int ldc, int count) {                                     \
    for (int q = 0; q < count; ++q)                                                                                   \
      multiply_of(TYPE, {ta, tb, m, n, k, lda, ldb, ldc}, alpha, a[q], b[q], beta, c[q]);                             \
    return 0;                                                                                                         \
  }                                                                                                                   \
  int cublas##L##getrfBatched(void*, int n, T** a, int lda, int* pivots, int* info, int count) {                      \
    for (int q = 0; q < count; ++q) factor<T>(n, n, {a[q], lda}, pivots + q * n, &info[q]);                           \
    return 0;                                                                                                         \
  }                                                                                                                   \
  int cublas##L##getrsBatched(void*, int trans, int n, int k, T** a, int lda, const int* pivots, T** b, int ldb,      \
                              int* info, int count) {                                                                 \
    *info = 0;                                                                                                        \
    for (int q = 0; q < count; ++q) solve<T>(trans, n, k, {a[q], lda}, pivots + q * n, {b[q], ldb});                  \
    return 0;                                                                                                         \
  }                                                                                                                   \
  int cublas##L##getriBatched(void*, int n, T** a, int lda, const int* pivots, T** c, int ldc, int* info,             \
                              int count) {                                                                            \
    for (int q = 0; q < count; ++q) {                                                                                 \
      info[q] = 0;                                                                                                    \
      inverse<T>(n, {a[q], lda}, pivots + q * n, {c[q], ldc});                                                        \
    }                                                                                                                 \
    return 0;                                                                                                         \
  }                                                                                                                   \
  int cublas##L##trsm_v2(void*, int right, int upper, int trans, int unit, int m, int n, const T* alpha, T* a,        \
                         int lda, T* b, int ldb) {                                                                    \
    if (right) return NOT_SUPPORTED;                                                                                  \
    solve_triangle<T>(upper, trans, unit, m, n, {a, lda}, *alpha, {b, ldb});                                          \
    return 0;                                                                                                         \
  }                                                                                                                   \
  int cublas##L##trsmBatched(void* h, int right, int upper, int trans, int unit, int m, int n, const T* alpha,        \
                             T** a, int lda, T** b, int ldb, int count) {                                             \
    int failed = 0;                                                                                                   \
    for (int q = 0; q < count && !failed; ++q)                                                                        \
      failed = cublas##L##trsm_v2(h, right, upper, trans, unit, m, n, alpha, a[q], lda, b[q], ldb);                   \
    return failed;                                                                                                    \
  }                                                                                                                   \
  }
SYSTEMS(S, float, R_32F)
SYSTEMS(D, double, R_64F)
