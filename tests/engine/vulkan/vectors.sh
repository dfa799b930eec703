#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every family on llvmpipe with vectors of other widths: vectors.sh BITS CACHE TESTS. What it compiles is kept
# in a cache of its own. Wider vectors than the machine has are no choice of llvmpipe's, and round halves up.
set -eu
if [ "$1" = 512 ] && ! grep -qw avx512f /proc/cpuinfo; then
  echo 'skipped: this processor has no vectors of 512 bits'
  exit 77
fi
export LP_NATIVE_VECTOR_WIDTH="$1" MESA_SHADER_CACHE_DIR="$2"
exec "$3" --gtest_filter='VulkanTest.EveryFamilyGives*:VulkanTest.OneSubmission*'
