//===- image_pnm.c - portable bitmaps, graymaps, pixmaps -*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// P1 to P6: as text or bytes.
//
//===----------------------------------------------------------------------===//
#include "native/image.h"

typedef struct file {
  const uint8_t *at, *end;
} file;

static bool is_space(uint8_t c) { return c == ' ' || (c >= 9 && c <= 13); }

static void skip_space(file *f) {
  while (f->at < f->end && (is_space(*f->at) || *f->at == '#')) {
    if (*f->at == '#')
      while (f->at < f->end && *f->at != '\n' && *f->at != '\r')
        f->at++;
    else
      f->at++;
  }
}

static bool read_number(file *f, int64_t *out) {
  skip_space(f);
  if (f->at == f->end || *f->at < '0' || *f->at > '9')
    return false;
  for (*out = 0; f->at < f->end && *f->at >= '0' && *f->at <= '9'; f->at++) {
    *out = *out * 10 + (*f->at - '0');
    if (*out > INT32_MAX)
      return false;
  }
  return true;
}

/// Samples of text; those of bitmaps need no space between them.
static bool read_text(file *f, fe_image *image, int64_t n, int64_t most,
                      bool bits) {
  for (int64_t i = 0; i < n; i++) {
    int64_t v;
    if (bits) {
      skip_space(f);
      if (f->at == f->end || (*f->at != '0' && *f->at != '1'))
        return false;
      v = '1' - *f->at++; // 1 is black
    } else if (!read_number(f, &v) || v > most) {
      return false;
    }
    image->pixels[i] = fe_image_scale((uint32_t)v, (uint32_t)most);
  }
  return true;
}

static bool read_bits(file *f, fe_image *image) {
  int64_t stride = (image->width + 7) / 8;
  if (f->end - f->at < stride * image->height)
    return false;
  for (int64_t y = 0; y < image->height; y++, f->at += stride)
    for (int64_t x = 0; x < image->width; x++)
      fe_image_row(image, y)[x] = f->at[x / 8] >> (7 - x % 8) & 1 ? 0 : 255;
  return true;
}

static bool read_bytes(file *f, fe_image *image, int64_t n, int64_t most) {
  int64_t width = most > 255 ? 2 : 1;
  if (f->end - f->at < n * width)
    return false;
  for (int64_t i = 0; i < n; i++) {
    uint32_t v = *f->at++;
    if (width == 2)
      v = v << 8 | *f->at++;
    image->pixels[i] = fe_image_scale(v, (uint32_t)most);
  }
  return true;
}

bool fe_image_pnm(fe_image *image, const uint8_t *data, size_t size) {
  file f = {data + 2, data + size};
  int kind = data[1] - '0';
  if (kind < 1 || kind > 6)
    return false;
  bool text = kind <= 3, bits = kind % 3 == 1;
  int64_t w, h, most = 1;
  if (!read_number(&f, &w) || !read_number(&f, &h) ||
      (!bits && !read_number(&f, &most)) || most < 1 || most > 65535)
    return false;
  if (!text) { // one white space, then the bytes
    if (f.at == f.end || !is_space(*f.at))
      return false;
    f.at++;
  }
  int32_t channels = kind % 3 ? 1 : 3;
  if (!fe_image_begin(image, w, h, channels))
    return false;
  int64_t n = w * h * channels;
  return text   ? read_text(&f, image, n, most, bits)
         : bits ? read_bits(&f, image)
                : read_bytes(&f, image, n, most);
}
