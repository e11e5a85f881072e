//===- image_decoder.c - ImageDecoder ----------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime decodes into its own memory, tells the size, then stores the
// pixels as they are asked for.
//
//===----------------------------------------------------------------------===//
#include "ferrule_config.h"
#include "op/common.h"
#include "target/target.h"

#include <string.h>

static const char *const formats[] = {"RGB", "BGR", "Grayscale"};
enum { GRAYSCALE = 2 };

/// Number of the format; FE_COUNT(formats): there is no such.
static unsigned format_of(fe_ir *ir, MlirOperation op) {
  const char *name = fe_attr_str(ir->arena, op, "pixel_format", formats[0]);
  unsigned i = 0;
  while (i < FE_COUNT(formats) && strcmp(name, formats[i]) != 0)
    ++i;
  return i;
}

static fe_status infer_decoder(fe_infer *f) {
  fe_dims d;
  if (fe_in_dims(f, 0, &d))
    return FE_FAILED;
  if (d.rank != 1)
    return fe_infer_error(f, NULL, "the input must be a list of bytes");
  unsigned format = format_of(f->ir, f->attrs);
  if (format == FE_COUNT(formats))
    return fe_infer_error(f, "use RGB, BGR or Grayscale",
                          "the pixel format is unknown");
  d.rank = 3;
  d.d[0] = fe_fresh_dim(f);
  d.d[1] = fe_fresh_dim(f);
  d.d[2] = fe_dim_const(f->ir, format == GRAYSCALE ? 1 : 3);
  fe_out_tensor(f, 0, FE_U8, &d);
  return FE_OK;
}

static fe_status lower_decoder(fe_lower *l) {
  fe_ir *ir = l->ir;
  if (!FERRULE_HAVE_IMAGES)
    return fe_lower_error(
        l, "run scripts/setup.sh and build Ferrule again",
        "Ferrule was built without the libraries that decode images");
  if (strncmp(l->target->triple, FERRULE_HOST_ARCH, strlen(FERRULE_HOST_ARCH)))
    return fe_lower_error(
        l, "compile with a Ferrule that was built on that kind of processor",
        "the libraries that decode images are there for " FERRULE_HOST_ARCH
        " only");
  unsigned format = format_of(ir, l->op);
  MlirValue found[3];
  fe_runtime decode = {
      .name = "image_decode", .n_in = 1, .in = l->in, .n_results = 3};
  fe_runtime_call(l, &decode, NULL, found);
  MlirValue sizes[3] = {found[0], found[1],
                        fe_index(ir, format == GRAYSCALE ? 1 : 3)};
  MlirValue out = fe_tensor_empty(l, FE_U8, 3, sizes);
  MlirValue numbers[2] = {found[2],
                          fe_index(ir, !strcmp(formats[format], "BGR"))};
  fe_runtime store = {.name = "image_store",
                      .n_out = 1,
                      .out = &out,
                      .n_numbers = 2,
                      .numbers = numbers};
  fe_runtime_call(l, &store, l->out, NULL);
  return FE_OK;
}

static const fe_attr_def attrs[] = {
    {"pixel_format", FE_A_STRING, "RGB|BGR|Grayscale"}, {0}};

const fe_op_row fe_family_image_decoder[] = {
    {.name = "ImageDecoder",
     .since = 20,
     .inputs = "encoded_stream:T",
     .outputs = "image:T",
     .types = "T=u8",
     .attrs = attrs,
     .infer = infer_decoder,
     .lower = lower_decoder,
     .limits = "for the kind of processor that Ferrule was built on; TIFF "
               "without JBIG, LERC, LZMA, WebP and ZSTD"},
    {0}};
