//===- image_tiff.c - TIFF by libtiff -*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Grey and coloured pictures of eight bits in strips are read as they are; all
// others by the library's conversion to 32 bits per pixel.
//
//===----------------------------------------------------------------------===//
#include "native/image.h"

#include <stdlib.h>
#include <string.h>

#include <tiffio.h>

typedef struct file {
  const uint8_t *data;
  uint64_t size, at;
} file;

static tmsize_t read_bytes(thandle_t h, void *out, tmsize_t n) {
  file *f = h;
  uint64_t left = f->at < f->size ? f->size - f->at : 0;
  if (n < 0)
    return 0;
  if ((uint64_t)n > left)
    n = (tmsize_t)left;
  memcpy(out, f->data + f->at * (n != 0), (size_t)n);
  f->at += (uint64_t)n;
  return n;
}

static tmsize_t write_bytes(thandle_t h, void *data, tmsize_t n) {
  (void)h, (void)data, (void)n;
  return 0;
}

static toff_t seek(thandle_t h, toff_t to, int how) {
  file *f = h;
  if (how == SEEK_CUR)
    to += f->at;
  else if (how == SEEK_END)
    to += f->size;
  f->at = to;
  return to;
}

static int close_file(thandle_t h) {
  (void)h;
  return 0;
}

static toff_t size_of(thandle_t h) { return ((file *)h)->size; }

static int quiet(TIFF *t, void *user, const char *module, const char *format,
                 va_list args) {
  (void)t, (void)user, (void)module, (void)format, (void)args;
  return 1;
}

// Compressions that the TIFF standard does not have would bring a library each,
// one in C++: in the place of libtiff's functions that set them up, these
// refuse the file.
#define ABSENT(name)                                                           \
  int name(TIFF *t, int scheme);                                               \
  int name(TIFF *t, int scheme) {                                              \
    (void)t, (void)scheme;                                                     \
    return 0;                                                                  \
  }
ABSENT(TIFFInitJBIG)
ABSENT(TIFFInitLERC)
ABSENT(TIFFInitLZMA)
ABSENT(TIFFInitWebP)
ABSENT(TIFFInitZSTD)

/// Number of samples of a pixel; 0: not a simple picture.
static unsigned simple_samples(TIFF *t) {
  uint16_t bits = 0, samples = 0, kind = 0, plane = 0, way = 0, format = 0;
  TIFFGetFieldDefaulted(t, TIFFTAG_BITSPERSAMPLE, &bits);
  TIFFGetFieldDefaulted(t, TIFFTAG_SAMPLESPERPIXEL, &samples);
  TIFFGetFieldDefaulted(t, TIFFTAG_PLANARCONFIG, &plane);
  TIFFGetFieldDefaulted(t, TIFFTAG_ORIENTATION, &way);
  TIFFGetFieldDefaulted(t, TIFFTAG_SAMPLEFORMAT, &format);
  if (!TIFFGetField(t, TIFFTAG_PHOTOMETRIC, &kind) || bits != 8 ||
      plane != PLANARCONFIG_CONTIG || way != ORIENTATION_TOPLEFT ||
      format != SAMPLEFORMAT_UINT || TIFFIsTiled(t))
    return 0;
  if ((kind == PHOTOMETRIC_RGB && samples >= 3) ||
      (kind == PHOTOMETRIC_MINISBLACK && samples >= 1))
    return samples;
  return 0;
}

static bool read_simple(fe_image *image, TIFF *t, unsigned samples, void *line,
                        uint32_t w, uint32_t h) {
  int32_t channels = samples >= 3 ? 3 : 1;
  if (!fe_image_begin(image, w, h, channels))
    return false;
  for (uint32_t y = 0; y < h; y++) {
    if (TIFFReadScanline(t, line, y, 0) < 0)
      return false;
    const uint8_t *in = line;
    uint8_t *out = fe_image_row(image, y);
    for (uint32_t x = 0; x < w; x++, in += samples, out += channels)
      memcpy(out, in, (size_t)channels);
  }
  return true;
}

static bool read_any(fe_image *image, TIFF *t, uint32_t *all, uint32_t w,
                     uint32_t h) {
  if (!TIFFReadRGBAImageOriented(t, w, h, all, ORIENTATION_TOPLEFT, 1) ||
      !fe_image_begin(image, w, h, 3))
    return false;
  uint8_t *out = image->pixels;
  for (size_t i = 0; i < (size_t)w * h; i++) {
    *out++ = (uint8_t)TIFFGetR(all[i]);
    *out++ = (uint8_t)TIFFGetG(all[i]);
    *out++ = (uint8_t)TIFFGetB(all[i]);
  }
  return true;
}

static bool read_file(fe_image *image, TIFF *t) {
  uint32_t w = 0, h = 0;
  if (!TIFFGetField(t, TIFFTAG_IMAGEWIDTH, &w) ||
      !TIFFGetField(t, TIFFTAG_IMAGELENGTH, &h) || !w || !h ||
      w > FE_IMAGE_MAX_PIXELS / h)
    return false;
  unsigned samples = simple_samples(t);
  tmsize_t line = TIFFScanlineSize(t);
  if (samples && (line < 0 || (uint64_t)line < (uint64_t)w * samples))
    return false;
  void *memory = malloc(samples ? (size_t)line : (size_t)w * h * 4);
  if (!memory) {
    image->no_memory = 1;
    return false;
  }
  bool ok = samples ? read_simple(image, t, samples, memory, w, h)
                    : read_any(image, t, memory, w, h);
  free(memory);
  return ok;
}

bool fe_image_tiff(fe_image *image, const uint8_t *data, size_t size) {
  file f = {data, size, 0};
  TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
  if (!options) {
    image->no_memory = 1;
    return false;
  }
  TIFFOpenOptionsSetMaxSingleMemAlloc(options, FE_IMAGE_MAX_PIXELS);
  TIFFOpenOptionsSetErrorHandlerExtR(options, quiet, NULL);
  TIFFOpenOptionsSetWarningHandlerExtR(options, quiet, NULL);
  // m: no memory mapping; the file is in memory.
  TIFF *t = TIFFClientOpenExt("image", "rm", &f, read_bytes, write_bytes, seek,
                              close_file, size_of, NULL, NULL, options);
  TIFFOpenOptionsFree(options);
  if (!t)
    return false;
  bool ok = read_file(image, t);
  TIFFClose(t);
  return ok;
}
