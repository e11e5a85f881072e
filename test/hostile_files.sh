#!/bin/sh
# Files that are not what they seem: each must be refused in a few seconds, with
# a message and without leaving anything behind.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
ferrule=$FERRULE_BUILD/bin/ferrule
model=$FERRULE_SOURCE/models/mnist8/model.onnx

fail() {
  echo "$*"
  cat said
  exit 1
}

# refused TEXT COMMAND...: ends with 1 and says TEXT
refused() {
  text=$1
  shift
  code=0
  timeout 30 "$@" >said 2>&1 || code=$?
  [ $code = 1 ] || fail "$* ended with $code"
  grep -q "$text" said || fail "$* did not say '$text'"
}

# Models
mkdir folder.onnx
ln -s /dev/zero zero.onnx
ln -s again.onnx again.onnx
: >empty.onnx
head -c 20000 "$model" >cut.onnx
mkfifo pipe.onnx
for command in info run 'compile -o out.so'; do
  refused 'Is a directory' "$ferrule" $command folder.onnx
  refused 'give a file or a pipe' "$ferrule" $command zero.onnx
  refused 'symbolic links' "$ferrule" $command again.onnx
  refused 'is empty' "$ferrule" $command empty.onnx
  refused 'get it again' "$ferrule" $command cut.onnx
done
cat "$model" >pipe.onnx &
"$ferrule" compile -q pipe.onnx -o "$PWD/piped.so"
wait

# Dumps
dump() {
  echo "module attributes {ferrule.phase = \"$1\"$2} { ${3-} }" >bad.mlir
}
many() {
  head -c "$2" /dev/zero | sed "s/\\x0/$1/g"
}
for phase in import optimize lower; do
  dump $phase '' 'func.func private @main()'
  refused 'no function @main' "$ferrule" compile bad.mlir -o out.so
done
for opening in '[' '{' '(' 'tuple<'; do
  dump import ", krnl.x = $(many "$opening" 50000)"
  refused 'nested too deep' "$ferrule" compile bad.mlir -o out.so
done
dump import ", krnl.x = affine_map<(d0) -> ($(many - 50000)d0)>"
refused 'nested too deep' "$ferrule" compile bad.mlir -o out.so
printf 'ML\357R\1' >bad.mlir
refused 'bytecode' "$ferrule" compile bad.mlir -o out.so

# Places to write to
mkdir place
for ending in so o a ll s; do
  refused 'No such file' "$ferrule" compile -q "$model" -o absent/out.$ending
  mkdir place/out.$ending
  refused 'directory' "$ferrule" compile -q "$model" --header out.h \
    --weights beside -o place/out.$ending
  rmdir place/out.$ending
  # no room: files of at most 4 KB (512 bytes where the shell counts so)
  (ulimit -f 8; refused 'allow larger files' "$ferrule" compile -q \
    "$model" -o place/out.$ending --header out.h --weights beside) || exit 1
  [ ! -e out.h ] && [ -z "$(ls place)" ] || fail "left behind: $(ls place)"
done

# A name as long as names may be
long=$(head -c 254 /dev/zero | tr '\0' x)
for ending in so a; do
  long=${long%??}
  "$ferrule" compile -q "$model" -o "$long.$ending"
done

# Standard streams that are closed, and one that is full
for closed in '<&-' '2>&-' '<&- 2>&-' '<&- >&- 2>&-'; do
  rm -f closed.so
  eval "\"\$ferrule\" compile -q \"\$model\" -o closed.so $closed"
  "$ferrule" run "$PWD/closed.so" --verify "${model%/*}" >said 2>&1 ||
    fail "compiled with $closed"
done
if [ -w /dev/full ]; then
  for words in --help --version 'help run' "info $model" operators; do
    code=0
    "$ferrule" $words >/dev/full 2>said || code=$?
    [ $code = 1 ] || fail "$words into a full file ended with $code"
  done
fi

# The arrays that run writes
echo old >place/Plus214_Output_0.npy
code=0
said=$( (ulimit -f 0; "$ferrule" run -q "$PWD/piped.so" --random -o place) \
  2>&1) || code=$?
echo "$said" >said
[ $code = 1 ] || fail "without room for arrays run ended with $code"
grep -q 'File too large' said || fail 'run did not say why'
[ "$(cat place/*)" = old ] || fail "left behind: $(ls place)"

# What is written must not be what is read
cp "$model" mine.onnx
cp "$model" mine.o
usage() {
  code=0
  "$ferrule" compile -q "$@" >said 2>&1 || code=$?
  [ $code = 2 ] || fail "compile $* ended with $code"
  grep -q 'a name of its own' said || fail "compile $* did not say so"
}
usage mine.onnx --stop-after=import -o mine.onnx
usage mine.onnx --stop-after=import -o ./../"${dir##*/}"/mine.onnx
usage mine.o -o mine.o
usage mine.onnx -o out.o --header mine.onnx
usage mine.onnx -o out.o --header out.o
"$ferrule" compile mine.onnx --stop-after=import -o mine.mlir
refused 'has data of the model' \
  "$ferrule" compile mine.mlir --stop-after=lower -o mine.onnx
cmp "$model" mine.onnx
cmp "$model" mine.o
# but a dump may follow itself
for first in optimize lower schedule; do
  "$ferrule" compile "$model" --stop-after=$first -o mine.mlir
  "$ferrule" compile mine.mlir --stop-after=$first -o mine.mlir
  "$ferrule" compile mine.mlir --stop-after=plan -o mine.mlir
  "$ferrule" compile mine.mlir -o mine.so
  "$ferrule" run "$PWD/mine.so" --verify "${model%/*}" >said 2>&1 ||
    fail "$first twice"
done

# npy NAME HEADER [BYTES]: a file of that header and so many zeros
npy() {
  {
    printf '\223NUMPY\1\0'
    printf "\\$(printf %o ${#2})\\0%s" "$2"
    head -c "${3-0}" /dev/zero
  } >"$1"
}
array() {
  npy in.npy "{'descr': '<f4', 'fortran_order': False, 'shape': $1, }" "${2-0}"
}
try() {
  refused "$1" "$ferrule" run "$PWD/piped.so" -i Input3=in.npy
}
array '(1, 1, 28, 28)' 3136
"$ferrule" run "$PWD/piped.so" -i Input3=in.npy >said || fail 'a good array'
array '(1, 1, 28, 28)' 3135
try truncated
array '(1, 1, 28, 100000000000)'
try truncated
array '(9223372036854775807, 9223372036854775807, 4)'
try 'too large'
array '(99999999999999999999999,)'
try 'too large'
for shape in '(-1, 1, 28, 28)' '(1 1 28 28)' '(1.0, 1, 28, 28)' '(1, 1, 28'; do
  array "$shape" 3136
  try 'not a tuple'
done
array '(0, 1, 28, 28)'
try 'is to be float32'
array "($(printf '1, %.0s' $(seq 40)))" 4
try 'rank is too high'
npy in.npy "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}" 8
try 'Python objects'
npy in.npy "{'descr': '"
try 'not that of an array'
# nothing waits for what may never come
rm in.npy
mkfifo in.npy
try 'not a regular file'
mkdir inputs
mkfifo inputs/input_0.npy inputs/pipe.so
refused 'not a regular file' \
  "$ferrule" run "$PWD/piped.so" --verify "$PWD/inputs"
for command in info 'run --random'; do
  refused 'not a regular file' "$ferrule" $command "$PWD/inputs/pipe.so"
done
