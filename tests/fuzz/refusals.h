// SPDX-License-Identifier: Apache-2.0
// Models that one device takes and another refuses, and why that is right. Anything that is not in
// this list is a mistake of one of them.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "graph/graph.h"
#include "graph/ops/shape.h"
#include "tests/fuzz/model_run.h"

namespace quern::fuzz {

enum class Refuses : std::uint8_t { reference, cpu };

struct KnownRefusal {
  Refuses who;
  std::string_view message;  // a part of it
  std::string_view reason;
};

inline constexpr std::array<KnownRefusal, 0> known_refusals = {};

// The message names a node of whose results nobody reads more than the type. The passes know that
// type and leave the node out; whether a run could have computed it nobody asks.
inline bool is_of_a_type_alone(const Graph& graph, std::string_view message) {
  const auto reads_type = [&](const Use& u) {
    const Node& user = graph.node(u.node);
    return user.as<ShapeOf>() || user.as<SizeOf>();
  };
  const auto is_left_out = [&](ValueId v) {
    return v == no_value ||
           (!graph.is_output(v) && std::ranges::all_of(graph.value(v).uses, reads_type));
  };
  return std::ranges::any_of(graph.order(), [&](NodeId id) {
    const Node& n = graph.node(id);
    return !n.name.empty() && message.starts_with("node '" + n.name + "'") &&
           std::ranges::all_of(n.outputs, is_left_out);
  });
}

// Exactly one of the two must have refused the model.
inline bool is_known_refusal(const Answer& reference, const Answer& cpu) {
  const Refuses who = cpu.code == Code::ok ? Refuses::reference : Refuses::cpu;
  const Answer& refused = cpu.code == Code::ok ? reference : cpu;
  return std::ranges::any_of(known_refusals, [&](const KnownRefusal& k) {
    return k.who == who && refused.message.find(k.message) != std::string::npos;
  });
}

}  // namespace quern::fuzz
