// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx-parser/loop_body.h"

namespace quern::onnx {
namespace {

constexpr int max_rounds = 3;

// Opens those parts of the given types that the body does not provably preserve; returns false if
// it preserves all. After max_rounds rounds nothing is assumed of any value.
bool leave_open(NodeImport& n, const Graph& body, const CarriedValues& carried, int round,
                std::vector<ValueType>& types) {
  bool changed = false;
  for (std::size_t i = 0; i < carried.count; ++i) {
    if (carried.output + i >= body.outputs().size()) return false;  // inference reports that
    ValueType& type = types[carried.input + i];
    const auto kept = round < max_rounds
                          ? common(type.dims, n.output_type(body, carried.output + i).dims)
                          : std::nullopt;
    changed = changed || kept != type.dims;
    type.dims = kept;
  }
  return changed;
}

}  // namespace

std::optional<Dims> common(const std::optional<Dims>& a, const std::optional<Dims>& b) {
  if (!a || !b || a->size() != b->size()) return std::nullopt;
  Dims out = *a;
  for (std::size_t i = 0; i < out.size(); ++i)
    if (!out[i].same((*b)[i])) out[i] = Dim();
  return out;
}

std::optional<Graph> steady_body(NodeImport& n, const MakeBody& make, const CarriedValues& carried,
                                 std::vector<ValueType> types, std::vector<ValueId>& captures) {
  for (int round = 1;; ++round) {
    captures.clear();
    auto body = make(types, captures);
    if (!body || !leave_open(n, *body, carried, round, types)) return body;
  }
}

}  // namespace quern::onnx
