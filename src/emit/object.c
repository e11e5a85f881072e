//===- object.c - weights in ELF files, local symbols ------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The linker never sees the weights: it gets an object with a section of their
// size and no contents (NOBITS), which costs it nothing. Afterwards the data is
// appended to the linked file, page aligned, and the section is pointed at it.
// In a shared object the section also needs a segment of its own: it lies at
// the end of a read-only segment, which is cut there, and the program header of
// the build id, which nothing needs at run time, becomes the new segment. So
// the weights are written once and need no memory.
//
// ELF64, little endian. Reference: System V ABI, chapters 4 and 5.
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "emit/parts.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096u
// The section is called .ferrule.weights. Beyond LARGE bytes, 32-bit distances
// across it may not do; linkers put sections that are marked large (ld.lld) or
// called .lrodata.* (GNU ld) where they are in nobody's way.
#define SECTION ".lrodata.ferrule.weights"
#define SMALL_SKIPS strlen(".lrodata")
#define LARGE (UINT64_C(1) << 30)
#define SHF_LARGE 0x10000000u // SHF_X86_64_LARGE

static uint64_t align_up(uint64_t x, uint64_t a) { return (x + a - 1) / a * a; }

static fe_status malformed(fe_diags *d, const char *path) {
  fe_report(d, FE_SEV_INTERNAL, (fe_where){.file = path}, NULL,
            "the linker's output is not as expected");
  return FE_FAILED;
}

//===-- The object that reserves --------------------------------------------//

enum { NONE, WEIGHTS, SYMTAB, STRTAB, SHSTRTAB, STACK, COUNT };
static const char names[] = "\0" SECTION "\0.symtab\0.strtab\0.shstrtab\0"
                            ".note.GNU-stack";

typedef struct weights_object {
  Elf64_Ehdr header;
  Elf64_Shdr section[COUNT];
  Elf64_Sym symbol[2];
  char names[sizeof names];
} weights_object; // the name of the symbol follows

/// Of many weights in a shared object, that of the processor's larger pages:
/// where they begin at such an address and such an offset of the file, Linux
/// may map them so, which needs fewer translations of addresses.
static uint64_t alignment(const fe_model_info *info, bool shared) {
  return shared && info->weight_bytes >= 4 * FE_HUGE_PAGE ? FE_HUGE_PAGE : PAGE;
}

fe_bytes fe_weights_object(fe_arena *arena, const fe_model_info *info,
                           bool hidden, bool shared, uint16_t machine) {
  const char *symbol = info->weights;
  size_t strtab_size = strlen(symbol) + 2;
  size_t size = sizeof(weights_object) + strtab_size;
  weights_object *o = fe_alloc(arena, size);
  o->header = (Elf64_Ehdr){.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
                                       ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                           .e_type = ET_REL,
                           .e_machine = machine,
                           .e_version = EV_CURRENT,
                           .e_shoff = offsetof(weights_object, section),
                           .e_ehsize = sizeof(Elf64_Ehdr),
                           .e_shentsize = sizeof(Elf64_Shdr),
                           .e_shnum = COUNT,
                           .e_shstrndx = SHSTRTAB};
  memcpy(o->names, names, sizeof names);
  for (unsigned i = 0, at = 0; i < COUNT; i++) {
    o->section[i].sh_name = at;
    at += (unsigned)strlen(names + at) + 1;
  }
  Elf64_Shdr *s = o->section;
  uint64_t large = info->weight_bytes >= LARGE && machine == EM_X86_64;
  s[WEIGHTS].sh_name += large ? 0 : SMALL_SKIPS;
  s[WEIGHTS].sh_type = SHT_NOBITS;
  s[WEIGHTS].sh_flags = SHF_ALLOC | (large ? SHF_LARGE : 0);
  s[WEIGHTS].sh_size = info->weight_bytes;
  s[WEIGHTS].sh_addralign = alignment(info, shared);
  s[SYMTAB].sh_type = SHT_SYMTAB;
  s[SYMTAB].sh_offset = offsetof(weights_object, symbol);
  s[SYMTAB].sh_size = sizeof o->symbol;
  s[SYMTAB].sh_link = STRTAB;
  s[SYMTAB].sh_info = 1; // first global symbol
  s[SYMTAB].sh_addralign = 8;
  s[SYMTAB].sh_entsize = sizeof(Elf64_Sym);
  s[STRTAB].sh_type = s[SHSTRTAB].sh_type = SHT_STRTAB;
  s[STRTAB].sh_offset = sizeof *o;
  s[STRTAB].sh_size = strtab_size;
  s[SHSTRTAB].sh_offset = offsetof(weights_object, names);
  s[SHSTRTAB].sh_size = sizeof names;
  s[STACK].sh_type = SHT_PROGBITS;
  s[STACK].sh_offset = sizeof *o;
  o->symbol[1] = (Elf64_Sym){.st_name = 1,
                             .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
                             .st_other = hidden ? STV_HIDDEN : STV_DEFAULT,
                             .st_shndx = WEIGHTS,
                             .st_size = info->weight_bytes};
  memcpy((char *)(o + 1) + 1, symbol, strlen(symbol));
  return (fe_bytes){o, size};
}

//===-- Filling in ----------------------------------------------------------//

static fe_status write_blobs(fe_diags *d, int fd, const char *path,
                             const fe_model_info *info, uint64_t at) {
  if (ftruncate(fd, (off_t)(at + info->weight_bytes)))
    return fe_file_error(d, path, "make room for the weights", errno);
  bool done = at % FE_HUGE_PAGE == 0 ? fe_blobs_write_huge(info, fd, at)
                                     : fe_blobs_write(info, fd, at);
  return done ? FE_OK : fe_file_error(d, path, "write the weights", errno);
}

void fe_weights_copy(const fe_model_info *info, void *at) {
  for (unsigned i = 0; i < info->n_blobs; i++)
    if (info->blobs[i].blob->size)
      fe_blob_put(info->blobs[i].blob, (char *)at + info->blobs[i].offset);
}

static int by_address(const void *a, const void *b) {
  const Elf64_Phdr *x = a, *y = b;
  return x->p_vaddr < y->p_vaddr ? -1 : x->p_vaddr > y->p_vaddr;
}

/// ld.lld makes .lrodata of .lrodata.* in a shared object.
static bool is_weights(const char *section) {
  return !strcmp(section, SECTION) || !strcmp(section, SECTION + SMALL_SKIPS) ||
         !strcmp(section, ".lrodata");
}

/// Gives the section a segment of its own in the program headers.
static bool add_segment(Elf64_Phdr *ph, unsigned n, const Elf64_Shdr *s,
                        uint64_t offset) {
  Elf64_Phdr *host = NULL, *spare = NULL;
  unsigned n_loads = 0;
  for (unsigned i = 0; i < n; i++) {
    Elf64_Phdr *p = &ph[i];
    if (p->p_type == PT_LOAD && s->sh_addr >= p->p_vaddr &&
        s->sh_addr + s->sh_size <= p->p_vaddr + p->p_memsz)
      host = p;
    if (p->p_type == PT_NOTE)
      spare = p;
  }
  if (!host || !spare || s->sh_addr < host->p_vaddr + host->p_filesz)
    return false;
  host->p_memsz = host->p_filesz;
  *spare = (Elf64_Phdr){.p_type = PT_LOAD,
                        .p_flags = PF_R,
                        .p_offset = offset,
                        .p_vaddr = s->sh_addr,
                        .p_paddr = s->sh_addr,
                        .p_filesz = s->sh_size,
                        .p_memsz = s->sh_size,
                        .p_align = s->sh_addralign};
  host->p_align = PAGE;
  // The loader wants segments by address: all PT_LOAD in the places of all.
  Elf64_Phdr sorted[64];
  if (n > 64)
    return false;
  for (unsigned i = 0; i < n; i++)
    if (ph[i].p_type == PT_LOAD)
      sorted[n_loads++] = ph[i];
  qsort(sorted, n_loads, sizeof *sorted, by_address);
  for (unsigned i = 0, k = 0; i < n; i++)
    if (ph[i].p_type == PT_LOAD)
      ph[i] = sorted[k++];
  return true;
}

fe_status fe_weights_fill(fe_diags *d, int fd, const char *path, uint64_t base,
                          const fe_model_info *info) {
  if (!info->weight_bytes)
    return FE_OK;
  Elf64_Ehdr h;
  struct stat st;
  if (fstat(fd, &st) || !fe_read_at(fd, &h, sizeof h, base))
    return fe_file_error(d, path, "read the linker's output", errno);
  size_t sections_size = (size_t)h.e_shnum * sizeof(Elf64_Shdr);
  size_t segments_size = (size_t)h.e_phnum * sizeof(Elf64_Phdr);
  Elf64_Shdr *s = fe_alloc(d->arena, sections_size);
  Elf64_Phdr *ph = fe_alloc(d->arena, segments_size + 1);
  if (!fe_read_at(fd, s, sections_size, base + h.e_shoff) ||
      h.e_shstrndx >= h.e_shnum ||
      (segments_size && !fe_read_at(fd, ph, segments_size, base + h.e_phoff)))
    return malformed(d, path);
  char *names = fe_alloc(d->arena, s[h.e_shstrndx].sh_size + 1);
  if (!fe_read_at(fd, names, s[h.e_shstrndx].sh_size,
                  base + s[h.e_shstrndx].sh_offset))
    return malformed(d, path);
  Elf64_Shdr *weights = NULL;
  for (unsigned i = 1; i < h.e_shnum; i++)
    if (s[i].sh_type == SHT_NOBITS && s[i].sh_name < s[h.e_shstrndx].sh_size &&
        is_weights(names + s[i].sh_name))
      weights = &s[i];
  if (!weights)
    return FE_OK; // nothing refers to them, or they lie beside
  uint64_t unit = segments_size ? weights->sh_addralign : PAGE;
  uint64_t at = align_up((uint64_t)st.st_size - base, unit);
  weights->sh_type = SHT_PROGBITS;
  weights->sh_offset = at;
  if (segments_size && !add_segment(ph, h.e_phnum, weights, at))
    return malformed(d, path);
  if (!fe_write_at(fd, s, sections_size, base + h.e_shoff) ||
      (segments_size && !fe_write_at(fd, ph, segments_size, base + h.e_phoff)))
    return fe_file_error(d, path, "write the section headers", errno);
  return write_blobs(d, fd, path, info, base + at);
}

//===-- Local symbols -------------------------------------------------------//

typedef struct image {
  char *data;
  uint64_t size;
  Elf64_Ehdr *header;
  Elf64_Shdr *sections;
} image;

static bool inside(const image *o, uint64_t at, uint64_t n) {
  return at <= o->size && n <= o->size - at;
}

static bool stays_global(const char *name, const char *model) {
  return !strncmp(name, "ferrule_", strlen("ferrule_")) || !strcmp(name, model);
}

/// Local symbols come first in a table: orders it anew and gives every
/// symbol's new number. 0: malformed.
static bool reorder(image *o, Elf64_Shdr *table, const char *model,
                    uint32_t *number, Elf64_Sym *copy) {
  Elf64_Sym *sym = (Elf64_Sym *)(o->data + table->sh_offset);
  uint64_t n = table->sh_size / sizeof *sym;
  const Elf64_Shdr *text = &o->sections[table->sh_link];
  if (table->sh_link >= o->header->e_shnum ||
      !inside(o, text->sh_offset, text->sh_size) || !text->sh_size ||
      o->data[text->sh_offset + text->sh_size - 1])
    return false;
  const char *names = o->data + text->sh_offset;
  for (uint64_t i = 0; i < n; i++) {
    if (sym[i].st_name >= text->sh_size)
      return false;
    if (sym[i].st_shndx != SHN_UNDEF &&
        ELF64_ST_BIND(sym[i].st_info) != STB_LOCAL &&
        !stays_global(names + sym[i].st_name, model)) {
      sym[i].st_info = ELF64_ST_INFO(STB_LOCAL, ELF64_ST_TYPE(sym[i].st_info));
      sym[i].st_other = STV_DEFAULT;
    }
  }
  uint32_t next = 0;
  memcpy(copy, sym, n * sizeof *sym);
  for (int global = 0; global < 2; global++) {
    for (uint64_t i = 0; i < n; i++)
      if ((ELF64_ST_BIND(copy[i].st_info) != STB_LOCAL) == global) {
        number[i] = next;
        sym[next++] = copy[i];
      }
    if (!global)
      table->sh_info = next;
  }
  return true;
}

static bool renumber(image *o, const Elf64_Shdr *rela, const uint32_t *number,
                     uint64_t n) {
  Elf64_Rela *r = (Elf64_Rela *)(o->data + rela->sh_offset);
  for (uint64_t i = 0; i < rela->sh_size / sizeof *r; i++) {
    uint64_t s = ELF64_R_SYM(r[i].r_info);
    if (s >= n)
      return false;
    r[i].r_info = ELF64_R_INFO((uint64_t)number[s], ELF64_R_TYPE(r[i].r_info));
  }
  return true;
}

static bool localize(fe_arena *arena, image *o, const char *model) {
  if (o->size < sizeof *o->header)
    return false;
  o->header = (Elf64_Ehdr *)o->data;
  unsigned count = o->header->e_shnum;
  if (!inside(o, o->header->e_shoff, count * sizeof(Elf64_Shdr)))
    return false;
  o->sections = (Elf64_Shdr *)(o->data + o->header->e_shoff);
  for (unsigned t = 1; t < count; t++) {
    Elf64_Shdr *table = &o->sections[t];
    if (table->sh_type != SHT_SYMTAB)
      continue;
    uint64_t n = table->sh_size / sizeof(Elf64_Sym);
    uint32_t *number = FE_NEW_N(arena, uint32_t, n + 1);
    Elf64_Sym *copy = FE_NEW_N(arena, Elf64_Sym, n + 1);
    if (!inside(o, table->sh_offset, table->sh_size) ||
        !reorder(o, table, model, number, copy))
      return false;
    for (unsigned i = 1; i < count; i++) {
      Elf64_Shdr *s = &o->sections[i];
      if (s->sh_link != t)
        continue;
      if (s->sh_type == SHT_GROUP && s->sh_info < n)
        s->sh_info = number[s->sh_info];
      if (s->sh_type == SHT_SYMTAB_SHNDX ||
          (s->sh_type == SHT_RELA && (!inside(o, s->sh_offset, s->sh_size) ||
                                      !renumber(o, s, number, n))))
        return false;
    }
  }
  return true;
}

fe_status fe_object_localize(fe_diags *d, int fd, const char *path,
                             const char *prefix) {
  struct stat st;
  if (fstat(fd, &st))
    return fe_file_error(d, path, "read the linker's output", errno);
  image o = {.size = (uint64_t)st.st_size};
  o.data = fe_alloc(d->arena, o.size);
  if (!fe_read_at(fd, o.data, o.size, 0))
    return fe_file_error(d, path, "read the linker's output", errno);
  if (!localize(d->arena, &o, fe_printf(d->arena, "%s_model", prefix)))
    return malformed(d, path);
  if (!fe_write_at(fd, o.data, o.size, 0))
    return fe_file_error(d, path, "write the symbols", errno);
  return FE_OK;
}
