// What CuPy calls of cuSOLVER for `lu_factor` and `lu_solve`, as plain loops; other functions answer "not supported".
#include <cmath>
#include <cstdint>
#include <utility>

template <class T>
struct Columns {  // a matrix in memory, column after column
  T* data;
  int step;
  T& operator()(int i, int j) const { return data[i + (int64_t)j * step]; }
};

template <class T>
static int factor(int m, int n, Columns<T> a, int* pivots, int* info) {
  *info = 0;
  for (int k = 0; k < m && k < n; ++k) {
    int best = k;
    for (int i = k + 1; i < m; ++i)
      if (std::fabs(a(i, k)) > std::fabs(a(best, k))) best = i;
    pivots[k] = best + 1;
    for (int j = 0; j < n; ++j) std::swap(a(k, j), a(best, j));
    if (a(k, k) == 0) {
      if (!*info) *info = k + 1;  // the first zero on the diagonal
      continue;
    }
    for (int i = k + 1; i < m; ++i) {
      a(i, k) /= a(k, k);
      for (int j = k + 1; j < n; ++j) a(i, j) -= a(i, k) * a(k, j);
    }
  }
  return 0;
}

template <class T>
static void lower(int n, Columns<T> a, bool transposed, bool unit, T* b) {
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < i; ++j) b[i] -= (transposed ? a(j, i) : a(i, j)) * b[j];
    if (!unit) b[i] /= a(i, i);
  }
}
template <class T>
static void upper(int n, Columns<T> a, bool transposed, bool unit, T* b) {
  for (int i = n - 1; i >= 0; --i) {
    for (int j = i + 1; j < n; ++j) b[i] -= (transposed ? a(j, i) : a(i, j)) * b[j];
    if (!unit) b[i] /= a(i, i);
  }
}

template <class T>
static int solve(int transposed, int n, int columns, Columns<T> a, const int* pivots, Columns<T> b, int* info) {
  *info = 0;
  for (int j = 0; j < columns; ++j) {
    T* x = &b(0, j);
    if (transposed) {
      lower(n, a, true, false, x);
      upper(n, a, true, true, x);
      for (int i = n - 1; i >= 0; --i) std::swap(x[i], x[pivots[i] - 1]);
    } else {
      for (int i = 0; i < n; ++i) std::swap(x[i], x[pivots[i] - 1]);
      lower(n, a, false, true, x);
      upper(n, a, false, false, x);
    }
  }
  return 0;
}

extern "C" {
int cusolverDnCreate(void** h) { *h = (void*)1; return 0; }
int cusolverDnDestroy(void*) { return 0; }
int cusolverDnSetStream(void*, void*) { return 0; }
int cusolverDnGetStream(void*, void** s) { *s = nullptr; return 0; }

int cusolverDnSgetrf_bufferSize(void*, int, int, float*, int, int* n) { *n = 1; return 0; }
int cusolverDnDgetrf_bufferSize(void*, int, int, double*, int, int* n) { *n = 1; return 0; }
int cusolverDnSgetrf(void*, int m, int n, float* a, int lda, float*, int* pivots, int* info) {
  return factor<float>(m, n, {a, lda}, pivots, info);
}
int cusolverDnDgetrf(void*, int m, int n, double* a, int lda, double*, int* pivots, int* info) {
  return factor<double>(m, n, {a, lda}, pivots, info);
}
int cusolverDnSgetrs(void*, int trans, int n, int columns, float* a, int lda, int* pivots, float* b, int ldb, int* info) {
  return solve<float>(trans, n, columns, {a, lda}, pivots, {b, ldb}, info);
}
int cusolverDnDgetrs(void*, int trans, int n, int columns, double* a, int lda, int* pivots, double* b, int ldb, int* info) {
  return solve<double>(trans, n, columns, {a, lda}, pivots, {b, ldb}, info);
}
}
