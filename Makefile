# Ferrule: thin commands over CMake, Ninja and CTest.
#
#   make            build            make test       set up, build, all tests
#   make demo       a model at work  make install    PREFIX=/usr/local DESTDIR=
#   make bench      speed against ONNX Runtime and other compilers
#                    (BENCH='--threads 1 --peers onnxruntime resnet50')
#   make bench-accuracy, bench-cost, bench-layers, bench-scaling   errors against
#                    float64; compile time, memory, load time; shares of the
#                    peak; how compiling grows with the model
#   make conformance   the official ONNX cases
#   make differential  operators at random against ONNX Runtime
#                    (DIFFERENTIAL='--op Slice --seed 7')
#   make check-asan    tests under the address and undefined sanitizers
#   make format     clang-format over all sources
#   make lines      lines of C and operators of each family
#   make docs       the pages that ferrule prints: operators, walkthrough, man
#
# Every command first installs what it needs and does not find
# (scripts/setup.sh); SETUP=: leaves that out.
BUILD ?= build
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
SETUP ?= scripts/setup.sh
CMAKE_FLAGS ?=
CTEST_FLAGS ?=
CTEST = ctest --output-on-failure -j $(JOBS) $(CTEST_FLAGS)

all: setup-build
	@cmake -S . -B $(BUILD) -G Ninja $(CMAKE_FLAGS) > /dev/null
	@cmake --build $(BUILD) -j $(JOBS)

setup-%:
	@$(SETUP) $*

demo: all
	@examples/demo.sh $(BUILD)

# The Python packages come before CMake looks for them.
test: setup-test all
	@$(CTEST) --test-dir $(BUILD)

install: all
	@cmake --install $(BUILD) --prefix $(PREFIX)

bench: setup-bench all
	@bench/run.sh $(BUILD) $(BENCH)

bench-%: setup-bench all
	@bench/run.sh $(BUILD) $* $(BENCH)

conformance: setup-test all
	@test/conformance/run.sh $(BUILD)

differential: setup-test all
	@test/differential/run.sh $(BUILD) $(DIFFERENTIAL)

check-asan: setup-test
	@cmake -S . -B $(BUILD)-asan -G Ninja -DFERRULE_SANITIZE=ON \
	  -DCMAKE_BUILD_TYPE=RelWithDebInfo $(CMAKE_FLAGS) > /dev/null
	@cmake --build $(BUILD)-asan -j $(JOBS)
	@$(CTEST) --test-dir $(BUILD)-asan

docs: all
	@FERRULE_BUILD=$(abspath $(BUILD)) docs/generate.py

# A row of a family's table names its operator, by itself or in a macro.
lines:
	@echo 'lines operators family'
	@for file in src/op/onnx/*.c; do \
	  printf '%5d %9d %s\n' "$$(wc -l < $$file)" \
	    "$$(sed -n '/^const fe_op_row/,$$p' $$file | tr '\n' ' ' | \
	      grep -oE '(\.name = |[A-Z0-9_]+\( *)"[A-Z]\w*"' | wc -l)" \
	    "$$(basename $$file .c)"; \
	done | sort -rn | \
	  awk '{ l += $$1; n += $$2; print } END { printf "%5d %9d all\n", l, n }'

format: setup-format
	@git ls-files '*.c' '*.h' | xargs clang-format-22 -i

clean:
	@rm -rf $(BUILD) $(BUILD)-asan

.NOTPARALLEL:
.PHONY: all demo test install bench conformance differential check-asan \
  format docs lines clean
