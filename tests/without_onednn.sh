#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The sources that ask whether there is oneDNN compile without it.
#   tests/without_onednn.sh COMPILER
set -eu
cd "$(dirname "$0")/.."
files=$(grep -rl 'ifdef QUERN_ONEDNN' kernels engine --include=*.cpp)
[ "$(echo "$files" | wc -l)" -ge 4 ]
wrong=0
for file in $files; do
  "$1" -std=c++20 -fsyntax-only -I. -Iengine/include "$file" || wrong=1
done
exit $wrong
