# The packaged LLVM and MLIR: the target ferrule_llvm, the clang that compiles
# the runtime, and the linker.
#
# The MLIR C API comes as static archives of C++ objects on top of the shared
# libMLIR; nothing here needs a C++ compiler, only the C++ run-time library,
# under the name that it has without C++ development files.

find_library(ferrule_mlir MLIR PATHS ${FERRULE_LLVM_DIR}/lib NO_DEFAULT_PATH)
find_library(ferrule_llvm_lib NAMES LLVM-22 LLVM
             PATHS ${FERRULE_LLVM_DIR}/lib NO_DEFAULT_PATH)
find_program(ferrule_clang clang PATHS ${FERRULE_LLVM_DIR}/bin NO_DEFAULT_PATH)
find_program(ferrule_lld ld.lld PATHS ${FERRULE_LLVM_DIR}/bin NO_DEFAULT_PATH)
foreach(part mlir llvm_lib clang lld)
  if(NOT ferrule_${part})
    message(FATAL_ERROR "No ${part} 22 in ${FERRULE_LLVM_DIR}. "
      "Run scripts/setup.sh, or set FERRULE_LLVM_DIR.")
  endif()
endforeach()

file(GLOB capi ${FERRULE_LLVM_DIR}/lib/libMLIRCAPI*.a)
# For JIT engines and the like there are archives that need more than libMLIR.
list(FILTER capi EXCLUDE REGEX "ExecutionEngine")

add_library(ferrule_llvm INTERFACE)
target_link_libraries(ferrule_llvm INTERFACE
  -Wl,--start-group ${capi} -Wl,--end-group
  ${ferrule_mlir} ${ferrule_llvm_lib} -l:libstdc++.so.6 m)
target_link_options(ferrule_llvm INTERFACE
  -Wl,--as-needed -fuse-ld=lld -B${FERRULE_LLVM_DIR}/bin)

# nanopb's decoder, when the importer's schema is there.
add_library(ferrule_nanopb INTERFACE)
