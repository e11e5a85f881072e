//===- main.c - the program: subcommands, shared options, messages --------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "base/base.h"
#include "cli/cli.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

//===-- Options of compilation, shared by most subcommands ------------------//

const fe_cli_option fe_shared_options[] = {
    {"target", 0, "CPU",
     "native (default), x86-64-v2, x86-64-v3, x86-64-v4, x86-64-v4-bf16, "
     "aarch64; a processor, as icelake-server, znver4 or cortex-a76 (any other "
     "name lists them); multi, or levels with commas between: code for each, "
     "chosen when it is run"},
    {"cpu", 0, "CPU", "the same as --target"},
    {"dim", 0, "NAME=N",
     "fix a dimension of an input, as in --dim batch=1 or, for the first one "
     "of "
     "input x, --dim x.dim0=1; '*' in NAME stands for any text"},
    {"dim", 0, "NAME=SYMBOL",
     "leave it open instead, whatever size the model gives it; equal symbols "
     "are equal sizes; '?' makes one for each, as in --dim '*.dim0=?'"},
    {"dynamic", 0, NULL,
     "leave all dimensions of all inputs open: --dim '*=?'"},
    {"prefix", 0, "NAME", "of the exported symbols (default: ferrule)"},
    {"schedule", 0, "FILE",
     "choices for kernels that 'ferrule tune' has found to be fast"},
    {"prepack", 0, "WHEN",
     "transform weights of 3x3 convolutions when the model is compiled "
     "(default: faster, but up to 4 times as large) or in every run"},
    {"precision", 0, "TYPE",
     "f32 (default), or bf16: operands of matrix products are rounded to bf16, "
     "which takes half the time where the processor multiplies it, and half "
     "the "
     "memory for weights; or strict: without what f32 does to weights (fast "
     "filtering of 3x3 convolutions, 24 bits where a product waits for memory; "
     "errors up to 3e-6 of the largest result)"},
    {NULL, 'O', "N", "optimization 1 to 3 (default 3)"},
    {"jobs", 'j', "N", "threads of the compiler (default: one per core)"},
    {"quiet", 'q', NULL, "no progress"},
    {0}};

/// A copy that main frees; NULL, reported, when there are too many.
static char *keep(fe_cli *c, const char *text, size_t n) {
  if (c->n_kept == FE_COUNT(c->kept)) {
    fe_cli_usage(c, "more than %zu --dim", FE_COUNT(c->kept) / 2);
    return NULL;
  }
  return c->kept[c->n_kept++] = strndup(text, n);
}

static bool open_dim(fe_cli *c, const char *name, const char *symbol) {
  if (c->options.n_open_dims == FE_COUNT(c->open_dims)) {
    fe_cli_usage(c, "more than %zu open dimensions", FE_COUNT(c->open_dims));
    return false;
  }
  c->open_dims[c->options.n_open_dims++] = (ferrule_open_dim){name, symbol};
  c->options.open_dims = c->open_dims;
  return true;
}

static bool take_dim(fe_cli *c, const char *text) {
  const char *eq = strchr(text, '=');
  const char *to = eq ? eq + 1 : "";
  bool number = *to && strchr("+-0123456789", *to);
  char *end;
  long long v = number ? strtoll(to, &end, 10) : 0;
  if (!*to || eq == text || (number && (*end || v < 0))) {
    fe_cli_usage(c, "--dim wants NAME=N or NAME=SYMBOL, not '%s'", text);
    return false;
  }
  char *name = keep(c, text, (size_t)(eq - text));
  if (!name)
    return false;
  if (!number)
    return open_dim(c, name, strcmp(to, "?") ? to : NULL);
  if (c->options.n_dims == FE_COUNT(c->dims)) {
    fe_cli_usage(c, "more than %zu --dim", FE_COUNT(c->dims));
    return false;
  }
  c->dims[c->options.n_dims++] = (ferrule_dim){name, v};
  c->options.dims = c->dims;
  return true;
}

static bool take_number(fe_cli *c, const char *text, int low, int high,
                        const char *what, int *out) {
  char *end;
  long v = strtol(text, &end, 10);
  if (!*text || *end || v < low || v > high) {
    fe_cli_usage(c, "%s wants a number from %d to %d, not '%s'", what, low,
                 high, text);
    return false;
  }
  *out = (int)v;
  return true;
}

static bool take_shared(fe_cli *c, const fe_cli_option *o, const char *value) {
  if (o->letter == 'O')
    return take_number(c, value, 1, 3, "-O", &c->options.opt_level);
  if (o->letter == 'j')
    return take_number(c, value, 1, 256, "--jobs", &c->options.threads);
  if (o->letter == 'q')
    c->quiet = true;
  else if (!strcmp(o->name, "target") || !strcmp(o->name, "cpu"))
    c->options.target = value;
  else if (!strcmp(o->name, "dim"))
    return take_dim(c, value);
  else if (!strcmp(o->name, "dynamic"))
    return open_dim(c, "*", NULL);
  else if (!strcmp(o->name, "prefix"))
    c->options.prefix = value;
  else if (!strcmp(o->name, "schedule"))
    c->options.schedule = value;
  else if (!strcmp(o->name, "prepack"))
    c->options.prepack = value;
  else if (!strcmp(o->name, "precision"))
    c->options.precision = value;
  return true;
}

//===-- Parsing -------------------------------------------------------------//

/// Matches word against o; *value points behind '=' or after the letter, is
/// NULL when the value is the next word.
static bool matches(const fe_cli_option *o, const char *word,
                    const char **value) {
  *value = NULL;
  if (word[0] == '-' && word[1] == '-') {
    if (!o->name)
      return false;
    size_t n = strlen(o->name);
    if (strncmp(word + 2, o->name, n) || (word[2 + n] && word[2 + n] != '='))
      return false;
    if (word[2 + n] == '=')
      *value = word + 3 + n;
    return true;
  }
  if (!o->letter || word[1] != o->letter)
    return false;
  if (word[2])
    *value = word + 2;
  return true;
}

static int find(const fe_cli_option *table, const char *word,
                const char **value) {
  for (int i = 0; table && (table[i].name || table[i].letter); i++)
    if (matches(&table[i], word, value))
      return i;
  return -1;
}

static bool complete(fe_cli *c, const fe_cli_option *o, const char *word,
                     const char **value) {
  if (!o->value && *value) {
    fe_cli_usage(c, "'%s' takes no value", word);
    return false;
  }
  if (o->value && !*value) {
    if (c->at >= c->argc) {
      fe_cli_usage(c, "'%s' wants a value: %s", word, o->value);
      return false;
    }
    *value = c->argv[c->at++];
  }
  return true;
}

int fe_cli_next(fe_cli *c, const char **value) {
  bool words_only = false;
  while (c->at < c->argc) {
    const char *word = c->argv[c->at++];
    if (!words_only && !strcmp(word, "--")) {
      words_only = true;
      continue;
    }
    if (words_only || word[0] != '-' || !word[1]) {
      if (c->n_positional == (int)FE_COUNT(c->positional)) {
        fe_cli_usage(c, "too many arguments, from '%s' on", word);
        return -2;
      }
      c->positional[c->n_positional++] = word;
      continue;
    }
    int i = find(c->command->options, word, value);
    if (i >= 0)
      return complete(c, &c->command->options[i], word, value) ? i : -2;
    i = c->command->compiles ? find(fe_shared_options, word, value) : -1;
    if (i < 0) {
      fe_cli_usage(c, "unknown option '%s'", word);
      return -2;
    }
    if (!complete(c, &fe_shared_options[i], word, value) ||
        !take_shared(c, &fe_shared_options[i], *value))
      return -2;
  }
  return -1;
}

//===-- Messages ------------------------------------------------------------//

static const char *paint(const fe_cli *c, const char *code) {
  return c->colour ? code : "";
}

void fe_cli_done(fe_cli *c) {
  if (c->line_open)
    fputs("\r\033[K", stderr);
  c->line_open = false;
}

int fe_cli_usage(fe_cli *c, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  fprintf(stderr, "ferrule %s: ", c->command ? c->command->name : "");
  vfprintf(stderr, fmt, args);
  va_end(args);
  if (c->command)
    fprintf(stderr, "\nUsage: ferrule %s %s\nTry 'ferrule %s --help'.\n",
            c->command->name, c->command->arguments, c->command->name);
  return EXIT_USAGE;
}

void fe_cli_error(fe_cli *c, const char *fmt, ...) {
  fe_cli_done(c);
  va_list args;
  va_start(args, fmt);
  fprintf(stderr, "ferrule: %serror:%s ", paint(c, "\033[1;31m"),
          paint(c, "\033[0m"));
  vfprintf(stderr, fmt, args);
  va_end(args);
  fputc('\n', stderr);
}

void fe_cli_diagnostic(void *user, const ferrule_diagnostic *d) {
  static const char *const words[] = {"note", "warning", "error",
                                      "internal error"};
  static const char *const colours[] = {"\033[1;36m", "\033[1;33m",
                                        "\033[1;31m", "\033[1;35m"};
  fe_cli *c = user;
  fe_cli_done(c);
  c->messages++;
  if (d->file)
    fprintf(stderr, "%s: ", d->file);
  fprintf(stderr, "%s%s:%s ", paint(c, colours[d->severity]),
          words[d->severity], paint(c, "\033[0m"));
  if (d->op)
    fprintf(stderr, "%s", d->op);
  if (d->node && *d->node)
    fprintf(stderr, "%s'%s'", d->op ? " " : "", d->node);
  if (d->attribute)
    fprintf(stderr, "%s%s", d->op || (d->node && *d->node) ? ", " : "",
            d->attribute);
  if (d->op || (d->node && *d->node) || d->attribute)
    fputs(": ", stderr);
  fprintf(stderr, "%s\n", d->message);
  if (d->hint)
    fprintf(stderr, "  %s->%s %s\n", paint(c, "\033[1;32m"),
            paint(c, "\033[0m"), d->hint);
}

/// One line that changes, only on a terminal and after the first second.
static void progress(void *user, const char *phase) {
  fe_cli *c = user;
  if (c->quiet || !isatty(2) || fe_now() - c->started < 1)
    return;
  fprintf(stderr, "\r\033[K%s ...", phase);
  fflush(stderr);
  c->line_open = true;
}

static void no_command(const char *name) {
  fprintf(stderr, "ferrule: there is no command '%s'; try 'ferrule --help'\n",
          name);
}

/// 'ferrule help [COMMAND]'; the manual page is made by 'help --man'.
static int help(const char *about) {
  if (about && !strcmp(about, "--man")) {
    fe_cli_man();
    return 0;
  }
  const fe_command *k = fe_commands;
  while (about && k->name && strcmp(k->name, about))
    k++;
  if (about && !k->name) {
    no_command(about);
    return EXIT_USAGE;
  }
  fe_cli_help(stdout, about ? k : NULL);
  return 0;
}

//===-- Signals -------------------------------------------------------------//

/// Nothing half-written stays behind; then the signal ends the process.
static void on_signal(int number) {
  fe_output_abandon();
  raise(number); // once this returns, as it did before
}

static void catch_signals(void) {
  static const int ends[] = {SIGINT,  SIGTERM, SIGHUP,
                             SIGQUIT, SIGPIPE, SIGXCPU};
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND},
                   before;
  sigfillset(&action.sa_mask);
  for (size_t i = 0; i < FE_COUNT(ends); i++)
    if (!sigaction(ends[i], NULL, &before) && before.sa_handler == SIG_DFL)
      sigaction(ends[i], &action, NULL);
  signal(SIGXFSZ, SIG_IGN); // writing gives an error instead
}

/// What is opened later must not take the place of a standard stream.
static void fill_streams(void) {
  int fd;
  do
    fd = open("/dev/null", O_RDWR);
  while (fd >= 0 && fd <= 2);
  if (fd > 2)
    close(fd);
}

static int run(int argc, char **argv) {
  fe_cli c = {.argc = argc, .argv = argv, .at = 2, .started = fe_now()};
  const char *no_colour = getenv("NO_COLOR");
  c.colour = isatty(2) && !(no_colour && *no_colour);
  c.options.diagnostic = fe_cli_diagnostic;
  c.options.progress = progress;
  c.options.user = &c;
  if (argc < 2) {
    fe_cli_help(stderr, NULL);
    return EXIT_USAGE;
  }
  const char *name = argv[1];
  if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help"))
    return help(argc > 2 ? argv[2] : NULL);
  if (!strcmp(name, "--version")) {
    printf("ferrule %s\n", ferrule_version());
    return 0;
  }
  for (const fe_command *k = fe_commands; k->name; k++) {
    if (strcmp(k->name, name))
      continue;
    c.command = k;
    for (int i = 2; i < argc && strcmp(argv[i], "--"); i++)
      if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
        fe_cli_help(stdout, k);
        return 0;
      }
    int code = k->run(&c);
    fe_cli_done(&c);
    for (size_t i = 0; i < c.n_kept; i++)
      free(c.kept[i]);
    return code;
  }
  no_command(name);
  return EXIT_USAGE;
}

int main(int argc, char **argv) {
  fill_streams();
  catch_signals();
  int code = run(argc, argv);
  if (fflush(stdout) && !code) {
    perror("ferrule: standard output");
    code = EXIT_REFUSED;
  }
  return code;
}
