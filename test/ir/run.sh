#!/bin/sh
# run.sh FERRULE FILECHECK PASS FILE: the pass over FILE gives what the CHECK
# lines in it say. With a line "// FAILS" the pass must refuse and the CHECK
# lines are for its messages. A line "// OPTIONS: .." has more options.
set -eu
ferrule=$1 filecheck=$2 pass=$3 file=$4
status=0
options=$(sed -n 's,^// OPTIONS: ,,p' "$file")
# shellcheck disable=SC2086 # several words
out=$("$ferrule" opt --passes="$pass" $options "$file" 2>&1) || status=$?
if grep -q '^// FAILS' "$file"; then
  [ "$status" -eq 0 ] && expected=false || expected=true
else
  [ "$status" -eq 0 ] && expected=true || expected=false
fi
if ! $expected; then
  printf '%s\n' "$out"
  echo "exit code $status is not what the test expects"
  exit 1
fi
printf '%s\n' "$out" | "$filecheck" --dump-input-context=20 "$file"
