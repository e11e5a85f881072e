//===- image.c - formats told apart -*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "native/image.h"

#include <string.h>

static const struct {
  uint8_t bytes[12], mask[12];
  size_t n;
  fe_image_decoder decode;
} formats[] = {
#define ALL 255, 255, 255, 255
    {{0xff, 0xd8, 0xff}, {255, 255, 255}, 3, fe_image_jpeg},
    {{0x89, 'P', 'N', 'G', 13, 10, 26, 10}, {ALL, ALL}, 8, fe_image_png},
    {{'R', 'I', 'F', 'F', 0, 0, 0, 0, 'W', 'E', 'B', 'P'},
     {ALL, 0, 0, 0, 0, ALL},
     12,
     fe_image_webp},
    {{'I', 'I', 42, 0}, {ALL}, 4, fe_image_tiff},
    {{'M', 'M', 0, 42}, {ALL}, 4, fe_image_tiff},
    {{'I', 'I', 43, 0}, {ALL}, 4, fe_image_tiff}, // of more than 4 GB
    {{'M', 'M', 0, 43}, {ALL}, 4, fe_image_tiff},
    {{0, 0, 0, 12, 'j', 'P', ' ', ' ', 13, 10, 0x87, 10},
     {ALL, ALL, ALL},
     12,
     fe_image_jp2},
    {{0xff, 0x4f, 0xff, 0x51}, {ALL}, 4, fe_image_jp2}, // bare codestream
    {{'B', 'M'}, {255, 255}, 2, fe_image_bmp},
    {{'P', '0'}, {255, 0xf8}, 2, fe_image_pnm}, // P1 ... P6
#undef ALL
};

bool fe_image_begin(fe_image *image, int64_t width, int64_t height,
                    int32_t channels) {
  if (width < 1 || height < 1 || width > FE_IMAGE_MAX_PIXELS / height)
    return false;
  image->width = width;
  image->height = height;
  image->channels = channels;
  image->pixels =
      image->allocate(image->user, (size_t)(width * height * channels));
  image->no_memory = !image->pixels;
  return image->pixels != NULL;
}

int32_t fe_native_image_decode(fe_image *image, const uint8_t *data,
                               size_t size) {
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    size_t k = 0;
    while (k < formats[i].n && k < size &&
           (data[k] & formats[i].mask[k]) == formats[i].bytes[k])
      k++;
    if (k == formats[i].n)
      return formats[i].decode(image, data, size);
  }
  return 0;
}
