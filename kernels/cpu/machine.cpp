// SPDX-License-Identifier: Apache-2.0
#include "kernels/contract/machine.h"

#include "engine/vocabulary/text_util.h"
#include "kernels/simd/int8.h"
#include "kernels/simd/simd.h"

namespace quern {

#ifdef QUERN_ONEDNN
namespace onednn {
std::string library_text();  // kernels/onednn/onednn.h
}
#endif

KernelMachine kernel_machine() {
#ifdef QUERN_ONEDNN
  std::string library = onednn::library_text();
#else
  std::string library = "none";
#endif
  const char* tiles = simd_int8_tiles() ? ", tiles" : "";
  return {cat(simd().name, ", int8 ", simd_int8().name, tiles), std::move(library)};
}

}  // namespace quern
