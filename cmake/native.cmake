# What is linked into models from packaged C libraries: the decoders of images.
#
# runtime/native/*.c and the libraries become one object whose only global
# symbol is ours. It is linked into libferrule, for models that run there, and
# is there as bytes too (src/emit/native.c), which the linker gets for models
# that need it. Without one of the libraries Ferrule is built without both, and
# refuses the operator.

set(ferrule_native_missing "")
set(native_libraries "")
foreach(name jpeg png16 webp webpdemux tiff openjp2 z deflate)
  find_library(ferrule_native_${name} NAMES lib${name}.a)
  if(ferrule_native_${name})
    list(APPEND native_libraries ${ferrule_native_${name}})
  else()
    list(APPEND ferrule_native_missing lib${name}.a)
  endif()
endforeach()
find_path(ferrule_native_openjpeg_include openjpeg.h
          PATH_SUFFIXES openjpeg-2.5 openjpeg-2.4)
find_program(ferrule_objcopy llvm-objcopy PATHS ${FERRULE_LLVM_DIR}/bin
             NO_DEFAULT_PATH)
foreach(header jpeglib.h png.h webp/demux.h tiffio.h)
  string(MAKE_C_IDENTIFIER ${header} id)
  find_path(ferrule_native_${id} ${header})
  if(NOT ferrule_native_${id})
    list(APPEND ferrule_native_missing ${header})
  endif()
endforeach()
if(NOT ferrule_native_openjpeg_include)
  list(APPEND ferrule_native_missing openjpeg.h)
endif()
if(NOT ferrule_objcopy)
  list(APPEND ferrule_native_missing llvm-objcopy)
endif()

set(native_objects)
set(FERRULE_HAVE_IMAGES 0)
if(ferrule_native_missing)
  list(JOIN ferrule_native_missing ", " missing)
  message(STATUS "Without ImageDecoder: no ${missing}. Run scripts/setup.sh.")
else()
  set(FERRULE_HAVE_IMAGES 1)
  file(GLOB native_sources CONFIGURE_DEPENDS runtime/native/*.c)
  list(SORT native_sources)
  set(native_parts)
  foreach(file ${native_sources})
    cmake_path(GET file STEM stem)
    set(part ${generated_dir}/native_${stem}.o)
    add_custom_command(
      OUTPUT ${part}
      COMMAND ${ferrule_clang} -O2 -std=c17 -fPIC -fno-builtin -Wall -Wextra
              -Werror -ffunction-sections -D_POSIX_C_SOURCE=200809L
              -I${PROJECT_SOURCE_DIR}/runtime
              -isystem ${ferrule_native_openjpeg_include}
              -MD -MF ${part}.d -MT ${part} -c -o ${part} ${file}
      DEPENDS ${file} DEPFILE ${part}.d VERBATIM)
    list(APPEND native_parts ${part})
  endforeach()
  set(native_object ${generated_dir}/fe_native_image.o)
  add_custom_command(
    OUTPUT ${native_object}
    COMMAND ${ferrule_lld} -r -S -o ${native_object}.all ${native_parts}
            --start-group ${native_libraries} --end-group
    COMMAND ${ferrule_objcopy} --strip-unneeded
            --keep-global-symbol=fe_native_image_decode
            ${native_object}.all ${native_object}
    DEPENDS ${native_parts} ${native_libraries} VERBATIM)
  set_source_files_properties(${native_object} PROPERTIES
    EXTERNAL_OBJECT TRUE GENERATED TRUE)
  list(APPEND native_objects ${native_object})
  set_source_files_properties(src/emit/native.c PROPERTIES
    OBJECT_DEPENDS ${native_object}
    COMPILE_DEFINITIONS FERRULE_NATIVE_IMAGE="${native_object}")
endif()
