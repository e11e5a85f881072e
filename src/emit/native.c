//===- native.c - packaged C libraries for models ----------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of the runtime that rest on libraries of the distribution are an
// object made when Ferrule is built (cmake/native.cmake), for the kind of
// processor that it was built on. It is here twice: linked in, where models
// that run in this process find it, and as bytes, for artifacts.
//
//===----------------------------------------------------------------------===//
#include "emit/parts.h"
#include "ferrule_config.h"

#include <string.h>

#if FERRULE_HAVE_IMAGES
extern const unsigned char fe_native_image_object[],
    fe_native_image_object_end[];
__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        ".globl fe_native_image_object, fe_native_image_object_end\n"
        ".hidden fe_native_image_object, fe_native_image_object_end\n"
        "fe_native_image_object:\n"
        ".incbin \"" FERRULE_NATIVE_IMAGE "\"\n"
        "fe_native_image_object_end:\n"
        ".popsection\n");
// Called by models only: the type does not matter here.
void fe_native_image_decode(void);
#endif

static const struct {
  const char *symbol;
  void (*function)(void);
  const unsigned char *object, *end;
} natives[] = {
#if FERRULE_HAVE_IMAGES
    {"fe_native_image_decode", fe_native_image_decode, fe_native_image_object,
     fe_native_image_object_end},
#endif
    {0},
};

unsigned fe_native_used(LLVMModuleRef m) {
  unsigned used = 0;
  for (unsigned i = 0; natives[i].symbol; i++)
    if (LLVMGetNamedFunction(m, natives[i].symbol))
      used |= 1u << i;
  return used;
}

const char *fe_native_symbol(unsigned i) { return natives[i].symbol; }

void *fe_native_address(unsigned i) {
  void *address;
  memcpy(&address, &natives[i].function, sizeof address);
  return address;
}

fe_bytes fe_native_object(unsigned i) {
  return (fe_bytes){natives[i].object,
                    (size_t)(natives[i].end - natives[i].object)};
}
