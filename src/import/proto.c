//===- proto.c - decoding protobuf files ----------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: nanopb walks the wire format. All fields but single numbers go
// through one callback (fe_proto_field), which takes pointers into the input
// instead of copying. nanopb hands a callback only the message struct it fills,
// so the reader is stored in front of every such struct.
//
//===----------------------------------------------------------------------===//
#include "import/proto.h"

#include <pb_decode.h>
#include <string.h>

typedef struct reader {
  fe_arena *arena;
  const uint8_t *start, *at, *end;
  const char *message; // innermost message being read
  const char *problem; // more exact than nanopb's word; NULL: that one
  unsigned depth;
  size_t memory;
} reader;

/// What lies in front of each message struct; keeps the struct aligned.
typedef union header {
  reader *r;
  max_align_t align;
} header;

typedef struct message_info {
  const pb_msgdesc_t *desc;
  size_t size;
  const char *name;
} message_info;

#define MESSAGE(T) {&onnx_##T##_msg, sizeof(onnx_##T), #T}
static const message_info messages[] = {
    MESSAGE(NodeProto),         MESSAGE(AttributeProto),
    MESSAGE(ValueInfoProto),    MESSAGE(TypeProto),
    MESSAGE(TensorType),        MESSAGE(TensorShapeProto),
    MESSAGE(Dimension),         MESSAGE(TensorProto),
    MESSAGE(Segment),           MESSAGE(StringStringEntryProto),
    MESSAGE(GraphProto),        MESSAGE(ElementType),
    MESSAGE(MapType),           MESSAGE(OpaqueType),
    MESSAGE(SparseTensorProto), MESSAGE(OperatorSetIdProto),
    MESSAGE(FunctionProto),     MESSAGE(ModelProto),
    MESSAGE(SequenceProto),     MESSAGE(OptionalProto),
};
#undef MESSAGE

static bool input_read(pb_istream_t *stream, pb_byte_t *buf, size_t count) {
  reader *r = stream->state;
  if (count > (size_t)(r->end - r->at))
    return false;
  memcpy(buf, r->at, count);
  r->at += count;
  return true;
}

static bool give_up(pb_istream_t *stream, reader *r, const char *why) {
  r->problem = why;
  PB_RETURN_ERROR(stream, "refused");
}

static bool reserve(pb_istream_t *stream, reader *r, size_t size) {
  r->memory += size;
  if (r->memory > FE_PROTO_MAX_MEMORY)
    return give_up(stream, r, "describes more than 512 MiB of graph");
  return true;
}

/// Decodes the rest of `stream` into *message, a new struct if it is NULL (a
/// second occurrence of a message is merged into the first: protobuf's rule).
static bool message_read(pb_istream_t *stream, reader *r,
                         const pb_msgdesc_t *desc, void **message) {
  const message_info *info = messages;
  while (info->desc != desc)
    info++;
  if (r->depth == FE_PROTO_MAX_DEPTH)
    return give_up(stream, r, "is nested more than 100 levels deep");
  if (!*message) {
    size_t size = sizeof(header) + info->size;
    if (!reserve(stream, r, size))
      return false;
    header *h = fe_alloc(r->arena, size);
    h->r = r;
    *message = h + 1;
  }
  const char *outer = r->message;
  r->message = info->name;
  r->depth++;
  if (!pb_decode_ex(stream, desc, *message, PB_DECODE_NOINIT))
    return false;
  r->depth--;
  r->message = outer;
  return true;
}

/// Appends one element to a list.
static bool list_add(pb_istream_t *stream, reader *r, fe_list *l,
                     const void *element, size_t size) {
  if (l->n == l->cap) {
    size_t cap = l->cap ? 2 * l->cap : 4;
    if (!reserve(stream, r, cap * size))
      return false;
    void *at = fe_alloc(r->arena, cap * size);
    if (l->n)
      memcpy(at, l->at, l->n * size);
    l->at = at;
    l->cap = cap;
  }
  memcpy((char *)l->at + l->n++ * size, element, size);
  return true;
}

static fe_raw bytes_take(pb_istream_t *stream, reader *r) {
  fe_raw raw = {.at = r->at, .n = stream->bytes_left};
  r->at += raw.n;
  stream->bytes_left = 0;
  return raw;
}

static bool name_take(pb_istream_t *stream, reader *r, fe_name *out) {
  fe_raw raw = bytes_take(stream, r);
  if (memchr(raw.at, 0, raw.n))
    return give_up(stream, r, "has a zero byte in a name");
  if (raw.n > FE_PROTO_MAX_NAME)
    return give_up(stream, r, "has a name of more than 64 KiB");
  if (!reserve(stream, r, raw.n + 1))
    return false;
  *out = fe_strndup(r->arena, (const char *)raw.at, raw.n);
  return true;
}

/// Adds the encoding of one or more numbers: kept where it is in the usual
/// case of one packed run, else copied together.
static bool numbers_add(pb_istream_t *stream, reader *r, fe_raw *to,
                        bool packed) {
  if (packed && !to->n) {
    *to = bytes_take(stream, r);
    return true;
  }
  size_t n = stream->bytes_left, need = to->n + n;
  if (need > to->cap) {
    size_t cap = need < 32 ? 64 : 2 * need;
    if (!reserve(stream, r, cap))
      return false;
    uint8_t *at = fe_alloc(r->arena, cap);
    if (to->n)
      memcpy(at, to->at, to->n);
    to->at = at;
    to->cap = cap;
  }
  uint8_t *end = (uint8_t *)to->at + to->n; // ours, since cap > 0
  to->n = need;
  return pb_read(stream, end, n);
}

bool fe_proto_field(pb_istream_t *stream, pb_ostream_t *unused,
                    const pb_field_t *field) {
  (void)unused;
  reader *r = ((header *)field->message)[-1].r;
  pb_type_t type = PB_LTYPE(field->type);
  bool repeated = PB_HTYPE(field->type) == PB_HTYPE_REPEATED;
  // nanopb copies numbers to its stack and gives a stream over that.
  bool delimited = stream->callback == input_read;
  if (type <= PB_LTYPE_LAST_PACKABLE)
    return numbers_add(stream, r, field->pData, delimited);
  if (!delimited)
    return give_up(stream, r, "has a number where text or a message belongs");
  if (PB_LTYPE_IS_SUBMSG(type)) {
    void *message = NULL;
    if (!repeated)
      memcpy(&message, field->pData, sizeof(message));
    if (!message_read(stream, r, field->submsg_desc, &message))
      return false;
    if (repeated)
      return list_add(stream, r, field->pData, &message, sizeof(message));
    memcpy(field->pData, &message, sizeof(message));
    return true;
  }
  if (type == PB_LTYPE_STRING) {
    fe_name name;
    if (!name_take(stream, r, &name))
      return false;
    if (repeated)
      return list_add(stream, r, field->pData, &name, sizeof(name));
    *(fe_name *)field->pData = name;
    return true;
  }
  fe_raw raw = bytes_take(stream, r);
  if (repeated)
    return list_add(stream, r, field->pData, &raw, sizeof(raw));
  *(fe_raw *)field->pData = raw;
  return true;
}

static fe_status root_read(fe_diags *d, fe_arena *arena, const char *path,
                           const uint8_t *data, size_t size,
                           const pb_msgdesc_t *desc, const char *what,
                           void **out) {
  fe_where where = {.file = path};
  reader r = {.arena = arena, .start = data, .at = data, .end = data + size};
  pb_istream_t stream = {
      .callback = input_read, .state = &r, .bytes_left = size};
  *out = NULL;
  if (message_read(&stream, &r, desc, out))
    return FE_OK;
  const char *why = r.problem;
  if (!why)
    why = !strcmp(PB_GET_ERROR(&stream), "end-of-stream") ||
                  !strcmp(PB_GET_ERROR(&stream), "parent stream too short")
              ? "ends in the middle of a field"
              : "is not valid protobuf";
  return fe_error(d, where,
                  "it is damaged, cut off or of another format; get it again",
                  "not %s: it %s (byte %zu of %zu, in %s)", what, why,
                  (size_t)(r.at - r.start), size, r.message);
}

fe_status fe_proto_model(fe_diags *d, fe_arena *arena, const char *path,
                         const uint8_t *data, size_t size,
                         onnx_ModelProto **out) {
  if (size == 0)
    return fe_error(d, (fe_where){.file = path}, "get the file again",
                    "the file is empty");
  return root_read(d, arena, path, data, size, &onnx_ModelProto_msg,
                   "an ONNX model", (void **)out);
}

fe_status fe_proto_tensor(fe_diags *d, fe_arena *arena, const char *path,
                          const uint8_t *data, size_t size,
                          onnx_TensorProto **out) {
  return root_read(d, arena, path, data, size, &onnx_TensorProto_msg,
                   "an ONNX tensor", (void **)out);
}

fe_status fe_proto_sequence(fe_diags *d, fe_arena *arena, const char *path,
                            const uint8_t *data, size_t size,
                            onnx_SequenceProto **out) {
  return root_read(d, arena, path, data, size, &onnx_SequenceProto_msg,
                   "an ONNX sequence", (void **)out);
}

fe_status fe_proto_optional(fe_diags *d, fe_arena *arena, const char *path,
                            const uint8_t *data, size_t size,
                            onnx_OptionalProto **out) {
  return root_read(d, arena, path, data, size, &onnx_OptionalProto_msg,
                   "an ONNX optional", (void **)out);
}

bool fe_varint(const uint8_t **at, const uint8_t *end, uint64_t *out) {
  uint64_t v = 0;
  const uint8_t *p = *at;
  for (unsigned shift = 0; shift < 70 && p < end; shift += 7) {
    uint8_t b = *p++;
    v |= (uint64_t)(b & 0x7f) << shift;
    if (!(b & 0x80)) {
      *at = p;
      *out = v;
      return true;
    }
  }
  return false;
}

size_t fe_raw_count(fe_raw raw) {
  size_t n = 0;
  for (size_t i = 0; i < raw.n; i++)
    n += !(raw.at[i] & 0x80);
  return n;
}

bool fe_raw_i64s(fe_arena *arena, fe_raw raw, int64_t **out, size_t *n) {
  const uint8_t *at = raw.at, *end = raw.at + raw.n;
  size_t count = fe_raw_count(raw);
  *out = FE_NEW_N(arena, int64_t, count);
  for (*n = 0; *n < count; ++*n) {
    uint64_t v;
    if (!fe_varint(&at, end, &v))
      return false;
    (*out)[*n] = (int64_t)v;
  }
  return at == end;
}
