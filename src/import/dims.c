//===- dims.c - what the user says about the inputs' dims -----------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every dim has a name: the model's, or INPUT.dimN, which fits the named ones
// too. First the options that open dims apply, then those that fix them; the
// last that fits decides.
//
// Which dims cannot be open is found by trying: shape inference leaves in
// ir->decisive the symbols on which the rank of a value would depend. Where
// they are not those of inputs, the rank comes out of arithmetic on lists of
// integers, such as the size of a grid.
//
//===----------------------------------------------------------------------===//
#include "import/import.h"

#include <inttypes.h>
#include <string.h>

/// Whether `text` is what the pattern says; '*' is any text.
static bool fits(const char *pattern, const char *text) {
  const char *star = NULL, *rest = NULL;
  while (*text) {
    if (*pattern == '*') {
      star = ++pattern; // as little as possible, at first
      rest = text;
    } else if (*pattern == *text) {
      pattern++;
      text++;
    } else if (star) {
      pattern = star;
      text = ++rest;
    } else {
      return false;
    }
  }
  return pattern[strspn(pattern, "*")] == 0;
}

void fe_given_dims_init(fe_given_dims *g, fe_ir *ir,
                        const fe_import_options *options) {
  *g = (fe_given_dims){.ir = ir, .options = options};
  g->found = FE_NEW_N(ir->arena, bool, options->n_open + options->n_dims);
  for (size_t i = 0; i < options->n_open; i++)
    g->may_close |= strchr(options->open[i].name, '*') != NULL;
}

/// A dim that a name with '*' opened; those of one name are closed together.
typedef struct opened_dim {
  const char *name; // INPUT.dimN
  bool list;
  const struct opened_dim *next;
} opened_dim;

/// Name of the dim as an open one; NULL: it is not opened.
static const char *opened(fe_given_dims *g, const char *name,
                          const char *numbered, bool list) {
  const char *out = NULL;
  bool by_star = false;
  for (size_t i = 0; i < g->options->n_open; i++) {
    const fe_open_dim *o = &g->options->open[i];
    if (!fits(o->name, name) && !fits(o->name, numbered))
      continue;
    g->found[i] = true;
    bool star = strchr(o->name, '*') != NULL;
    if (star && fe_map_get(&g->closed, numbered))
      continue;
    by_star = star;
    out = o->symbol ? o->symbol : name;
  }
  if (!out || !by_star)
    return out;
  opened_dim *o = FE_NEW(g->ir->arena, opened_dim);
  *o = (opened_dim){numbered, list, fe_map_get(&g->opened, out)};
  fe_map_set(g->ir->arena, &g->opened, out, o);
  return out;
}

fe_status fe_given_dim(fe_given_dims *g, const char *input, size_t i,
                       const onnx_Dimension *d, bool list,
                       MlirAffineExpr *out) {
  fe_ir *ir = g->ir;
  int64_t n = d->has_dim_value ? d->dim_value : -1;
  const char *numbered = fe_printf(ir->arena, "%s.dim%zu", input, i);
  const char *name =
      n < 0 && d->dim_param && *d->dim_param ? d->dim_param : numbered;
  const char *symbol = opened(g, name, numbered, list);
  if (symbol)
    n = -1;
  else
    symbol = name;
  bool given = false;
  for (size_t k = 0; k < g->options->n_dims; k++) {
    const char *w = g->options->dims[k].name;
    if (!fits(w, name) && !fits(w, symbol) && !fits(w, numbered))
      continue;
    g->found[g->options->n_open + k] = given = true;
    n = g->options->dims[k].value;
  }
  if (given && n < 0)
    return fe_error(ir->diags, (fe_where){.attr = input}, NULL,
                    "the dimension '%s' cannot be %" PRId64, name, n);
  *out = n < 0 ? fe_dim_symbol(ir, fe_symbol(ir, symbol)) : fe_dim_const(ir, n);
  return FE_OK;
}

fe_status fe_given_dims_check(const fe_given_dims *g) {
  fe_ir *ir = g->ir;
  const fe_import_options *o = g->options;
  for (size_t i = 0; i < o->n_open + o->n_dims; i++) {
    const char *name =
        i < o->n_open ? o->open[i].name : o->dims[i - o->n_open].name;
    // "all that there are" may be none
    if (g->found[i] || strcmp(name, "*") == 0)
      continue;
    fe_buf names = {0};
    for (size_t k = 0; k < ir->symbols.n && k < 16; k++)
      fe_buf_printf(ir->arena, &names, "%s%s", k ? ", " : "",
                    ir->symbols.at[k]);
    return fe_error(
        ir->diags, (fe_where){0},
        names.n ? fe_printf(ir->arena, "open dimensions are: %s", names.at)
                : "all dimensions of the inputs are fixed; those of input x "
                  "are called x.dim0, x.dim1, ...",
        "no input has a dimension called '%s'", name);
  }
  return FE_OK;
}

/// Closes the dims in a list of opened ones; whether there was one.
static bool close_dims(fe_given_dims *g, const opened_dim *o, bool lists_only) {
  bool more = false;
  for (; o; o = o->next) {
    if (lists_only && !o->list)
      continue;
    more |= !fe_map_get(&g->closed, o->name);
    fe_map_set(g->ir->arena, &g->closed, o->name, g);
  }
  return more;
}

bool fe_given_dims_close(fe_given_dims *g) {
  fe_ir *ir = g->ir;
  bool more = false, any = ir->decisive.n > 0;
  for (size_t i = 0; i < ir->decisive.n; i++)
    more |= close_dims(g, fe_map_get(&g->opened, ir->decisive.at[i]), false);
  for (size_t i = 0; any && !more && i < g->opened.n; i++)
    more |= close_dims(g, g->opened.entries[i].value, true);
  g->opened = (fe_map){0};
  ir->decisive.n = 0;
  return more;
}
