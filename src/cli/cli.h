//===- cli.h - the subcommands of the program --------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One file per subcommand; the table is in main.c. Each parses its own options
// with fe_cli_next, which knows the shared ones.
//
//===----------------------------------------------------------------------===//
#ifndef FE_CLI_H
#define FE_CLI_H

#include "ferrule/compiler.h"

#include <stdbool.h>
#include <stdio.h>

/// Exit codes, for scripts: those of ferrule_status.
enum { EXIT_REFUSED = 1, EXIT_USAGE = 2, EXIT_INTERNAL = 3 };

/// One option of a subcommand.
typedef struct fe_cli_option {
  const char *name;  // without dashes: "output"
  char letter;       // 'o', or 0
  const char *value; // placeholder of its value, NULL: a flag
  const char *help;
} fe_cli_option;

struct fe_cli;
typedef struct fe_command {
  const char *name;
  const char *arguments;        // "MODEL -o OUT"
  const char *summary;          // one line
  const char *help;             // what it does, with an example
  const fe_cli_option *options; // terminated by a NULL name
  bool compiles;                // takes the options of compilation too
  int (*run)(struct fe_cli *c);
  void (*more)(FILE *to); // prints a list that belongs to the help; or NULL
} fe_command;

/// What a subcommand was called with.
typedef struct fe_cli {
  const fe_command *command;
  int argc;
  char **argv;
  int at; // next word
  const char *positional[16];
  int n_positional;
  ferrule_options options; // of compilation, filled in by fe_cli_next
  ferrule_dim dims[64];
  ferrule_open_dim open_dims[64];
  char *kept[128]; // names in those two
  size_t n_kept;
  bool quiet, colour;
  unsigned messages; // diagnostics shown
  // progress on a terminal
  double started;
  bool line_open;
} fe_cli;

/// Next option of the command's own table: its index, with the value in
/// *value. -1: the end; -2: wrong usage, reported. Shared options and
/// positional words are taken on the way.
int fe_cli_next(fe_cli *c, const char **value);
/// Says what is wrong and how to get help; gives EXIT_USAGE.
int fe_cli_usage(fe_cli *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/// Ends a progress line, if one is shown.
void fe_cli_done(fe_cli *c);
/// Shows an error of the program itself: "ferrule: ...".
void fe_cli_error(fe_cli *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void fe_cli_diagnostic(void *user, const ferrule_diagnostic *d);

/// Prints which kernels the model becomes, and what they take; an exit code.
int fe_cli_explain(fe_cli *c, const char *path, bool measure, bool json);

extern const fe_command fe_commands[]; // terminated by a NULL name
/// Options of compilation, shared by the commands that compile.
extern const fe_cli_option fe_shared_options[];
/// Explains one command, or (NULL) lists all.
void fe_cli_help(FILE *to, const fe_command *c);
/// The manual page, man/ferrule.1, from the same tables.
void fe_cli_man(void);
int fe_cmd_compile(fe_cli *c);
int fe_cmd_run(fe_cli *c);
int fe_cmd_bench(fe_cli *c);
int fe_cmd_info(fe_cli *c);
int fe_cmd_profile(fe_cli *c);
int fe_cmd_tune(fe_cli *c);
int fe_cmd_dialect(fe_cli *c);
int fe_cmd_opt(fe_cli *c);
int fe_cmd_operators(fe_cli *c);

#endif
