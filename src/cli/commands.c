//===- commands.c - the table of subcommands ------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "cli/cli.h"

extern const fe_cli_option fe_compile_options[], fe_run_options[],
    fe_bench_options[], fe_profile_options[], fe_opt_options[],
    fe_operators_options[];

const fe_command fe_commands[] = {
    {"compile", "MODEL -o OUT", "compile a model to native code",
     "Compiles an ONNX model to a shared library (.so), object (.o), archive "
     "(.a),\nLLVM IR (.ll) or assembly (.s).\n\nExample:\n"
     "  ferrule compile models/mnist8/model.onnx -o mnist8.so\n"
     "  ferrule compile model.onnx --stop-after=optimize   # look inside",
     fe_compile_options, true, fe_cmd_compile},
    {"run", "MODEL [--input NAME=FILE.npy ...]", "run a model",
     "Runs a compiled .so, or compiles a model into memory and runs it.\n\n"
     "Examples:\n"
     "  ferrule run model.onnx --random\n"
     "  ferrule run mnist8.so --input Input3=digit.npy --output out\n"
     "  ferrule run models/mnist8/model.onnx --verify models/mnist8",
     fe_run_options, true, fe_cmd_run},
    {"bench", "MODEL [--threads N] [--vs onnxruntime]", "time a model",
     "Times runs of a model on random inputs (or --input).\n\nExamples:\n"
     "  ferrule bench model.onnx\n"
     "  ferrule bench model.onnx --threads 2 --vs onnxruntime",
     fe_bench_options, true, fe_cmd_bench},
    {"profile", "MODEL [--threads N]", "where a model's time goes",
     "Compiles a model into memory with a clock around every kernel, runs it "
     "on "
     "random\ninputs (or --input) and shows time, share, GFLOP/s with the "
     "share "
     "of this core's\npeak, and GB/s for each.\n\nExample:\n"
     "  ferrule profile model.onnx --top 10",
     fe_profile_options, true, fe_cmd_profile},
    {"info", "MODEL", "what a model takes, gives and needs",
     "Lists inputs and outputs, the operators with counts and whether they are "
     "supported,\nparameters, arithmetic and memory. Exit code 1 when the "
     "model "
     "cannot be compiled.\n\nExample:\n  ferrule info model.onnx",
     0, true, fe_cmd_info},
    {"profile", "MODEL [--threads N]", "where a model spends its time",
     "Time per kernel, its share, operations and bytes per second, percentage "
     "of the\nprocessor's peak.\n\nExample:\n"
     "  ferrule profile model.onnx --threads 2",
     fe_profile_options, true, fe_cmd_profile},
    {"opt", "FILE.mlir --passes=A,B", "run passes on IR text",
     "Reads IR, runs the named passes in order and prints the result: for "
     "tests and\nfor looking at one pass.\n\nExample:\n"
     "  ferrule opt --passes=group,schedule model.mlir",
     fe_opt_options, true, fe_cmd_opt},
    {"operators", "[NAME]", "list the operators that are supported",
     "Prints the operator table: name, domain, the opsets that have it, and "
     "what is not\nsupported of it.\n\nExamples:\n"
     "  ferrule operators\n  ferrule operators Resize",
     fe_operators_options, false, fe_cmd_operators},
    {"dialect", "NAME", "print a dialect as IRDL",
     "Prints the onnx or krnl dialect as IRDL, for mlir-opt.\n\nExample:\n"
     "  ferrule dialect onnx > onnx.irdl.mlir\n"
     "  mlir-opt-22 --irdl-file=onnx.irdl.mlir model.mlir",
     0, false, fe_cmd_dialect},
    {0}};
