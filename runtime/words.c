//===- words.c - StringNormalizer in a run -----------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "run.h"
#include "unicode.h"

/// What a text is in another case; 0, 1: not UTF-8, or FE_RUN_STATUS.
static int32_t changed(fe_run *run, const ferrule_string *s, fe_case to,
                       ferrule_string *out) {
  char *data = fe_rt_object(run, 2 * s->size);
  if (!data)
    return FE_RUN_STATUS;
  *out = (ferrule_string){data, fe_text_change_case(s, to, data)};
  return out->size < 0;
}

/// args: texts, results. numbers: the case. Message 1: a text is not UTF-8.
int32_t fe_rt_words_case(fe_run *run, ferrule_tensor *args, int64_t *numbers) {
  const ferrule_string *in = args[0].data;
  ferrule_string *out = args[1].data;
  int64_t n = fe_rt_count(&args[0]);
  for (int64_t i = 0; i < n; i++) {
    int32_t status = changed(run, &in[i], (fe_case)numbers[0], &out[i]);
    if (status)
      return status;
  }
  return 0;
}

/// args: texts, words to leave out (rising, in the case of the comparison),
/// room for all texts. numbers: case of the results, case of the comparison;
/// result: how many are left. Message 1: a text is not UTF-8.
int32_t fe_rt_words_normalize(fe_run *run, ferrule_tensor *args,
                              int64_t *numbers) {
  const ferrule_string *in = args[0].data, *stop = args[1].data;
  ferrule_string *out = args[2].data;
  int64_t n = fe_rt_count(&args[0]), n_stop = fe_rt_count(&args[1]), left = 0;
  fe_case result = (fe_case)numbers[0], comparison = (fe_case)numbers[1];
  for (int64_t i = 0; i < n; i++) {
    ferrule_string compared = in[i], s = in[i];
    int32_t status = 0;
    if (n_stop && comparison != FE_CASE_AS_IS)
      status = changed(run, &in[i], comparison, &compared);
    if (!status && fe_string_find(&compared, stop, n_stop) < n_stop)
      continue;
    if (!status && result != FE_CASE_AS_IS)
      status = changed(run, &in[i], result, &s);
    if (status)
      return status;
    out[left++] = s;
  }
  numbers[2] = left;
  return 0;
}

/// args: texts, the first of them, or one empty text when `numbers[0]`, how
/// many are left, is 0.
int32_t fe_rt_words_take(fe_run *run, ferrule_tensor *args, int64_t *numbers) {
  (void)run;
  const ferrule_string *in = args[0].data;
  ferrule_string *out = args[1].data;
  for (int64_t i = 0; i < numbers[0]; i++)
    out[i] = in[i];
  if (!numbers[0])
    out[0] = (ferrule_string){"", 0};
  return 0;
}
