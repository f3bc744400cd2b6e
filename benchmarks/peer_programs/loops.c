/* By hand, in C: cc -O3 -march=native -ffast-math -fopenmp-simd.  Rows are written into the caller's arrays. */
#include <math.h>
#include <string.h>

void power(const double *a, double *p, long size, long steps) {
    for (long j = 0; j < size; j++) p[j] = 1;
    for (long t = 0; t < steps; t++)
        for (long j = 0; j < size; j++) p[j] *= a[j];
}

void cumulative_sum(const double *x, double *rows, long steps) {
    double s = 0;
    for (long t = 0; t < steps; t++) rows[t] = s += x[t];
}

void two_taps(const double *x, double *rows, long steps) {
    double older = 0, newer = 0;
    for (long t = 0; t < steps; t++) {
        double row = 0.5 * newer - 0.3 * older + x[t];
        older = newer;
        rows[t] = newer = row;
    }
}

void leaky_tanh(const double *x, const double *h, double *rows, long width, long steps) {
    for (long t = 0; t < steps; t++, x += width, h = rows, rows += width) {
        const double *restrict before = h;
        double *restrict row = rows;
#pragma omp simd
        for (long j = 0; j < width; j++) row[j] = tanh(0.9 * before[j] + 0.1 * x[j]);
    }
}

void linear(const double *a, const double *b, const double *h, double *rows, long width, long steps) {
    for (long t = 0; t < steps; t++, a += width, b += width, h = rows, rows += width) {
        const double *restrict before = h;
        double *restrict row = rows;
#pragma omp simd
        for (long j = 0; j < width; j++) row[j] = a[j] * before[j] + b[j];
    }
}

/* z += v W, with a block of columns in registers */
static void add_product(const double *restrict v, const double *restrict W, double *restrict z, long rows, long columns) {
    for (long from = 0; from < columns; from += 64) {
        long n = columns - from < 64 ? columns - from : 64;
        double sum[64] __attribute__((aligned(64)));
        memcpy(sum, z + from, n * sizeof(double));
        if (n == 64)
            for (long k = 0; k < rows; k++) {
                double v_k = v[k];
                const double *restrict row = W + k * columns + from;
#pragma omp simd
                for (long j = 0; j < 64; j++) sum[j] += v_k * row[j];
            }
        else
            for (long k = 0; k < rows; k++)
                for (long j = 0; j < n; j++) sum[j] += v[k] * W[k * columns + from + j];
        memcpy(z + from, sum, n * sizeof(double));
    }
}

void rnn(const double *x, const double *h, const double *W, const double *U, double *rows, long size, long steps) {
    for (long t = 0; t < steps; t++, x += size, h = rows, rows += size) {
        memset(rows, 0, size * sizeof(double));
        add_product(x, W, rows, size, size);
        add_product(h, U, rows, size, size);
#pragma omp simd
        for (long j = 0; j < size; j++) rows[j] = tanh(rows[j]);
    }
}

void lstm(const double *x, const double *h, const double *c0, const double *W, const double *U, const double *b, double *rows,
          long size, long steps) {
    double z[4 * size] __attribute__((aligned(64))), c[size] __attribute__((aligned(64)));
    memcpy(c, c0, sizeof c);
    for (long t = 0; t < steps; t++, x += size, h = rows, rows += size) {
        memcpy(z, b, sizeof z);
        add_product(x, W, z, size, 4 * size);
        add_product(h, U, z, size, 4 * size);
#pragma omp simd
        for (long j = 0; j < 3 * size; j++) z[j] = 1 / (1 + exp(-z[j]));
#pragma omp simd
        for (long j = 0; j < size; j++) {
            c[j] = z[size + j] * c[j] + z[j] * tanh(z[3 * size + j]);
            rows[j] = z[2 * size + j] * tanh(c[j]);
        }
    }
}
