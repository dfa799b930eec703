// SPDX-License-Identifier: Apache-2.0
// Every operator. Include a family's header instead wherever one family is enough: this one changes
// with each of them.
#pragma once

#include <type_traits>

#include "graph/built.h"
#include "graph/ops/attention.h"
#include "graph/ops/batch_norm.h"
#include "graph/ops/binary.h"
#include "graph/ops/block_quantized.h"
#include "graph/ops/cast.h"
#include "graph/ops/concat.h"
#include "graph/ops/control_flow.h"
#include "graph/ops/conv.h"
#include "graph/ops/cumulative.h"
#include "graph/ops/custom.h"
#include "graph/ops/data_dependent.h"
#include "graph/ops/deform_conv.h"
#include "graph/ops/einsum.h"
#include "graph/ops/features.h"
#include "graph/ops/fill.h"
#include "graph/ops/gather.h"
#include "graph/ops/in_range.h"
#include "graph/ops/inverse.h"
#include "graph/ops/layer_norm.h"
#include "graph/ops/lp_norm.h"
#include "graph/ops/matmul.h"
#include "graph/ops/one_hot.h"
#include "graph/ops/pad.h"
#include "graph/ops/pictures.h"
#include "graph/ops/pool.h"
#include "graph/ops/quantised_products.h"
#include "graph/ops/quantize.h"
#include "graph/ops/random.h"
#include "graph/ops/rearrange.h"
#include "graph/ops/recurrent.h"
#include "graph/ops/reduce.h"
#include "graph/ops/resampling.h"
#include "graph/ops/reshape.h"
#include "graph/ops/scatter.h"
#include "graph/ops/sequences.h"
#include "graph/ops/shape_of.h"
#include "graph/ops/slice.h"
#include "graph/ops/softmax.h"
#include "graph/ops/split.h"
#include "graph/ops/strings.h"
#include "graph/ops/tile.h"
#include "graph/ops/transpose.h"
#include "graph/ops/trees.h"
#include "graph/ops/unary.h"
#include "graph/ops/where.h"

namespace quern {

#ifdef QUERN_ONLY_OPS
// Of the models that the build was made for, and those of them that have kernels.
using AllOps = OpList<QUERN_ONLY_OPS>;
using OpsWithKernels = OpList<QUERN_ONLY_KERNELS>;
#else
template <class... A>
struct JoinOps;
template <class... A>
struct JoinOps<OpList<A...> > : std::type_identity<OpList<A...> > {};
template <class... A, class... B, class... Rest>
struct JoinOps<OpList<A...>, OpList<B...>, Rest...> : JoinOps<OpList<A..., B...>, Rest...> {};

// In the order in which lists of operators are shown.
using AllOps =
    JoinOps<UnaryOps, BinaryOps, WhereOps, CastOps, ReduceOps, CumulativeOps, MatmulOps,
            BlockQuantizedOps, EinsumOps, InverseOps, AttentionOps, ConvOps, DeformConvOps, PoolOps,
            BatchNormOps, LayerNormOps, LpNormOps, SoftmaxOps, QuantizeOps, QuantisedProductsOps,
            ReshapeOps, ShapeOfOps, FillOps, TransposeOps, ConcatOps, SplitOps, SliceOps, PadOps,
            TileOps, RearrangeOps, GatherOps, ScatterOps, OneHotOps, ResamplingOps, RecurrentOps,
            DataDependentOps, InRangeOps, RandomOps, StringsOps, PicturesOps, TreesOps, FeaturesOps,
            ControlFlowOps, SequencesOps, CustomOpList>::type;
using OpsWithKernels = AllOps;
#endif

}  // namespace quern
