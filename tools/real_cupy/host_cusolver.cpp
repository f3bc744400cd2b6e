// What CuPy calls of cuSOLVER for LU and Cholesky factors; other functions answer "not supported".
#include "host_lapack.h"

extern "C" {
int cusolverGetProperty(int which, int* value) { *value = which == 0 ? 12 : 0; return 0; }
int cusolverDnCreate(void** h) { *h = (void*)1; return 0; }
int cusolverDnDestroy(void*) { return 0; }
int cusolverDnSetStream(void*, void*) { return 0; }
int cusolverDnGetStream(void*, void** s) { *s = nullptr; return 0; }
}

#define FACTORS(L, T)                                                                                                 \
  extern "C" {                                                                                                        \
  int cusolverDn##L##getrf_bufferSize(void*, int, int, T*, int, int* n) { *n = 1; return 0; }                         \
  int cusolverDn##L##potrf_bufferSize(void*, int, int, T*, int, int* n) { *n = 1; return 0; }                         \
  int cusolverDn##L##getrf(void*, int m, int n, T* a, int lda, T*, int* pivots, int* info) {                          \
    factor<T>(m, n, {a, lda}, pivots, info);                                                                          \
    return 0;                                                                                                         \
  }                                                                                                                   \
  int cusolverDn##L##getrs(void*, int trans, int n, int k, T* a, int lda, int* pivots, T* b, int ldb, int* info) {    \
    *info = 0;                                                                                                        \
    solve<T>(trans, n, k, {a, lda}, pivots, {b, ldb});                                                                \
    return 0;                                                                                                         \
  }                                                                                                                   \
  int cusolverDn##L##potrf(void*, int upper, int n, T* a, int lda, T*, int, int* info) {                              \
    cholesky<T>(upper, n, {a, lda}, info);                                                                            \
    return 0;                                                                                                         \
  }                                                                                                                   \
  int cusolverDn##L##potrfBatched(void*, int upper, int n, T** a, int lda, int* info, int count) {                    \
    for (int q = 0; q < count; ++q) cholesky<T>(upper, n, {a[q], lda}, &info[q]);                                     \
    return 0;                                                                                                         \
  }                                                                                                                   \
  }
FACTORS(S, float)
FACTORS(D, double)
