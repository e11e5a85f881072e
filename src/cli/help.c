//===- help.c - --help and the manual page --------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both are printed from the tables of commands and options.
//
//===----------------------------------------------------------------------===//
#include "cli/cli.h"

#include <string.h>

static const char about[] =
    "Compiles trained neural networks (ONNX) to native code that needs libc "
    "and\nlibm only.";
static const char exits[] =
    "0 done, 1 the model was refused or a comparison failed,\n"
    "2 wrong usage, 3 a defect of ferrule";

static bool any(const fe_cli_option *o) { return o && (o->name || o->letter); }

static void option_words(const fe_cli_option *o, char *out, size_t size) {
  snprintf(out, size, "%s%c%s%s%s%s%s", o->letter ? "-" : "  ",
           o->letter ? o->letter : ' ', o->letter && o->name ? ", " : "",
           o->name ? (o->letter ? "--" : " --") : "", o->name ? o->name : "",
           o->value ? " " : "", o->value ? o->value : "");
}

/// Words of `s` in lines of 80 columns, from column `left` on.
static void print_wrapped(FILE *to, int left, const char *s) {
  int column = left;
  while (*s) {
    int n = (int)strcspn(s, " ");
    if (column > left && column + 1 + n > 80) {
      fprintf(to, "\n%*s", left, "");
      column = left;
    }
    column += fprintf(to, "%s%.*s", column > left ? " " : "", n, s);
    s += n + (s[n] == ' ');
  }
  fputs("\n", to);
}

static void print_options(FILE *to, const fe_cli_option *o) {
  for (; any(o); o++) {
    char left[64];
    option_words(o, left, sizeof left);
    print_wrapped(to, fprintf(to, "  %-24s ", left), o->help);
  }
}

void fe_cli_help(FILE *to, const fe_command *c) {
  if (!c) {
    fprintf(to, "Usage: ferrule COMMAND ...\n\n%s\n\nCommands:\n", about);
    for (c = fe_commands; c->name; c++)
      fprintf(to, "  %-10s %s\n", c->name, c->summary);
    fprintf(to,
            "\n'ferrule COMMAND --help' explains one, with an example. To "
            "start:\n"
            "  ferrule compile model.onnx -o model.so\n\n"
            "Exit codes: %s.\n",
            exits);
    return;
  }
  fprintf(to, "Usage: ferrule %s %s\n\n%s\n", c->name, c->arguments, c->help);
  if (c->more)
    c->more(to);
  if (any(c->options)) {
    fputs("\nOptions:\n", to);
    print_options(to, c->options);
  }
  if (c->compiles) {
    fputs("\nOptions of compilation:\n", to);
    print_options(to, fe_shared_options);
  }
}

//===-- Manual page ---------------------------------------------------------//

/// Text in roff: no line begins with a request, no dash becomes a hyphen.
static void roff(const char *s) {
  bool start = true;
  for (; *s; s++) {
    if (start && (*s == '.' || *s == '\''))
      fputs("\\&", stdout);
    if (*s == '-' || *s == '\\')
      putchar('\\');
    putchar(*s == '\\' ? 'e' : *s);
    start = *s == '\n';
  }
}

static void roff_options(const fe_cli_option *o) {
  for (; any(o); o++) {
    char left[64];
    option_words(o, left, sizeof left);
    fputs(".TP\n.B ", stdout);
    roff(left + strspn(left, " "));
    fputs("\n", stdout);
    roff(o->help);
    fputs("\n", stdout);
  }
}

void fe_cli_man(void) {
  fputs(".TH FERRULE 1 \"\" \"ferrule ", stdout);
  fputs(ferrule_version(), stdout);
  fputs("\"\n.SH NAME\nferrule \\- ahead\\-of\\-time compiler for neural "
        "networks\n.SH SYNOPSIS\n.nf\n",
        stdout);
  for (const fe_command *c = fe_commands; c->name; c++) {
    printf("\\fBferrule %s\\fR ", c->name);
    roff(c->arguments);
    fputs("\n", stdout);
  }
  fputs(".fi\n.SH DESCRIPTION\n", stdout);
  roff(about);
  fputs("\n.SH COMMANDS\n", stdout);
  for (const fe_command *c = fe_commands; c->name; c++) {
    printf(".SS %s \\- ", c->name);
    roff(c->summary);
    fputs("\n.nf\n", stdout);
    roff(c->help);
    fputs("\n", stdout);
    if (c->more)
      c->more(stdout);
    fputs(".fi\n", stdout);
    roff_options(c->options);
  }
  fputs(".SH OPTIONS OF COMPILATION\n"
        "Of all commands that compile a model.\n",
        stdout);
  roff_options(fe_shared_options);
  fputs(".SH EXIT STATUS\n", stdout);
  roff(exits);
  fputs(".\n.SH ENVIRONMENT\n.TP\n.B NO_COLOR\nno colours, when set and not "
        "empty; there are none when the output is not a terminal\n.TP\n"
        ".B TMPDIR\nwhere bench \\-\\-vs keeps the inputs for its peer\n",
        stdout);
}
