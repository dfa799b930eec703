// SPDX-License-Identifier: Apache-2.0
#include "kernels/contract/machine.h"

#include "engine/vocabulary/text_util.h"
#include "kernels/contract/shared_library.h"
#include "kernels/simd/int8.h"
#include "kernels/simd/simd.h"

namespace quern {

#ifdef QUERN_ONEDNN
namespace onednn {
std::string library_text();  // kernels/onednn/onednn.h
const SharedLibrary& library() noexcept;
}  // namespace onednn
#endif

KernelMachine kernel_machine() {
  const char* tiles = simd_has_int8_tiles() ? ", tiles" : "";
  KernelMachine machine{.instructions = cat(simd().name, ", int8 ", simd_int8_name(), tiles)};
#ifdef QUERN_ONEDNN
  machine.onednn = onednn::library_text();
  machine.onednn_file = onednn::library().path.data();
  machine.onednn_absence = onednn::library().why_not.data();
#else
  machine.onednn = "none";
  machine.onednn_absence = "quern was built without it";
#endif
  return machine;
}

}  // namespace quern
