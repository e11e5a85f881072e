//===- image_jp2.c - JPEG 2000 by OpenJPEG -*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "native/image.h"

#include <string.h>

#include <openjpeg.h>

typedef struct file {
  const uint8_t *data;
  size_t size, at;
} file;

static OPJ_SIZE_T read_bytes(void *out, OPJ_SIZE_T n, void *user) {
  file *f = user;
  size_t left = f->size - f->at;
  if (!left)
    return (OPJ_SIZE_T)-1;
  n = n < left ? n : left;
  memcpy(out, f->data + f->at, n);
  f->at += n;
  return n;
}

static OPJ_OFF_T skip(OPJ_OFF_T n, void *user) {
  file *f = user;
  if (n < 0 || (uint64_t)n > f->size - f->at)
    return -1;
  f->at += (size_t)n;
  return n;
}

static OPJ_BOOL seek(OPJ_OFF_T to, void *user) {
  file *f = user;
  if (to < 0 || (uint64_t)to > f->size)
    return OPJ_FALSE;
  f->at = (size_t)to;
  return OPJ_TRUE;
}

static void quiet(const char *text, void *user) { (void)text, (void)user; }

/// Sample of the component at a pixel, as 8 bits.
static uint8_t sample(const opj_image_comp_t *c, const opj_image_t *in,
                      int64_t x, int64_t y) {
  // Components may be coarser than the picture, and begin elsewhere.
  int64_t cx = (in->x0 + x) / c->dx - c->x0, cy = (in->y0 + y) / c->dy - c->y0;
  cx = cx < 0 ? 0 : cx >= c->w ? (int64_t)c->w - 1 : cx;
  cy = cy < 0 ? 0 : cy >= c->h ? (int64_t)c->h - 1 : cy;
  int64_t v = c->data[cy * c->w + cx];
  if (c->sgnd)
    v += INT64_C(1) << (c->prec - 1);
  if (c->prec > 8)
    v >>= c->prec - 8;
  else if (c->prec < 8)
    v = fe_image_scale(v < 0 ? 0 : (uint32_t)v, (1u << c->prec) - 1);
  return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

static uint8_t to_byte(double v) {
  return v <= 0 ? 0 : v >= 255 ? 255 : (uint8_t)(v + 0.5);
}

/// Luminance and two differences of colour to colours.
static void from_ycc(uint8_t *p) {
  double y = p[0], b = p[1] - 128.0, r = p[2] - 128.0;
  p[0] = to_byte(y + 1.402 * r);
  p[1] = to_byte(y - 0.344136 * b - 0.714136 * r);
  p[2] = to_byte(y + 1.772 * b);
}

static bool convert(fe_image *image, const opj_image_t *in) {
  int32_t channels = in->numcomps >= 3 ? 3 : 1;
  for (int32_t c = 0; c < channels; c++)
    if (!in->comps[c].data || !in->comps[c].w || !in->comps[c].h ||
        !in->comps[c].dx || !in->comps[c].dy || !in->comps[c].prec ||
        in->comps[c].prec > 31)
      return false;
  if (!fe_image_begin(image, (int64_t)in->x1 - in->x0, (int64_t)in->y1 - in->y0,
                      channels))
    return false;
  bool ycc = channels == 3 && in->color_space == OPJ_CLRSPC_SYCC;
  uint8_t *out = image->pixels;
  for (int64_t y = 0; y < image->height; y++)
    for (int64_t x = 0; x < image->width; x++, out += channels) {
      for (int32_t c = 0; c < channels; c++)
        out[c] = sample(&in->comps[c], in, x, y);
      if (ycc)
        from_ycc(out);
    }
  return true;
}

static bool read_stream(fe_image *image, opj_codec_t *codec,
                        opj_stream_t *stream) {
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  opj_set_info_handler(codec, quiet, NULL);
  opj_set_warning_handler(codec, quiet, NULL);
  opj_set_error_handler(codec, quiet, NULL);
  opj_image_t *in = NULL;
  bool ok = opj_setup_decoder(codec, &parameters) &&
            opj_decoder_set_strict_mode(codec, OPJ_TRUE) &&
            opj_read_header(stream, codec, &in);
  // Before the samples are read: their memory is the size that the header says.
  ok = ok && in->x1 > in->x0 && in->y1 > in->y0 &&
       in->x1 - in->x0 <= FE_IMAGE_MAX_PIXELS / (in->y1 - in->y0);
  ok = ok && opj_decode(codec, stream, in) &&
       opj_end_decompress(codec, stream) && convert(image, in);
  if (in)
    opj_image_destroy(in);
  return ok;
}

bool fe_image_jp2(fe_image *image, const uint8_t *data, size_t size) {
  file f = {data, size, 0};
  opj_codec_t *codec =
      opj_create_decompress(data[0] ? OPJ_CODEC_J2K : OPJ_CODEC_JP2);
  opj_stream_t *stream = opj_stream_default_create(OPJ_TRUE);
  bool ok = codec && stream;
  image->no_memory = !ok;
  if (ok) {
    opj_stream_set_user_data(stream, &f, NULL);
    opj_stream_set_user_data_length(stream, size);
    opj_stream_set_read_function(stream, read_bytes);
    opj_stream_set_skip_function(stream, skip);
    opj_stream_set_seek_function(stream, seek);
    ok = read_stream(image, codec, stream);
  }
  if (stream)
    opj_stream_destroy(stream);
  if (codec)
    opj_destroy_codec(codec);
  return ok;
}
