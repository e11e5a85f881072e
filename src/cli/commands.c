//===- commands.c - the table of subcommands ------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "cli/cli.h"

extern const fe_cli_option fe_compile_options[], fe_run_options[],
    fe_bench_options[], fe_profile_options[], fe_opt_options[],
    fe_operators_options[], fe_tune_options[];

void fe_opt_passes(FILE *to);

const fe_command fe_commands[] = {
    {.name = "compile",
     .arguments = "MODEL -o OUT",
     .summary = "compile a model to native code",
     .help =
         "Compiles an ONNX model to a shared library (.so), object (.o), "
         "archive (.a),\nLLVM IR (.ll) or assembly (.s), as OUT ends. What is "
         "written needs libc and libm\nonly; include/ferrule/model.h is all "
         "that its callers need.\n\n"
         "Examples:\n"
         "  ferrule compile model.onnx -o model.so\n"
         "  ferrule compile model.onnx -o digit.o --prefix digit --header "
         "digit.h\n"
         "  ferrule compile model.onnx -o model.so --target x86-64-v3 --dim "
         "batch=1\n"
         "  ferrule compile model.onnx -o model.so --cpu=multi\n"
         "  ferrule compile model.onnx --explain --measure\n\n"
         "With --cpu=multi, or levels with commas between, a .so, .o or .a has "
         "code for\neach level and asks the processor when it is first used; "
         "ferrule info lists\nthem, and ferrule run --cpu takes a certain one."
         "\n\n"
         "With --stop-after the model is written as it is after that phase; "
         "such a file\nis a MODEL too, and goes on from there:\n"
         "  ferrule compile model.onnx --stop-after=lower -o lower.mlir\n"
         "  ferrule compile lower.mlir -o model.so\n\n"
         "What is written is there when it is whole. Only a compiler that is "
         "killed\noutright (kill -9) may leave a file OUT.?????? behind.",
     .options = fe_compile_options,
     .compiles = true,
     .run = fe_cmd_compile},
    {.name = "run",
     .arguments = "MODEL [--input NAME=FILE.npy ...]",
     .summary = "run a model",
     .help = "Runs a compiled .so, or compiles a model into memory and runs "
             "it. Inputs and\noutputs are .npy files.\n\n"
             "Examples:\n"
             "  ferrule run model.onnx --random\n"
             "  ferrule run model.so --input image=digit.npy --output results\n"
             "  ferrule run models/mnist8/model.onnx --verify models/mnist8\n\n"
             "The last one reads input_0.npy and so on from that folder, and "
             "compares with\noutput_0.npy and so on; exit code 1 when they "
             "differ.\n\n"
             "Strings are arrays of NumPy's 'U' or 'S'. A sequence is several "
             "files: of\n--input s=in.npy the items are in.0.npy, in.1.npy and "
             "so on; a map is\nin.keys.npy and in.values.npy; an optional is "
             "in.npy, or no file (--input s=).",
     .options = fe_run_options,
     .compiles = true,
     .run = fe_cmd_run},
    {.name = "bench",
     .arguments = "MODEL [--threads N] [--vs onnxruntime]",
     .summary = "time a model",
     .help = "Times runs of a model on random inputs (or --input). With --vs, "
             "ONNX Runtime\n(python3 with the packages onnxruntime and numpy) "
             "runs it too, in turns.\n\nExamples:\n"
             "  ferrule bench model.onnx\n"
             "  ferrule bench model.onnx --threads 2 --vs onnxruntime",
     .options = fe_bench_options,
     .compiles = true,
     .run = fe_cmd_bench},
    {.name = "info",
     .arguments = "MODEL",
     .summary = "what a model takes, gives and needs",
     .help =
         "Lists inputs and outputs, the operators with counts and whether they "
         "are\nsupported, parameters, arithmetic and memory. Exit code 1 when "
         "the "
         "model cannot\nbe compiled. Of a compiled .so: what it takes and "
         "gives, what it was compiled\nwith and for.\n\nExamples:\n"
         "  ferrule info model.onnx --dim batch=8\n"
         "  ferrule info model.so",
     .compiles = true,
     .run = fe_cmd_info},
    {.name = "profile",
     .arguments = "MODEL [--threads N]",
     .summary = "where a model's time goes",
     .help = "Compiles a model into memory with a clock around every kernel, "
             "runs it on\nrandom inputs (or --input) and shows time, share, "
             "GFLOP/s with the share of this\ncore's peak, and GB/s for each."
             "\n\nExample:\n  ferrule profile model.onnx --top 10",
     .options = fe_profile_options,
     .compiles = true,
     .run = fe_cmd_profile},
    {.name = "tune",
     .arguments = "MODEL -o FILE [--seconds N] [--threads N]",
     .summary = "search for faster kernels on this machine",
     .help =
         "Tries numbers near those that the compiler has chosen for the "
         "model's kernels\n(tile heights, block sizes, orders of loops) and "
         "convolutions (direct or by\nWinograd's filtering, width of "
         "panels), on this machine and random inputs (or\n--input), and "
         "writes what is faster to a schedule. Results stay the same but "
         "for\nrounding. Ctrl-C ends the search early; the file is whole at "
         "any time.\n\nExamples:\n"
         "  ferrule tune model.onnx -o model.schedule --seconds 300\n"
         "  ferrule compile model.onnx -o model.so "
         "--schedule model.schedule\n\n"
         "With --schedule the search goes on from that file.",
     .options = fe_tune_options,
     .compiles = true,
     .run = fe_cmd_tune},
    {.name = "operators",
     .arguments = "[NAME]",
     .summary = "list the operators that are supported",
     .help = "Prints the operator table: name, domain, the opsets that have "
             "it, and what is\nnot supported of it.\n\nExamples:\n"
             "  ferrule operators\n  ferrule operators Resize",
     .options = fe_operators_options,
     .run = fe_cmd_operators},
    {.name = "opt",
     .arguments = "FILE.mlir --passes=A,B",
     .summary = "run passes on IR text",
     .help = "Reads IR, runs the named passes in order and prints the result: "
             "for tests and\nfor looking at one pass.\n\nExample:\n"
             "  ferrule compile model.onnx --stop-after=import -o model.mlir\n"
             "  ferrule opt model.mlir --passes=canonicalize,fold",
     .options = fe_opt_options,
     .compiles = true,
     .run = fe_cmd_opt,
     .more = fe_opt_passes},
    {.name = "dialect",
     .arguments = "NAME",
     .summary = "print a dialect as IRDL",
     .help = "Prints the onnx or krnl dialect as IRDL, so that mlir-opt reads "
             "what\n--stop-after writes.\n\nExample:\n"
             "  ferrule dialect onnx > onnx.irdl.mlir\n"
             "  ferrule dialect krnl > krnl.irdl.mlir\n"
             "  mlir-opt-22 --irdl-file=onnx.irdl.mlir \\\n"
             "    --irdl-file=krnl.irdl.mlir --allow-unregistered-dialect "
             "lower.mlir",
     .run = fe_cmd_dialect},
    {0}};
