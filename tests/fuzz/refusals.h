// SPDX-License-Identifier: Apache-2.0
// Models that one device takes and another refuses, and why that is right. Anything that is not in
// this list is a mistake of one of them.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "graph/graph.h"
#include "graph/ops/shape_of.h"
#include "tests/fuzz/model_run.h"

namespace quern::fuzz {

enum class Refuses : std::uint8_t { reference, tested };

struct KnownRefusal {
  Refuses who;
  std::string_view message;  // a part of it
  std::string_view reason;
};

inline constexpr std::array<KnownRefusal, 0> known_refusals = {};

// A shader cannot end a run: what it reads by an operand that is data stays within the tensor.
inline constexpr std::array known_refusals_of_gpus = {
    KnownRefusal{Refuses::reference, "is outside of a dimension of", "indices are clamped"},
    KnownRefusal{Refuses::reference, "lies outside of the output", "indices are clamped"},
    KnownRefusal{Refuses::reference, "lies in image", "the image of a region is clamped"},
    KnownRefusal{Refuses::reference, ", the time axis has", "lengths of sequences are clamped"},
};

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
inline bool is_known_refusal(const Answer& reference, const Answer& tested) {
  const Refuses who = tested.code == Code::ok ? Refuses::reference : Refuses::tested;
  const Answer& refused = tested.code == Code::ok ? reference : tested;
  const auto fits = [&](const KnownRefusal& k) {
    return k.who == who && refused.message.find(k.message) != std::string::npos;
  };
  return std::ranges::any_of(known_refusals, fits) ||
         (tested_device() != "cpu" && std::ranges::any_of(known_refusals_of_gpus, fits));
}

}  // namespace quern::fuzz
