#!/bin/sh
# Installs into a scratch folder and uses what is there as others would: a C
# program that includes every public header, built by pkg-config and by CMake.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cmake --install "$FERRULE_BUILD" --prefix "$dir/usr" >/dev/null

mkdir "$dir/user"
cd "$dir/user"
for header in "$dir"/usr/include/ferrule/*.h; do
  echo "#include <ferrule/$(basename "$header")>"
done >user.c
echo 'int main(void) { return 0; }' >>user.c
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.25)
project(user C)
find_package(Ferrule 0.1 REQUIRED)
add_executable(user user.c)
target_link_libraries(user Ferrule::ferrule)
END

PKG_CONFIG_PATH=$(dirname "$(find "$dir/usr" -name ferrule.pc)")
export PKG_CONFIG_PATH
cc ${CFLAGS-} -std=c17 -Wall -Wextra -Werror -pedantic user.c -o by_pkg_config \
  $(pkg-config --cflags --libs ferrule)
cmake -S . -B build -G Ninja -DCMAKE_PREFIX_PATH="$dir/usr" >/dev/null
cmake --build build >/dev/null
[ ! -x "$dir/usr/bin/ferrule" ] || "$dir/usr/bin/ferrule" --version
