// Factors of matrices and solutions of systems, as plain loops over columns, for the libraries that CuPy calls.
#pragma once
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
static void factor(int m, int n, Columns<T> a, int* pivots, int* info) {
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
static void solve(bool transposed, int n, int columns, Columns<T> a, const int* pivots, Columns<T> b) {
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
}

template <class T>
static void inverse(int n, Columns<T> a, const int* pivots, Columns<T> found) {
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) found(i, j) = i == j;
  solve(false, n, n, a, pivots, found);
}

template <class T>
static void solve_triangle(bool is_upper, bool transposed, bool unit, int n, int columns, Columns<T> a, T scale,
                           Columns<T> b) {
  for (int j = 0; j < columns; ++j) {
    for (int i = 0; i < n; ++i) b(i, j) *= scale;
    if (is_upper != transposed)
      upper(n, a, transposed, unit, &b(0, j));
    else
      lower(n, a, transposed, unit, &b(0, j));
  }
}

template <class T>
static void cholesky(bool is_upper, int n, Columns<T> a, int* info) {  // the other triangle stays as it was
  *info = 0;
  auto at = [&](int i, int j) -> T& { return is_upper ? a(j, i) : a(i, j); };
  for (int j = 0; j < n; ++j) {
    for (int k = 0; k < j; ++k) at(j, j) -= at(j, k) * at(j, k);
    if (at(j, j) <= 0) {  // NaN goes on, as on a GPU (pytorch/pytorch#64818) and in OpenBLAS
      *info = j + 1;
      return;
    }
    at(j, j) = std::sqrt(at(j, j));
    for (int i = j + 1; i < n; ++i) {
      for (int k = 0; k < j; ++k) at(i, j) -= at(i, k) * at(j, k);
      at(i, j) /= at(j, j);
    }
  }
}
