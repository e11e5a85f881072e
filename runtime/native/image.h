//===- image.h - pictures from bytes -*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled by the C compiler and linked, with the libraries that it needs, into
// models that decode images, and into libferrule for those that are run there.
// What does not depend on a library is in ../image.c.
//
//===----------------------------------------------------------------------===//
#ifndef FE_NATIVE_IMAGE_H
#define FE_NATIVE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Pictures of more pixels are taken as malformed: no format's header is
/// believed further than that.
#define FE_IMAGE_MAX_PIXELS (INT64_C(1) << 30)

typedef struct fe_image {
  void *(*allocate)(void *user, size_t bytes); // NULL: no memory
  void *user;
  int64_t width, height;
  int32_t channels;  // 1: grey; 3: red, green, blue
  int32_t no_memory; // why decoding failed
  uint8_t *pixels;   // rows from the top, no gaps
} fe_image;

/// Decodes BMP, JPEG, JPEG 2000, PNG, PNM, TIFF or WebP, told apart by their
/// first bytes. 0: not one of them, malformed, or no memory.
int32_t fe_native_image_decode(fe_image *image, const uint8_t *data,
                               size_t size);

//===-- Inside --------------------------------------------------------------//

/// One decoder per format; fills in size and pixels.
typedef bool (*fe_image_decoder)(fe_image *image, const uint8_t *data,
                                 size_t size);
bool fe_image_bmp(fe_image *image, const uint8_t *data, size_t size);
bool fe_image_jp2(fe_image *image, const uint8_t *data, size_t size);
bool fe_image_jpeg(fe_image *image, const uint8_t *data, size_t size);
bool fe_image_png(fe_image *image, const uint8_t *data, size_t size);
bool fe_image_pnm(fe_image *image, const uint8_t *data, size_t size);
bool fe_image_tiff(fe_image *image, const uint8_t *data, size_t size);
bool fe_image_webp(fe_image *image, const uint8_t *data, size_t size);

/// Checks the size and makes room for the pixels.
bool fe_image_begin(fe_image *image, int64_t width, int64_t height,
                    int32_t channels);
static inline uint8_t *fe_image_row(const fe_image *image, int64_t y) {
  return image->pixels + y * image->width * image->channels;
}
/// v of [0, max] to [0, 255].
static inline uint8_t fe_image_scale(uint32_t v, uint32_t max) {
  return v >= max ? 255 : (uint8_t)(((uint64_t)v * 255 + max / 2) / max);
}

#endif
