//===- image_bmp.c - BMP of all versions -*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Headers of OS/2 (12 bytes) and Windows (40 and more); 1 to 32 bits per pixel,
// bit fields, run lengths.
//
//===----------------------------------------------------------------------===//
#include "native/image.h"

#include <string.h>

enum { PLAIN, RUNS_8, RUNS_4, FIELDS, FIELDS_ALPHA = 6 };

typedef struct bitmap {
  const uint8_t *data, *pixels;
  size_t size, left; // bytes at pixels
  bool down;         // rows from the top
  uint32_t bits, compression, masks[3], n_colors;
  const uint8_t *colors;
  uint32_t color_bytes;
} bitmap;

static uint32_t u16(const uint8_t *p) { return p[0] | (uint32_t)p[1] << 8; }
static uint32_t u32(const uint8_t *p) { return u16(p) | u16(p + 2) << 16; }

static void put_color(const bitmap *b, uint8_t *out, uint32_t index) {
  if (index >= b->n_colors) {
    memset(out, 0, 3);
    return;
  }
  const uint8_t *c = b->colors + (size_t)index * b->color_bytes;
  out[0] = c[2];
  out[1] = c[1];
  out[2] = c[0];
}

static uint8_t field(uint32_t v, uint32_t mask) {
  if (!mask)
    return 0;
  unsigned low = (unsigned)__builtin_ctz(mask);
  uint32_t most = mask >> low;
  return (uint8_t)((uint64_t)((v & mask) >> low) * 255 / most);
}

static uint8_t *row_of(const bitmap *b, const fe_image *image, int64_t y) {
  return fe_image_row(image, b->down ? y : image->height - 1 - y);
}

static bool read_plain(const bitmap *b, fe_image *image) {
  size_t stride = ((size_t)image->width * b->bits + 31) / 32 * 4;
  if (b->left / stride < (size_t)image->height)
    // The padding of the last row may be missing.
    if (b->left / stride + 1 < (size_t)image->height ||
        b->left % stride < ((size_t)image->width * b->bits + 7) / 8)
      return false;
  for (int64_t y = 0; y < image->height; y++) {
    const uint8_t *in = b->pixels + (size_t)y * stride;
    uint8_t *out = row_of(b, image, y);
    for (int64_t x = 0; x < image->width; x++, out += 3) {
      if (b->bits <= 8) {
        int64_t bit = x * b->bits;
        unsigned shift = 8 - b->bits - (unsigned)(bit % 8);
        put_color(b, out, in[bit / 8] >> shift & ((1u << b->bits) - 1));
      } else if (b->bits == 24) {
        out[0] = in[x * 3 + 2];
        out[1] = in[x * 3 + 1];
        out[2] = in[x * 3];
      } else {
        uint32_t v = b->bits == 16 ? u16(in + x * 2) : u32(in + x * 4);
        for (int c = 0; c < 3; c++)
          out[c] = field(v, b->masks[c]);
      }
    }
  }
  return true;
}

/// One pixel of a run; what is beyond the row is left out.
static void put_run(const bitmap *b, fe_image *image, int64_t x, int64_t y,
                    uint32_t index) {
  if (x < image->width && y < image->height)
    put_color(b, row_of(b, image, y) + x * 3, index);
}

static uint32_t nibble(const uint8_t *p, uint32_t i) {
  return i % 2 ? p[i / 2] & 15u : p[i / 2] >> 4;
}

static bool read_runs(const bitmap *b, fe_image *image) {
  bool four = b->compression == RUNS_4;
  const uint8_t *p = b->pixels, *end = p + b->left;
  int64_t x = 0, y = 0;
  for (int64_t i = 0; i < image->width * image->height; i++)
    put_color(b, image->pixels + i * 3, 0);
  while (end - p >= 2) {
    uint32_t n = p[0], v = p[1];
    p += 2;
    if (n) {
      for (uint32_t i = 0; i < n; i++)
        put_run(b, image, x++, y, four ? (i % 2 ? v & 15 : v >> 4) : v);
    } else if (v == 0) {
      x = 0;
      y++;
    } else if (v == 1) {
      return true;
    } else if (v == 2) {
      if (end - p < 2)
        return false;
      x += p[0];
      y += p[1];
      p += 2;
    } else {
      ptrdiff_t bytes = four ? (v + 1) / 2 : v;
      if (end - p < bytes)
        return false;
      for (uint32_t i = 0; i < v; i++)
        put_run(b, image, x++, y, four ? nibble(p, i) : p[i]);
      bytes += bytes % 2;
      p += bytes < end - p ? bytes : end - p;
    }
    if (x > INT32_MAX || y > image->height)
      return false;
  }
  return y >= image->height; // without the mark of the end
}

static bool read_masks(bitmap *b, const uint8_t *header, uint32_t header_size) {
  static const uint32_t five[3] = {0x7c00, 0x3e0, 0x1f};
  static const uint32_t eight[3] = {0xff0000, 0xff00, 0xff};
  if (b->compression != FIELDS && b->compression != FIELDS_ALPHA) {
    memcpy(b->masks, b->bits == 16 ? five : eight, sizeof b->masks);
    return true;
  }
  // In the header or, of the shortest one, behind it: the same place.
  if (b->size < 14 + 40 + 12 || header_size < 40)
    return false;
  for (int c = 0; c < 3; c++)
    b->masks[c] = u32(header + 40 + 4 * c);
  return true;
}

/// The header, but for the picture's size.
static bool read_header(bitmap *b, int64_t *w, int64_t *h) {
  const uint8_t *header = b->data + 14;
  if (b->size < 14 + 12)
    return false;
  uint32_t pixels_at = u32(b->data + 10), header_size = u32(header);
  bool old = header_size == 12;
  if (!old && (header_size < 40 || b->size < 14 + 40))
    return false;
  *w = (int32_t)(old ? u16(header + 4) : u32(header + 4));
  *h = (int32_t)(old ? u16(header + 6) : u32(header + 8));
  b->down = *h < 0;
  *h = *h < 0 ? -*h : *h;
  b->bits = u16(header + (old ? 10 : 14));
  b->compression = old ? PLAIN : u32(header + 16);
  b->color_bytes = old ? 3 : 4;
  uint32_t used = old ? 0 : u32(header + 32);
  if (!read_masks(b, header, header_size))
    return false;
  size_t colors_at = 14 + (size_t)header_size;
  if (header_size == 40 && b->compression == FIELDS)
    colors_at += 12;
  if (header_size == 40 && b->compression == FIELDS_ALPHA)
    colors_at += 16;
  if (pixels_at > b->size || colors_at > b->size)
    return false;
  if (b->bits <= 8) {
    uint32_t most = 1u << b->bits;
    uint32_t room = (uint32_t)((b->size - colors_at) / b->color_bytes);
    b->n_colors = used && used < most ? used : most;
    b->n_colors = b->n_colors < room ? b->n_colors : room;
    b->colors = b->data + colors_at;
  }
  b->pixels = b->data + pixels_at;
  b->left = b->size - pixels_at;
  return true;
}

bool fe_image_bmp(fe_image *image, const uint8_t *data, size_t size) {
  bitmap b = {.data = data, .size = size};
  int64_t w, h;
  if (!read_header(&b, &w, &h))
    return false;
  bool whole = b.bits == 16 || b.bits == 24 || b.bits == 32;
  bool palette = b.bits == 1 || b.bits == 2 || b.bits == 4 || b.bits == 8;
  bool runs = (b.compression == RUNS_8 && b.bits == 8) ||
              (b.compression == RUNS_4 && b.bits == 4);
  bool fields = b.compression == FIELDS || b.compression == FIELDS_ALPHA;
  if (!(b.compression == PLAIN && (whole || palette)) && !runs &&
      !(fields && (b.bits == 16 || b.bits == 32)))
    return false;
  return fe_image_begin(image, w, h, 3) &&
         (runs ? read_runs(&b, image) : read_plain(&b, image));
}
