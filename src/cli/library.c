//===- library.c - opening a compiled .so ---------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: the loader believes what a file says of itself: one that was cut off,
// or whose weights beside it were, kills the process when its pages are
// touched, and a bit that is not what it was can do so, too. So the hash behind
// the file is compared with it (base/seal.c), which a file that was stripped or
// linked by others does not have; and everything that its headers claim with
// its size, before it is given to the loader.
//
// Needs: ELF of 64 bits, little endian.
//
//===----------------------------------------------------------------------===//
#include "base/base.h"
#include "cli/model.h"
#include "target/target.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __aarch64__
#define HOST_MACHINE EM_AARCH64
#else
#define HOST_MACHINE EM_X86_64
#endif

static const char cut_off[] = "it is cut off or damaged; compile it again";

/// A file in memory.
typedef struct fe_image {
  const char *data;
  uint64_t size;
} fe_image;

/// Whether [offset, offset + size) lies in the file.
static bool inside(const fe_image *f, uint64_t offset, uint64_t size) {
  return offset <= f->size && size <= f->size - offset;
}

/// A table of the file; members are copied out, as it may lie unaligned.
static bool table(const fe_image *f, uint64_t offset, uint64_t n,
                  uint64_t entry_size, uint64_t wanted_size) {
  return !n || (entry_size == wanted_size && inside(f, offset, n * entry_size));
}

/// Everything that the headers know of lies in the file, and nothing behind it.
static const char *check_tables(const fe_image *f, const Elf64_Ehdr *h) {
  if (!h->e_phnum ||
      !table(f, h->e_phoff, h->e_phnum, h->e_phentsize, sizeof(Elf64_Phdr)) ||
      !table(f, h->e_shoff, h->e_shnum, h->e_shentsize, sizeof(Elf64_Shdr)))
    return cut_off;
  uint64_t end = h->e_shoff + h->e_shnum * sizeof(Elf64_Shdr);
  for (unsigned i = 0; i < h->e_phnum; i++) {
    Elf64_Phdr p;
    memcpy(&p, f->data + h->e_phoff + i * sizeof p, sizeof p);
    if (!inside(f, p.p_offset, p.p_filesz) || p.p_filesz > p.p_memsz)
      return cut_off;
    end = p.p_offset + p.p_filesz > end ? p.p_offset + p.p_filesz : end;
  }
  for (unsigned i = 0; i < h->e_shnum; i++) {
    Elf64_Shdr s;
    memcpy(&s, f->data + h->e_shoff + i * sizeof s, sizeof s);
    if (s.sh_type == SHT_NOBITS || s.sh_type == SHT_NULL)
      continue;
    if (!inside(f, s.sh_offset, s.sh_size))
      return cut_off;
    end = s.sh_offset + s.sh_size > end ? s.sh_offset + s.sh_size : end;
  }
  return end < f->size ? cut_off : NULL; // part of a seal
}

static const char *check_image(const fe_image *all) {
  fe_image image = *all, *f = &image;
  Elf64_Ehdr h;
  fe_seal seal = fe_seal_of(f->data, f->size);
  if (seal == FE_SEAL_BROKEN)
    return cut_off;
  if (seal == FE_SEAL_WHOLE)
    f->size -= FE_SEAL_SIZE;
  if (f->size < sizeof h)
    return f->size && !memcmp(f->data, ELFMAG, f->size < 4 ? f->size : 4)
               ? cut_off
               : "it is not a shared library";
  memcpy(&h, f->data, sizeof h);
  if (memcmp(h.e_ident, ELFMAG, SELFMAG) || h.e_type != ET_DYN)
    return "it is not a shared library";
  if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB ||
      h.e_machine != HOST_MACHINE)
    return "it is for another kind of processor than this machine's";
  return check_tables(f, &h);
}

/// Where the file has what is loaded at `address`; NULL: nowhere.
static const char *at_address(const fe_image *f, uint64_t address,
                              uint64_t size) {
  Elf64_Ehdr h;
  memcpy(&h, f->data, sizeof h);
  for (unsigned i = 0; i < h.e_phnum; i++) {
    Elf64_Phdr p;
    memcpy(&p, f->data + h.e_phoff + i * sizeof p, sizeof p);
    if (p.p_type == PT_LOAD && address >= p.p_vaddr &&
        address - p.p_vaddr <= p.p_filesz &&
        size <= p.p_filesz - (address - p.p_vaddr))
      return f->data + p.p_offset + (address - p.p_vaddr);
  }
  return NULL;
}

/// Calls `see` with the name of every library that the file needs, until one
/// gives an error; that, or what is wrong with the list itself.
static const char *each_needed(const fe_image *f,
                               const char *(*see)(void *user, const char *name),
                               void *user) {
  Elf64_Ehdr h;
  Elf64_Phdr p = {0};
  memcpy(&h, f->data, sizeof h);
  for (unsigned i = 0; i < h.e_phnum && p.p_type != PT_DYNAMIC; i++)
    memcpy(&p, f->data + h.e_phoff + i * sizeof p, sizeof p);
  if (p.p_type != PT_DYNAMIC)
    return cut_off;
  size_t n = p.p_filesz / sizeof(Elf64_Dyn);
  uint64_t strings = 0, strings_size = 0;
  Elf64_Dyn d;
  for (size_t i = 0; i < n; i++) {
    memcpy(&d, f->data + p.p_offset + i * sizeof d, sizeof d);
    if (d.d_tag == DT_STRTAB)
      strings = d.d_un.d_ptr;
    if (d.d_tag == DT_STRSZ)
      strings_size = d.d_un.d_val;
  }
  const char *text = at_address(f, strings, strings_size);
  if (!text || !strings_size || text[strings_size - 1])
    return cut_off;
  for (size_t i = 0; i < n; i++) {
    memcpy(&d, f->data + p.p_offset + i * sizeof d, sizeof d);
    if (d.d_tag != DT_NEEDED)
      continue;
    const char *wrong =
        d.d_un.d_val < strings_size ? see(user, text + d.d_un.d_val) : cut_off;
    if (wrong)
      return wrong;
  }
  return NULL;
}

/// Maps the file and gives what is wrong with it, with `more`, if there is,
/// or NULL.
static const char *check_file(const char *path,
                              const char *(*more)(const fe_image *f,
                                                  const char *path)) {
  int fd;
  uint64_t size;
  const char *wrong = fe_regular_open(path, &fd, &size);
  if (wrong)
    return wrong;
  void *data = MAP_FAILED;
  if (!size)
    wrong = "it is empty";
  else if ((data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0)) ==
           MAP_FAILED)
    wrong = strerror(errno);
  close(fd);
  if (wrong)
    return wrong;
  fe_image f = {data, size};
  wrong = check_image(&f);
  if (!wrong && more)
    wrong = more(&f, path);
  munmap(data, f.size);
  return wrong;
}

/// Weights beside: "NAME.weights.so" in the folder of `user`, the model.
static const char *check_weights(void *user, const char *name) {
  const char *path = user, *slash = strrchr(path, '/');
  static const char ending[] = ".weights.so";
  size_t n = strlen(name), folder = slash ? (size_t)(slash - path) + 1 : 0;
  if (n < sizeof ending || strcmp(name + n - sizeof ending + 1, ending))
    return NULL; // the system's
  char *beside = malloc(folder + n + 1);
  if (!beside)
    return "out of memory";
  memcpy(beside, path, folder);
  memcpy(beside + folder, name, n + 1);
  const char *wrong = check_file(beside, NULL);
  free(beside);
  return wrong ? "its weights beside it (NAME.weights.so) are missing, cut off "
                 "or damaged"
               : NULL;
}

static const char *check_needed(const fe_image *f, const char *path) {
  return each_needed(f, check_weights, (void *)(uintptr_t)path);
}

/// Code for a processor that has more than this one would end in an illegal
/// instruction.
static bool runs_here(const char *cpu) {
  fe_target storage;
  const fe_target *t = fe_target_find(cpu, &storage);
  return !t || fe_target_runs_here(t);
}

bool fe_is_library(const char *path) {
  size_t n = strlen(path);
  return n >= 3 && !strcmp(path + n - 3, ".so");
}

int fe_library_open(fe_cli *c, const char *path, void **library,
                    const ferrule_model **model) {
  *library = NULL;
  const char *wrong = check_file(path, check_needed);
  if (wrong) {
    fe_cli_error(c, "%s: %s", path, wrong);
    return EXIT_REFUSED;
  }
  // dlopen looks for names without a slash elsewhere
  char *name = malloc(strlen(path) + 3);
  if (name) {
    sprintf(name, "%s%s", strchr(path, '/') ? "" : "./", path);
    *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    free(name);
  }
  if (!*library) {
    fe_cli_error(c, "%s", name ? dlerror() : "out of memory");
    return EXIT_REFUSED;
  }
  char symbol[256];
  snprintf(symbol, sizeof symbol, "%s_model",
           c->options.prefix ? c->options.prefix : "ferrule");
  const ferrule_model *m = dlsym(*library, symbol);
  if (!m) {
    fe_cli_error(c, "%s has no symbol %s; was it compiled with --prefix?", path,
                 symbol);
    return EXIT_REFUSED;
  }
  if (m->abi_version != FERRULE_ABI_VERSION) {
    fe_cli_error(c, "%s has version %u of the interface, wanted is %u", path,
                 m->abi_version, FERRULE_ABI_VERSION);
    return EXIT_REFUSED;
  }
  *model = m;
  return 0;
}

const char *fe_library_level(const ferrule_model *model) {
  uint32_t i = model->n_levels;
  while (i && !runs_here(model->levels[i - 1]->cpu))
    i--;
  return i ? model->levels[i - 1]->cpu : NULL;
}

/// The level that --cpu names, of several or the only one.
static int take_level(fe_cli *c, const char *path,
                      const ferrule_model **model) {
  const char *name = c->options.target;
  const ferrule_model *m = *model;
  if (!name || !strcmp(name, "multi") || !strcmp(name, "native") ||
      (!m->n_levels && !strcmp(name, m->cpu)))
    return 0;
  for (uint32_t i = 0; i < m->n_levels; i++)
    if (!strcmp(m->levels[i]->cpu, name)) {
      *model = m->levels[i];
      return 0;
    }
  fe_cli_error(c, "%s is not for %s, but for %s", path, name, m->cpu);
  return EXIT_REFUSED;
}

int fe_library_fits(fe_cli *c, const char *path, const ferrule_model **which) {
  int code = take_level(c, path, which);
  if (code)
    return code;
  const ferrule_model *model = *which;
  const char *least = model->n_levels ? model->levels[0]->cpu : model->cpu;
  if (!runs_here(least)) {
    fe_cli_error(c, "%s is for the processor %s, which has more than this one",
                 path, least);
    return EXIT_REFUSED;
  }
  for (size_t i = 0; i < c->options.n_dims; i++) {
    uint32_t s = 0;
    while (s < model->n_symbols && strcmp(model->symbols[s], c->dims[i].name))
      s++;
    if (s == model->n_symbols) {
      fe_cli_error(c,
                   "no input has an open dimension called '%s'; 'ferrule "
                   "info %s' lists them",
                   c->dims[i].name, path);
      return EXIT_REFUSED;
    }
  }
  return 0;
}
