// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace quern {

// What decides which kernels are chosen and how they pack weights: the instructions that loops of
// ours use, and oneDNN with those that it uses. Equal texts mean equal choices for equal sizes.
struct KernelMachine {
  std::string instructions;    // "avx512, int8 avx512_vnni"
  std::string onednn;          // "2.6.0, instructions 3ff"; "none"
  std::string onednn_file;     // "/usr/lib/libdnnl.so.2"; empty: none is open
  std::string onednn_absence;  // why none is open: a sentence fragment; empty: one is
};
KernelMachine kernel_machine();

}  // namespace quern
