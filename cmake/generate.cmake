# Sources made by the build, all in build/generated: the list of operator
# families, the text of the krnl dialect, the protobuf decoder's tables, and
# the runtime as LLVM bitcode in C arrays.

set(generated_sources)
set(embed ${PROJECT_SOURCE_DIR}/cmake/embed.cmake)
configure_file(cmake/ferrule_config.h.in ${generated_dir}/ferrule_config.h
               @ONLY)

# One line FE_FAMILY(stem) per src/op/onnx/stem.c.
file(GLOB families CONFIGURE_DEPENDS src/op/onnx/*.c)
list(SORT families)
set(family_lines "")
foreach(file ${families})
  cmake_path(GET file STEM stem)
  string(APPEND family_lines "FE_FAMILY(${stem})\n")
endforeach()
file(CONFIGURE OUTPUT ${generated_dir}/op_families.inc CONTENT
     "${family_lines}" @ONLY)

# const char fe_krnl_irdl[]
set(krnl_irdl ${PROJECT_SOURCE_DIR}/src/op/krnl.irdl.mlir)
add_custom_command(
  OUTPUT ${generated_dir}/krnl_irdl.c
  COMMAND ${CMAKE_COMMAND} -DKIND=text -DNAME=fe_krnl_irdl -DIN=${krnl_irdl}
          -DOUT=${generated_dir}/krnl_irdl.c -P ${embed}
  DEPENDS ${krnl_irdl} ${embed})
list(APPEND generated_sources ${generated_dir}/krnl_irdl.c)

# onnx.pb.h, onnx.pb.c; the options file names the fields that are callbacks.
set(onnx_proto ${PROJECT_SOURCE_DIR}/src/import/onnx.proto)
file(GLOB onnx_proto_inputs CONFIGURE_DEPENDS src/import/onnx.proto
     src/import/onnx.options)
if(EXISTS ${onnx_proto})
  find_program(ferrule_nanopb_generator
               NAMES nanopb_generator nanopb_generator.py REQUIRED)
  find_library(ferrule_nanopb_lib protobuf-nanopb REQUIRED)
  add_custom_command(
    OUTPUT ${generated_dir}/onnx.pb.c ${generated_dir}/onnx.pb.h
    COMMAND ${ferrule_nanopb_generator} --quiet -I . -D ${generated_dir}
            onnx.proto
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}/src/import
    DEPENDS ${onnx_proto_inputs})
  list(APPEND generated_sources ${generated_dir}/onnx.pb.c
       ${generated_dir}/onnx.pb.h)
  target_link_libraries(ferrule_nanopb INTERFACE ${ferrule_nanopb_lib})
endif()

# runtime/stem.c -> bitcode ->
#   const unsigned char fe_runtime_stem_bc[]; const size_t ..._bc_size;
# and fe_runtime.inc with one FE_RUNTIME(stem) per file.
function(embed_runtime file)
  cmake_path(GET file STEM stem)
  set(bc ${generated_dir}/runtime_${stem}.bc)
  set(out ${generated_dir}/runtime_${stem}.c)
  # What asks the processor is for that processor, wherever it is compiled.
  set(kind "")
  if(stem MATCHES "^(amx|dispatch)$")
    set(kind --target=x86_64-pc-linux-gnu)
  endif()
  add_custom_command(
    OUTPUT ${bc}
    COMMAND ${ferrule_clang} ${FERRULE_RUNTIME_CFLAGS} ${kind}
            -emit-llvm -c -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/runtime
            -MD -MF ${bc}.d -MT ${bc} -o ${bc} ${file}
    DEPENDS ${file} DEPFILE ${bc}.d VERBATIM)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DKIND=bytes -DNAME=fe_runtime_${stem}_bc
            -DIN=${bc} -DOUT=${out} -P ${embed}
    DEPENDS ${bc} ${embed})
  set(generated_sources ${generated_sources} ${out} PARENT_SCOPE)
endfunction()

file(GLOB runtime_sources CONFIGURE_DEPENDS runtime/*.c)
list(SORT runtime_sources)
set(runtime_lines "")
foreach(file ${runtime_sources})
  embed_runtime(${file})
  cmake_path(GET file STEM stem)
  string(APPEND runtime_lines "FE_RUNTIME(${stem})\n")
endforeach()
file(CONFIGURE OUTPUT ${generated_dir}/fe_runtime.inc CONTENT
     "${runtime_lines}" @ONLY)
