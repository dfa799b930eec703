// SPDX-License-Identifier: Apache-2.0
// Every operator. Include a family's header instead wherever one family is enough: this one changes
// with each of them.
#pragma once

#include <type_traits>

#include "graph/ops/control_flow.h"
#include "graph/ops/convolution.h"
#include "graph/ops/data_dependent.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/indexing.h"
#include "graph/ops/matrix.h"
#include "graph/ops/movement.h"
#include "graph/ops/normalisation.h"
#include "graph/ops/quantised.h"
#include "graph/ops/random.h"
#include "graph/ops/recurrent.h"
#include "graph/ops/reduction.h"
#include "graph/ops/resampling.h"
#include "graph/ops/sequences.h"
#include "graph/ops/shape.h"
#include "graph/ops/strings.h"

namespace quern {

template <class... A>
struct JoinOps;
template <class... A>
struct JoinOps<OpList<A...>> : std::type_identity<OpList<A...>> {};
template <class... A, class... B, class... Rest>
struct JoinOps<OpList<A...>, OpList<B...>, Rest...> : JoinOps<OpList<A..., B...>, Rest...> {};

// In the order in which lists of operators are shown.
using AllOps =
    JoinOps<ElementwiseOps, ReductionOps, MatrixOps, ConvolutionOps, NormalisationOps, QuantisedOps,
            ShapeOps, MovementOps, IndexingOps, ResamplingOps, RecurrentOps, DataDependentOps,
            RandomOps, StringsOps, ControlFlowOps, SequencesOps>::type;

}  // namespace quern
