//===- image_webp.c - WebP by libwebp -*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of a moving picture the first frame, on black.
//
//===----------------------------------------------------------------------===//
#include "native/image.h"

#include <string.h>

#include <webp/decode.h>
#include <webp/demux.h>

static bool decode(fe_image *image, const uint8_t *data, size_t size, int64_t x,
                   int64_t y) {
  size_t stride = (size_t)image->width * 3;
  uint8_t *at = fe_image_row(image, y) + x * 3;
  size_t room = (size_t)(image->height - y) * stride - (size_t)x * 3;
  return WebPDecodeRGBInto(data, size, at, room, (int)stride) != NULL;
}

static bool first_frame(fe_image *image, const WebPDemuxer *all) {
  WebPIterator frame = {0};
  bool ok = WebPDemuxGetFrame(all, 1, &frame);
  if (ok) {
    int64_t w = WebPDemuxGetI(all, WEBP_FF_CANVAS_WIDTH);
    int64_t h = WebPDemuxGetI(all, WEBP_FF_CANVAS_HEIGHT);
    ok = frame.x_offset >= 0 && frame.y_offset >= 0 &&
         frame.x_offset + (int64_t)frame.width <= w &&
         frame.y_offset + (int64_t)frame.height <= h &&
         fe_image_begin(image, w, h, 3);
    if (ok) {
      memset(image->pixels, 0, (size_t)(w * h * 3));
      ok = decode(image, frame.fragment.bytes, frame.fragment.size,
                  frame.x_offset, frame.y_offset);
    }
  }
  WebPDemuxReleaseIterator(&frame);
  return ok;
}

bool fe_image_webp(fe_image *image, const uint8_t *data, size_t size) {
  WebPBitstreamFeatures f;
  if (WebPGetFeatures(data, size, &f) != VP8_STATUS_OK)
    return false;
  if (!f.has_animation)
    return fe_image_begin(image, f.width, f.height, 3) &&
           decode(image, data, size, 0, 0);
  WebPDemuxer *all = WebPDemux(&(WebPData){data, size});
  if (!all)
    return false;
  bool ok = first_frame(image, all);
  WebPDemuxDelete(all);
  return ok;
}
