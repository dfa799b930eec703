// SPDX-License-Identifier: Apache-2.0
#include "tools/dress/dress.h"

#include <algorithm>
#include <array>

#include "engine/vocabulary/text_util.h"
#include "tools/console.h"
#include "tools/parse.h"

namespace quern::tools {
namespace {

constexpr std::array rows = {
    Dress{"constants", "every input is a constant", dress_constants},
    Dress{"weights", "every input but the first is a constant", dress_weights},
    Dress{"symbols", "every dimension of an input is a symbol of its own", dress_symbols},
    Dress{"unknown-dims", "no dimension of an input is known", dress_unknown_dims},
    Dress{"unknown-ranks", "not even the rank of an input is known", dress_unknown_ranks},
    Dress{"handed-out", "every intermediate value is an output too", dress_handed_out},
    Dress{"concat", "every value is joined with another one, and the result is an output",
          dress_concat},
    Dress{"concat-handed-out", "the same, and every value is an output too",
          dress_concat_handed_out},
    Dress{"named-twice", "every output is an output twice, and every input is one too",
          dress_named_twice},
    Dress{"transposed-in", "inputs come transposed, and are transposed back", dress_transposed_in},
    Dress{"sliced-in", "inputs are slices of larger tensors", dress_sliced_in},
    Dress{"stepped-in",
          "inputs are every other element of larger tensors, the first axis backwards",
          dress_stepped_in},
    Dress{"squeezed-in", "inputs come with dimensions of 1 around, which are squeezed away",
          dress_squeezed_in},
    Dress{"reshaped-in", "inputs come flat, and are reshaped", dress_reshaped_in},
    Dress{"transposed-out", "outputs are transposed", dress_transposed_out},
    Dress{"sliced-out", "outputs are slices without the first element of each axis",
          dress_sliced_out},
    Dress{"stepped-out", "outputs are every other element, the first axis backwards",
          dress_stepped_out},
    Dress{"reshaped-out", "outputs are flat", dress_reshaped_out},
    Dress{"other-values", "a run with other values lies between two of the case's",
          dress_other_values},
    Dress{"other-shapes",
          "all dimensions are free, and a run with other shapes lies between two of the case's",
          dress_other_shapes},
};

}  // namespace

std::span<const Dress> dresses() {
  return rows;
}

Result<std::vector<const Dress*>> dresses_named(std::string_view list) {
  std::vector<const Dress*> found;
  if (list.empty() || list == "none") return found;
  for (const std::string& name : split_list(std::string(list))) {
    const auto row = std::ranges::find(rows, name, &Dress::name);
    if (row == rows.end() && name != "all") {
      std::string names;
      for (const Dress& d : rows) names += cat(", ", d.name);
      return Status(Code::invalid_argument, cat("--dress ", shown(name),
                                                ": there is no such dress, only all, none", names));
    }
    for (const Dress& d : rows)
      if ((name == "all" || d.name == name) && std::ranges::find(found, &d) == found.end())
        found.push_back(&d);
  }
  return found;
}

std::vector<DressedOutput> plain_outputs(const Graph& graph) {
  std::vector<DressedOutput> outputs(graph.outputs().size());
  for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i].plain = i;
  return outputs;
}

std::vector<InputValue> copied(std::span<const InputValue> inputs) {
  return {inputs.begin(), inputs.end()};
}

}  // namespace quern::tools
