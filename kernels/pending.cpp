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
QUERN_PENDING(Conv)
QUERN_PENDING(ConvTranspose)
QUERN_PENDING(DeformConv)
QUERN_PENDING(Col2Im)
QUERN_PENDING(Pool)
QUERN_PENDING(MaxUnpool)
QUERN_PENDING(RoiPool)
QUERN_PENDING(Identity)
QUERN_PENDING(Reshape)
QUERN_PENDING(Squeeze)
QUERN_PENDING(Unsqueeze)
QUERN_PENDING(Flatten)
QUERN_PENDING(ShapeOf)
QUERN_PENDING(SizeOf)
QUERN_PENDING(ConstantOfShape)
QUERN_PENDING(Range)
QUERN_PENDING(Transpose)
QUERN_PENDING(Concat)
QUERN_PENDING(Split)
QUERN_PENDING(Slice)
QUERN_PENDING(Pad)
QUERN_PENDING(Expand)
QUERN_PENDING(Tile)
QUERN_PENDING(Gather)
QUERN_PENDING(Scatter)
QUERN_PENDING(DepthSpace)
QUERN_PENDING(EyeLike)
QUERN_PENDING(OneHot)
QUERN_PENDING(Trilu)
QUERN_PENDING(ReverseSequence)
QUERN_PENDING(Resize)
QUERN_PENDING(GridSample)
QUERN_PENDING(AffineGrid)
QUERN_PENDING(Rnn)
QUERN_PENDING(TopK)
QUERN_PENDING(NonZero)
QUERN_PENDING(Unique)
QUERN_PENDING(Compress)
QUERN_PENDING(NonMaxSuppression)
QUERN_PENDING(Random)
QUERN_PENDING(Multinomial)
QUERN_PENDING(Dft)
QUERN_PENDING(Stft)
QUERN_PENDING(MelWeightMatrix)
QUERN_PENDING(StringNormalizer)
QUERN_PENDING(TfIdfVectorizer)
QUERN_PENDING(If)
QUERN_PENDING(Loop)
QUERN_PENDING(Scan)
QUERN_PENDING(Sequence)
QUERN_PENDING(SplitToSequence)
QUERN_PENDING(ConcatFromSequence)
QUERN_PENDING(SequenceMap)
QUERN_PENDING(Optional)
#undef QUERN_PENDING

}  // namespace quern
