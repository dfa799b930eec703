// SPDX-License-Identifier: Apache-2.0
// Operators that have no file yet: a row moves out when its family arrives.
#include "kernels/kernel.h"

namespace quern {
namespace {

Status infer(InferContext& c) { return c.unsupported("this operator is not implemented yet"); }

}  // namespace

#define QUERN_PENDING(T)                                             \
  const OpDef& T::def() {                                            \
    static constexpr OpDef def{.name = #T,                           \
                               .inputs = {0, any_number},            \
                               .outputs = {0, any_number},           \
                               .infer = infer};                      \
    return def;                                                      \
  }
QUERN_PENDING(Resize)
QUERN_PENDING(GridSample)
QUERN_PENDING(AffineGrid)
QUERN_PENDING(Rnn)
QUERN_PENDING(Random)
QUERN_PENDING(Multinomial)
QUERN_PENDING(Dft)
QUERN_PENDING(Stft)
QUERN_PENDING(MelWeightMatrix)
#undef QUERN_PENDING

}  // namespace quern
