// SPDX-License-Identifier: Apache-2.0
#include "engine/run/plan_warning.h"

#include "engine/vocabulary/text_util.h"
#include "kernels/contract/machine.h"

namespace quern {

std::string plan_warning(std::span<const StepInfo> steps) {
  constexpr double much = 100e6;  // some 10 ms by our own loops
  double all = 0;
  double of_library = 0;
  for (const StepInfo& s : steps) {
    if (s.lane != StepInfo::Lane::host) continue;
    all += s.flops;
    if (s.op == "Conv" || s.op == "ConvTranspose" || s.op == "MatMul") of_library += s.flops;
  }
  if (of_library < much || of_library < all / 2) return {};
  const KernelMachine machine = kernel_machine();
  if (machine.onednn_absence.empty()) return {};
  return cat(
      "convolutions and products of matrices are most of the work and are computed by loops of "
      "quern's own, ",
      "since oneDNN is not open (", machine.onednn_absence,
      "): ResNet-50 takes about 2.4 times as long");
}

}  // namespace quern
