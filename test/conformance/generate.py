"""usage: generate.py FOLDER

Writes the official ONNX backend test data with the Python package onnx: what
it ships as files, and the node cases, which it computes.
"""
import argparse
import shutil
import sys

import onnx.backend.test.case.node as node
from onnx.backend.test import cmd_tools

shutil.copytree(cmd_tools.DATA_DIR, sys.argv[1], dirs_exist_ok=True)
# The tool writes the cases that this function gives.
cmd_tools.model_test.collect_testcases = lambda: node.collect_testcases(None)
cmd_tools.generate_data(argparse.Namespace(output=sys.argv[1]))
