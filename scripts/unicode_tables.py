#!/usr/bin/env python3
"""usage: scripts/unicode_tables.py

Writes runtime/unicode_case.h, the C library's simple case mappings, and
src/op/unicode_class.inc, categories and scripts as Perl knows them. Both are
in the repository; this is for newer versions of Unicode. Needs: perl, glibc
with the locale C.UTF-8.
"""
import ctypes
import os
import subprocess

os.chdir(os.path.join(os.path.dirname(__file__), ".."))
HEAD = """//===- {0} {1:-<{2}}*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// {3}
//
//===----------------------------------------------------------------------===//
"""


def head(name, what, text):
    return HEAD.format(name, "- " + what + " ", 56 - len(name), text)


def wrap(items, width=80):
    line = ""
    for item in items:
        if len(line) + len(item) + 1 > width:
            yield line
            line = ""
        line += (" " if line else "") + item
    yield line


def mapping_rows(to):
    """[first, count, step, difference] of all characters that `to` changes."""
    rows = []
    for c in range(0x110000):
        d = to(c) - c
        if not d:
            continue
        for row in rows[-1:]:
            first, count, step, difference = row
            gap = c - (first + (count - 1) * step)
            if difference == d and (gap == step or (count == 1 and gap <= 2)):
                row[1:3] = count + 1, gap
                break
        else:
            rows.append([c, 1, 1, d])
    return rows


libc = ctypes.CDLL("libc.so.6")
libc.setlocale.restype = ctypes.c_char_p
assert libc.setlocale(0, b"C.UTF-8")
with open("runtime/unicode_case.h", "w") as f:
    f.write(head("unicode_case.h", "upper and lower case",
                 "Made by scripts/unicode_tables.py."))
    f.write("""#ifndef FE_UNICODE_CASE_H
#define FE_UNICODE_CASE_H

#include <stdint.h>

/// `count` characters from `first`, `step` apart, each plus `difference`.
typedef struct fe_case_row {
  uint32_t first;
  uint16_t count, step;
  int32_t difference;
} fe_case_row;

// clang-format off
""")
    for name, to in ("upper", libc.towupper), ("lower", libc.towlower):
        f.write(f"static const fe_case_row fe_case_{name}[] = {{\n")
        items = ["{%#x,%d,%d,%d}," % tuple(r) for r in mapping_rows(to)]
        f.write("\n".join(wrap(items)) + "\n};\n")
    f.write("// clang-format on\n\n#endif\n")


def perl(name):
    out = subprocess.run(
        ["perl", "-e", "use Unicode::UCD qw(prop_invmap);"
         f"my ($l,$m)=prop_invmap('{name}');"
         "print \"$l->[$_] $m->[$_]\\n\" for 0..$#$l;"],
        capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in out.splitlines()]
    starts = [int(r[0]) for r in rows] + [0x110000]
    classes = {}
    for (_, value), a, b in zip(rows, starts, starts[1:]):
        if a < 0x110000:
            classes.setdefault(value, []).append((a, min(b, 0x110000)))
    return classes


def put(f, kind, classes):
    """Ranges as distances, begin and length in turn; names where they end."""
    numbers, names, at = [], [], 0
    for name in sorted(classes):
        last = 0
        for a, b in classes[name]:
            numbers += [a - last, b - a]
            last = b
        at += len(classes[name])
        names.append((name, at))
    f.write(f"static const uint32_t {kind}_ranges[] = {{\n")
    f.write("\n".join(wrap([f"{n}," for n in numbers])) + "\n};\n")
    f.write(f"static const class_name {kind}_names[] = {{\n")
    f.write("\n".join(wrap(['{"%s",%d},' % n for n in names])) + "\n};\n")


with open("src/op/unicode_class.inc", "w") as f:
    f.write(head("unicode_class.inc", "categories and scripts",
                 "Made by scripts/unicode_tables.py."))
    categories = {k: v for k, v in perl("General_Category").items()
                  if k not in ("Cn", "Unassigned")}
    scripts = {k: v for k, v in perl("Script").items()
               if k not in ("Unknown", "Zzzz")}
    put(f, "category", categories)
    put(f, "script", scripts)
