# cmake -DKIND=text|bytes -DNAME=symbol -DIN=file -DOUT=file.c -P embed.cmake
# Writes the file as a C definition: `const char NAME[]` with a NUL at its end,
# or `const unsigned char NAME[]` and `const size_t NAME_size`.
if(KIND STREQUAL text)
  file(READ ${IN} text)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "\n" "\\n\"\n\"" text "${text}")
  file(WRITE ${OUT} "extern const char ${NAME}[];\n"
    "const char ${NAME}[] =\n\"${text}\";\n")
else()
  file(READ ${IN} hex HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" hex
         "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
  file(WRITE ${OUT} "#include <stddef.h>\n"
    "extern const unsigned char ${NAME}[];\n"
    "extern const size_t ${NAME}_size;\n"
    "_Alignas(16) const unsigned char ${NAME}[] = {\n${hex}};\n"
    "const size_t ${NAME}_size = sizeof ${NAME};\n")
endif()
