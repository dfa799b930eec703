#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes <quern/ops/*.h>: the families of graph/ops/all.h as they are, with what they include, so that
# GraphBuilder::op takes the struct of any operator: ops_headers.sh SOURCE FOLDER
set -eu
cd "$1"
rm -rf "$2"
mkdir -p "$2"
families=$(sed -n 's|^#include "\(graph/ops/.*\)"$|\1|p' graph/ops/all.h)
for header in $families graph/op.h graph/ops/binary_kind.h graph/ops/unary_kind.h graph/ops/window.h; do
  sed 's|"graph/\(ops/\)\{0,1\}\([a-z_]*\.h\)"|<quern/ops/\2>|' "$header" >"$2/${header##*/}"
done
