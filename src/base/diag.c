//===- diag.c - the sink of diagnostics --------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages are formatted into the sink's arena and handed on at once; they
// stay valid as long as the arena. What prints them is up to the receiver.
//
//===----------------------------------------------------------------------===//
#include "base/base.h"

static void report(fe_diags *d, fe_severity severity, fe_where where,
                   const char *hint, const char *fmt, va_list args) {
  fe_buf text = {0};
  fe_buf_vprintf(d->arena, &text, fmt, args);
  if (!where.file)
    where.file = d->file;
  if (severity >= FE_SEV_ERROR)
    d->errors++;
  if (severity == FE_SEV_INTERNAL)
    d->internal++;
  fe_diag diag = {severity, where, text.at, hint};
  if (d->fn)
    d->fn(d->user, &diag);
}

void fe_report(fe_diags *d, fe_severity severity, fe_where where,
               const char *hint, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  report(d, severity, where, hint, fmt, args);
  va_end(args);
}

fe_status fe_error(fe_diags *d, fe_where where, const char *hint,
                   const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  report(d, FE_SEV_ERROR, where, hint, fmt, args);
  va_end(args);
  return FE_FAILED;
}
