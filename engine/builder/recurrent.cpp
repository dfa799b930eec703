// SPDX-License-Identifier: Apache-2.0
// GraphBuilder: recurrent layers.
#include "graph/ops/recurrent.h"

#include "engine/builder/graph_builder_impl.h"
#include "engine/builder/options.h"
#include "graph/op_fields.h"

namespace quern {
namespace {

Operands recurrent(GraphBuilder::Impl& g, RnnKind kind, const Operands& xwr, std::int64_t hidden,
                   const RnnOptions& o) {
  return g.emit(
      Rnn{.kind = kind,
          .direction = enumerator<Direction>(g, enum_name(kind), o.direction),
          .hidden_size = hidden,
          .linear_before_reset = o.linear_before_reset,
          .batch_first = o.batch_first},
      {xwr[0], xwr[1], xwr[2], o.bias, o.sequence_lengths, o.initial_h, o.initial_c, o.peepholes},
      kind == RnnKind::lstm ? 3 : 2);
}

}  // namespace

std::array<Operand, 2> GraphBuilder::rnn(Operand x, Operand w, Operand r, std::int64_t hidden_size,
                                         const RnnOptions& o) {
  const Operands y = recurrent(*impl_, RnnKind::rnn, {x, w, r}, hidden_size, o);
  return {y[0], y[1]};
}
std::array<Operand, 2> GraphBuilder::gru(Operand x, Operand w, Operand r, std::int64_t hidden_size,
                                         const RnnOptions& o) {
  const Operands y = recurrent(*impl_, RnnKind::gru, {x, w, r}, hidden_size, o);
  return {y[0], y[1]};
}
std::array<Operand, 3> GraphBuilder::lstm(Operand x, Operand w, Operand r, std::int64_t hidden_size,
                                          const RnnOptions& o) {
  const Operands y = recurrent(*impl_, RnnKind::lstm, {x, w, r}, hidden_size, o);
  return {y[0], y[1], y[2]};
}

}  // namespace quern
