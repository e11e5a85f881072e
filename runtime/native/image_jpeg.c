//===- image_jpeg.c - JPEG by libjpeg-turbo -*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The library's defaults are what the standard asks for: the accurate integer
// transform, and chroma that is interpolated with alternating rounding.
//
//===----------------------------------------------------------------------===//
#include "native/image.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jerror.h>
#include <jpeglib.h>

/// A picture that is sent in more parts than this is an attack.
#define MAX_SCANS 500

typedef struct reading {
  struct jpeg_error_mgr errors;
  jmp_buf failed;
  struct jpeg_progress_mgr progress;
  uint8_t *line; // of four channels
} reading;

static void fail(j_common_ptr c) { longjmp(((reading *)c->err)->failed, 1); }

static void on_message(j_common_ptr c, int level) {
  (void)level;
  // The library would make up what is missing.
  if (c->err->msg_code == JWRN_JPEG_EOF)
    fail(c);
}

static void on_progress(j_common_ptr c) {
  if (((j_decompress_ptr)c)->input_scan_number > MAX_SCANS)
    fail(c);
}

static uint8_t times(unsigned a, unsigned b) { // a * b / 255, rounded
  unsigned t = a * b + 128;
  return (uint8_t)(((t >> 8) + t) >> 8);
}

/// Four inks to three lights. Adobe's files hold the complements.
static void from_cmyk(uint8_t *out, const uint8_t *in, int64_t n, bool adobe) {
  for (int64_t i = 0; i < n; i++, in += 4)
    for (int c = 0; c < 3; c++) {
      unsigned ink = adobe ? 255u - in[c] : in[c];
      unsigned light = adobe ? in[3] : 255u - in[3];
      *out++ = (uint8_t)(light - times(ink, light));
    }
}

static bool read_lines(fe_image *image, struct jpeg_decompress_struct *c,
                       reading *r) {
  bool cmyk = c->out_color_space == JCS_CMYK;
  if (!fe_image_begin(image, c->output_width, c->output_height,
                      c->out_color_space == JCS_GRAYSCALE ? 1 : 3))
    return false;
  if (cmyk && !(r->line = malloc((size_t)image->width * 4))) {
    image->no_memory = 1;
    return false;
  }
  while (c->output_scanline < c->output_height) {
    uint8_t *row = fe_image_row(image, c->output_scanline);
    JSAMPROW line = cmyk ? r->line : row;
    jpeg_read_scanlines(c, &line, 1);
    if (cmyk)
      from_cmyk(row, line, image->width, c->saw_Adobe_marker);
  }
  jpeg_finish_decompress(c);
  return true;
}

static bool read_all(fe_image *image, struct jpeg_decompress_struct *c,
                     reading *r, const uint8_t *data, size_t size) {
  if (setjmp(r->failed))
    return false;
  jpeg_create_decompress(c);
  c->progress = &r->progress;
  r->progress.progress_monitor = on_progress;
  jpeg_mem_src(c, data, size);
  jpeg_read_header(c, TRUE);
  if ((int64_t)c->image_width * c->image_height > FE_IMAGE_MAX_PIXELS)
    return false;
  c->out_color_space = c->jpeg_color_space == JCS_GRAYSCALE ? JCS_GRAYSCALE
                       : c->num_components == 4             ? JCS_CMYK
                                                            : JCS_RGB;
  jpeg_start_decompress(c);
  return read_lines(image, c, r);
}

bool fe_image_jpeg(fe_image *image, const uint8_t *data, size_t size) {
  struct jpeg_decompress_struct c = {0};
  reading r = {0};
  c.err = jpeg_std_error(&r.errors);
  r.errors.error_exit = fail;
  r.errors.emit_message = on_message;
  bool ok = read_all(image, &c, &r, data, size);
  jpeg_destroy_decompress(&c);
  free(r.line);
  return ok;
}
