//===- image.c - ImageDecoder in a run ---------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "native/image.h"
#include "run.h"

#include <string.h>

static void *allocate(void *user, size_t bytes) {
  return fe_rt_object(user, (int64_t)bytes);
}

/// args: bytes. numbers: results height, width, and the address of the picture.
/// What is no picture has neither height nor width, as the standard says.
int32_t fe_rt_image_decode(fe_run *run, ferrule_tensor *args,
                           int64_t *numbers) {
  fe_image *image = fe_rt_object(run, sizeof *image);
  if (!image)
    return FE_RUN_STATUS;
  *image = (fe_image){.allocate = allocate, .user = run};
  int64_t size = fe_rt_count(&args[0]);
  if (!fe_native_image_decode(image, args[0].data, (size_t)size)) {
    if (image->no_memory) {
      run->status = FERRULE_RUN_NO_MEMORY;
      return FE_RUN_STATUS;
    }
    image->width = image->height = 0;
  }
  numbers[0] = image->height;
  numbers[1] = image->width;
  numbers[2] = (int64_t)(intptr_t)image;
  return 0;
}

/// Luminance of ITU-R 601 in 16 bits after the point, rounded.
static uint8_t grey(const uint8_t *p) {
  return (uint8_t)((p[0] * 19595u + p[1] * 38470u + p[2] * 7471u + 0x8000u) >>
                   16);
}

/// args: result [height][width][channels]. numbers: the picture, whether blue
/// comes first.
int32_t fe_rt_image_store(fe_run *run, ferrule_tensor *args, int64_t *numbers) {
  (void)run;
  const fe_image *image = (const fe_image *)(intptr_t)numbers[0];
  uint8_t *out = args[0].data;
  const uint8_t *in = image->pixels;
  int64_t n = image->height * image->width, to = args[0].dims[2];
  int64_t from = image->channels, blue = numbers[1] ? 0 : 2;
  if (n && to == from && (to == 1 || blue == 2)) {
    memcpy(out, in, (size_t)(n * to));
    return 0;
  }
  for (int64_t i = 0; i < n; i++, in += from, out += to) {
    if (to == 1) {
      out[0] = grey(in);
    } else {
      out[2 - blue] = in[0];
      out[1] = in[from == 3 ? 1 : 0];
      out[blue] = in[from == 3 ? 2 : 0];
    }
  }
  return 0;
}
