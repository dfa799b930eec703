// SPDX-License-Identifier: Apache-2.0
#include "engine/artefact/signature.h"

#include <quern/device.h>

#include "kernels/contract/machine.h"

namespace quern::artefact {

Signature signature_of(const Device& device) {
  const KernelMachine machine = kernel_machine();
  const DeviceInfo& info = device.info();
  const bool is_cpu = info.kind == DeviceInfo::Kind::cpu;
  return {{"quern", cat(QUERN_VERSION, ", layouts ", layout_version)},
          {"CPU", machine.instructions},
          {"oneDNN", machine.onednn},
          {"device", is_cpu ? info.name : std::string("gpu")}};
}

}  // namespace quern::artefact
