//===- fourier_lines.h - Fourier transforms of a tensor's lines --*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of fourier_part.h.
//
//===----------------------------------------------------------------------===//

/// A call: lines along the middle of [outer][n][inner][parts].
typedef struct task {
  const REAL *in;
  REAL *out, *room, *whole; // whole: of a matrix
  const REAL *tables;
  fe_fft fft;
  int64_t rows_in, rows_out, inner, parts_in, parts_out, lines, line;
  bool inverse, mirrored; // mirrored: from the first half of a spectrum
  REAL scale;
  int64_t lanes, slices, groups;
} task;

/// Element j of a line, whose first element is at `in`.
FE_INLINE void read_element(const task *t, const REAL *in, int64_t j, REAL *re,
                            REAL *im) {
  int64_t n = t->fft.n, row = j;
  bool flip = t->mirrored && 2 * j > n;
  row = flip ? n - j : j;
  if (row >= t->rows_in) {
    *re = *im = 0;
    return;
  }
  const REAL *at = in + row * t->inner * t->parts_in;
  *re = at[0];
  *im = t->parts_in == 2 ? at[1] : 0;
  if (t->mirrored)
    *im = j == 0 || 2 * j == n ? 0 : flip ? -*im : *im;
}

FE_INLINE const REAL *line_in(const task *t, int64_t line) {
  return t->in + (line / t->inner * t->rows_in * t->inner + line % t->inner) *
                     t->parts_in;
}

FE_INLINE REAL *line_out(const task *t, int64_t line) {
  return t->out + (line / t->inner * t->rows_out * t->inner + line % t->inner) *
                      t->parts_out;
}

/// Lines [first, first + count) into re, im, [n][lanes].
static void load(const task *t, int64_t first, int64_t count, int64_t lanes,
                 REAL *restrict re, REAL *restrict im) {
  int64_t n = t->fft.n;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    // Lanes without a line do the work of the last one.
    const REAL *in = line_in(t, first + (lane < count ? lane : count - 1));
    int64_t stride = t->inner * t->parts_in, whole = 0;
    if (!t->mirrored) {
      whole = n < t->rows_in ? n : t->rows_in;
      if (t->parts_in == 2)
        for (int64_t j = 0; j < whole; ++j) {
          re[j * lanes + lane] = in[j * stride];
          im[j * lanes + lane] = in[j * stride + 1];
        }
      else
        for (int64_t j = 0; j < whole; ++j) {
          re[j * lanes + lane] = in[j * stride];
          im[j * lanes + lane] = 0;
        }
    }
    for (int64_t j = whole; j < n; ++j)
      read_element(t, in, j, re + j * lanes + lane, im + j * lanes + lane);
  }
}

static void store(const task *t, int64_t first, int64_t count, int64_t lanes,
                  const REAL *restrict re, const REAL *restrict im) {
  int64_t stride = t->inner * t->parts_out;
  for (int64_t lane = 0; lane < count; ++lane) {
    REAL *out = line_out(t, first + lane);
    if (t->parts_out == 2)
      for (int64_t j = 0; j < t->rows_out; ++j) {
        out[j * stride] = re[j * lanes + lane] * t->scale;
        out[j * stride + 1] = im[j * lanes + lane] * t->scale;
      }
    else
      for (int64_t j = 0; j < t->rows_out; ++j)
        out[j * stride] = re[j * lanes + lane] * t->scale;
  }
}

/// Two buffers of n elements in a slice's room.
FE_INLINE void buffers(REAL *room, int64_t n, REAL *at[4]) {
  for (int64_t i = 0; i < 4; ++i)
    at[i] = room + i * n;
}

/// Slices [begin, end) of the groups of lines.
static void run_lines(const void *slots, int64_t begin, int64_t end) {
  const task *t = slots;
  const fe_fft_plan *p = &t->fft.first;
  int64_t lanes = t->lanes, size = p->m * lanes;
  REAL *at[4];
  for (int64_t slice = begin; slice < end; ++slice) {
    buffers(t->room + slice * 4 * size, size, at);
    int64_t last = (slice + 1) * t->groups / t->slices;
    for (int64_t g = slice * t->groups / t->slices; g < last; ++g) {
      int64_t first = g * lanes, count = t->lines - first;
      count = count < lanes ? count : lanes;
      REAL *re = at[t->inverse ? 0 : 1], *im = at[t->inverse ? 1 : 0];
      load(t, first, count, lanes, re, im);
      if (lanes == 1) {
        one_line v = {at[0], at[1]}, other = {at[2], at[3]};
        one_transform(p, t->tables, &v, &other);
        re = t->inverse ? v.re : v.im;
        im = t->inverse ? v.im : v.re;
      } else {
        many_line v = {(many_lanes *)at[0], (many_lanes *)at[1]};
        many_line other = {(many_lanes *)at[2], (many_lanes *)at[3]};
        many_transform(p, t->tables, &v, &other);
        re = (REAL *)(t->inverse ? v.re : v.im);
        im = (REAL *)(t->inverse ? v.im : v.re);
      }
      store(t, first, count, lanes, re, im);
    }
  }
}

/// Columns [16 slice..] of one line as a matrix [a][b], into `whole`, turned.
static void run_columns(const void *slots, int64_t begin, int64_t end) {
  const task *t = slots;
  int64_t a = t->fft.a, b = t->fft.b, lanes = LANES;
  int64_t longer = a > b ? a : b, n = t->fft.n;
  const REAL *in = line_in(t, t->line);
  const REAL *turn_re = t->tables + fe_fft_plan_size(&t->fft.first) +
                        fe_fft_plan_size(&t->fft.second);
  const REAL *turn_im = turn_re + n;
  REAL *whole_re = t->whole, *whole_im = whole_re + n, *at[4];
  int64_t stride = t->inner * t->parts_in;
  for (int64_t slice = begin; slice < end; ++slice) {
    buffers(t->room + slice * 4 * longer * lanes, a * lanes, at);
    int64_t last = (slice + 1) * t->groups / t->slices;
    for (int64_t g = slice * t->groups / t->slices; g < last; ++g) {
      int64_t first = g * lanes, count = b - first;
      count = count < lanes ? count : lanes;
      REAL *restrict re = at[t->inverse ? 0 : 1];
      REAL *restrict im = at[t->inverse ? 1 : 0];
      for (int64_t j = 0; j < a; ++j) {
        int64_t from = j * b + first;
        const REAL *x = in + from * stride;
        if (count < lanes || t->mirrored || from + lanes > t->rows_in)
          for (int64_t l = 0; l < lanes; ++l)
            read_element(t, in, from + (l < count ? l : 0), re + j * lanes + l,
                         im + j * lanes + l);
        else if (t->parts_in == 1)
          for (int64_t l = 0; l < lanes; ++l) {
            re[j * lanes + l] = x[l * stride];
            im[j * lanes + l] = 0;
          }
        else
          for (int64_t l = 0; l < lanes; ++l) {
            re[j * lanes + l] = x[l * stride];
            im[j * lanes + l] = x[l * stride + 1];
          }
      }
      many_line v = {(many_lanes *)at[0], (many_lanes *)at[1]};
      many_line other = {(many_lanes *)at[2], (many_lanes *)at[3]};
      many_transform(&t->fft.first, t->tables, &v, &other);
      const REAL *v_re = (const REAL *)v.re, *v_im = (const REAL *)v.im;
      for (int64_t k = 0; k < a; ++k)
        for (int64_t l = 0; l < count; ++l) {
          one_value x = {v_re[k * lanes + l], v_im[k * lanes + l]};
          int64_t to = k * b + first + l;
          x = one_turned(x, turn_re[to], turn_im[to]);
          whole_re[to] = x.re;
          whole_im[to] = x.im;
        }
    }
  }
}

/// Rows of the matrix; frequency k + a * k' is element k' of row k.
static void run_rows(const void *slots, int64_t begin, int64_t end) {
  const task *t = slots;
  int64_t a = t->fft.a, b = t->fft.b, lanes = LANES;
  int64_t longer = a > b ? a : b, n = t->fft.n;
  const REAL *tables = t->tables + fe_fft_plan_size(&t->fft.first);
  const REAL *whole_re = t->whole, *whole_im = whole_re + n;
  REAL *out = line_out(t, t->line), *at[4];
  int64_t stride = t->inner * t->parts_out;
  for (int64_t slice = begin; slice < end; ++slice) {
    buffers(t->room + slice * 4 * longer * lanes, b * lanes, at);
    int64_t last = (slice + 1) * t->groups / t->slices;
    for (int64_t g = slice * t->groups / t->slices; g < last; ++g) {
      int64_t first = g * lanes, count = a - first;
      count = count < lanes ? count : lanes;
      for (int64_t l = 0; l < lanes; ++l) {
        int64_t row = first + (l < count ? l : 0);
        for (int64_t j = 0; j < b; ++j) {
          at[0][j * lanes + l] = whole_re[row * b + j];
          at[1][j * lanes + l] = whole_im[row * b + j];
        }
      }
      many_line v = {(many_lanes *)at[0], (many_lanes *)at[1]};
      many_line other = {(many_lanes *)at[2], (many_lanes *)at[3]};
      many_transform(&t->fft.second, tables, &v, &other);
      const REAL *re = (const REAL *)(t->inverse ? v.re : v.im);
      const REAL *im = (const REAL *)(t->inverse ? v.im : v.re);
      for (int64_t j = 0; j < b; ++j) {
        int64_t some = t->rows_out - (first + a * j);
        some = some < count ? some : count;
        REAL *to = out + (first + a * j) * stride;
        if (t->parts_out == 2)
          for (int64_t l = 0; l < some; ++l) {
            to[l * stride] = re[j * lanes + l] * t->scale;
            to[l * stride + 1] = im[j * lanes + l] * t->scale;
          }
        else
          for (int64_t l = 0; l < some; ++l)
            to[l * stride] = re[j * lanes + l] * t->scale;
      }
    }
  }
}

/// args: x [outer][rows][inner][parts], tables; y, room. numbers: length,
/// inverse, from half a spectrum.
int32_t FE_NAMED(PART, run)(fe_run *run, ferrule_tensor *args,
                            int64_t *numbers) {
  int64_t n = numbers[0];
  bool inverse = numbers[1] != 0;

  task t = {.in = args[0].data,
            .tables = args[1].data,
            .out = args[2].data,
            .room = args[3].data,
            .fft = fe_fft_of(n),
            .rows_in = args[0].dims[1],
            .rows_out = args[2].dims[1],
            .inner = args[0].dims[2],
            .parts_in = args[0].dims[3],
            .parts_out = args[2].dims[3],
            .lines = args[0].dims[0] * args[0].dims[2],
            .inverse = inverse,
            .mirrored = numbers[2] != 0,
            .scale = inverse ? 1 / (REAL)n : 1};
  int64_t lanes = LANES, bits = 1;
  while (n >> bits)
    ++bits;
  if (!t.lines)
    return 0;
  if (!t.fft.b) {
    t.lanes = t.lines < lanes ? 1 : lanes;
    t.groups = (t.lines + t.lanes - 1) / t.lanes;
    t.slices = fe_fft_slices(t.lines, lanes);
    fe_rt_parallel(run, run_lines, &t, t.slices,
                   t.groups * t.lanes * t.fft.first.m * 5 * bits / t.slices,
                   FE_FFT_LEAST_PARALLEL);
    return 0;
  }
  t.whole = t.room +
            FE_FFT_SLICES * 4 * (t.fft.a > t.fft.b ? t.fft.a : t.fft.b) * lanes;
  for (t.line = 0; t.line < t.lines; ++t.line)
    for (int rows = 0; rows < 2; ++rows) {
      t.groups = ((rows ? t.fft.a : t.fft.b) + lanes - 1) / lanes;
      t.slices = t.groups < FE_FFT_SLICES ? t.groups : FE_FFT_SLICES;
      fe_rt_parallel(run, rows ? run_rows : run_columns, &t, t.slices,
                     n * 5 * bits / 2 / t.slices, FE_FFT_LEAST_PARALLEL);
    }
  return 0;
}
