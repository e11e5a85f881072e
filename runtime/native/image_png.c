//===- image_png.c - PNG by libpng -*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "native/image.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

typedef struct reading {
  const uint8_t *data;
  size_t size;
  png_bytep *rows;
} reading;

static void read_bytes(png_structp png, png_bytep out, png_size_t n) {
  reading *r = png_get_io_ptr(png);
  if (n > r->size)
    png_error(png, "the end is missing");
  memcpy(out, r->data, n);
  r->data += n;
  r->size -= n;
}

static void on_error(png_structp png, png_const_charp text) {
  (void)text;
  png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text) {
  (void)png, (void)text;
}

static bool read_all(fe_image *image, png_structp png, png_infop info,
                     reading *r) {
  if (setjmp(png_jmpbuf(png)))
    return false;
  png_set_read_fn(png, r, read_bytes);
  png_set_user_limits(png, FE_IMAGE_MAX_PIXELS, FE_IMAGE_MAX_PIXELS);
  png_read_info(png, info);
  // Eight bits; palettes to colours, transparency gone, the high byte of two.
  png_set_strip_16(png);
  png_set_expand(png);
  png_set_strip_alpha(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  int32_t channels = png_get_channels(png, info);
  if ((channels != 1 && channels != 3) || png_get_bit_depth(png, info) != 8 ||
      !fe_image_begin(image, png_get_image_width(png, info),
                      png_get_image_height(png, info), channels))
    return false;
  r->rows = malloc((size_t)image->height * sizeof *r->rows);
  if (!r->rows) {
    image->no_memory = 1;
    return false;
  }
  for (int64_t y = 0; y < image->height; y++)
    r->rows[y] = fe_image_row(image, y);
  png_read_image(png, r->rows);
  png_read_end(png, NULL);
  return true;
}

bool fe_image_png(fe_image *image, const uint8_t *data, size_t size) {
  reading r = {data, size, NULL};
  png_structp png =
      png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, on_error, on_warning);
  png_infop info = png ? png_create_info_struct(png) : NULL;
  image->no_memory = !info;
  bool ok = info && read_all(image, png, info, &r);
  png_destroy_read_struct(&png, &info, NULL);
  free(r.rows);
  return ok;
}
