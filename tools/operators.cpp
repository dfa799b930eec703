// SPDX-License-Identifier: Apache-2.0
#include "tools/operators.h"

#include <algorithm>
#include <map>
#include <set>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/op_fields.h"
#include "graph/ops/custom.h"

namespace quern::tools {
namespace {

template <class E>
concept NamedEnum = requires(E e) {
  enum_names(e);
};

// Finds the enum called "kind" among the fields of an op.
struct FindKind {
  std::string_view value;
  std::span<const std::string_view> all;

  template <class T>
  void operator()(std::string_view name, const T& field) {
    if constexpr (std::is_same_v<T, EnumField>) {
      if (name != "kind") return;
      value = field.name();
      all = field.names;
    }
  }
};

class Counter {
 public:
  explicit Counter(GraphCounts& counts) : counts_(counts) {}

  void add(const Graph& g) {
    for (std::size_t i = 0; i < g.value_count(); ++i) {
      const Value& v = g.value(ValueId{static_cast<std::uint32_t>(i)});
      const bool used = !v.uses.empty() || v.handed_out > 0;
      if (!v.is_constant() || !used || !seen_.insert(v.constant.data()).second) continue;
      ++counts_.constants;
      counts_.elements += v.constant.shape().elements();
      counts_.bytes += v.constant.bytes();
    }
    for (NodeId id : g.order()) {
      ++counts_.nodes;
      ++operators_[op_name(g.node(id).op)];
      for (const Graph& body : g.node(id).bodies) add(body);
    }
  }

  void finish() {
    counts_.operators.assign(operators_.begin(), operators_.end());
    std::ranges::stable_sort(counts_.operators, std::ranges::greater(),
                             &std::pair<std::string, std::size_t>::second);
  }

 private:
  GraphCounts& counts_;
  std::set<const std::byte*> seen_;
  std::map<std::string, std::size_t> operators_;
};

// ---- Markdown

std::string arity_text(Arity a) {
  if (a.max == any_number) return cat(a.min, " or more");
  return a.min == a.max ? cat(a.min) : cat(a.min, "-", a.max);
}

std::string traits_text(const OpDef& def) {
  std::string s;
  const auto add = [&](OpTrait trait, std::string_view name) {
    if (def.is(trait)) s += cat(s.empty() ? "" : ", ", name);
  };
  add(OpTrait::view, "view");
  add(OpTrait::elementwise, "elementwise");
  add(OpTrait::data_dependent, "shape depends on data");
  add(OpTrait::random, "random");
  add(OpTrait::structural, "planner");
  add(OpTrait::post_ops, "takes post-ops");
  return s;
}

std::string families_table() {
  std::string s = "| family | members | inputs | outputs | traits |\n|---|---|---|---|---|\n";
  std::map<std::string_view, const OpDef*> by_name;
  for (const OpDef* def : all_ops()) by_name.emplace(def->name, def);
  for (const auto& [name, def] : by_name) {
    FindKind kind;
    for_each_field(default_op(*def), kind);
    std::string members;
    for (std::string_view m : kind.all) members += cat(members.empty() ? "" : " ", m);
    s += cat("| ", name, " | ", members, " | ", arity_text(def->inputs), " | ",
             arity_text(def->outputs), " | ", traits_text(*def), " |\n");
  }
  return s;
}

// Selects whether a table shows the opsets in which an operator's versions were introduced.
enum class Versions : std::uint8_t { hidden, shown };

// Rows of one domain, the opsets of an operator joined.
std::string onnx_table(std::string_view domain, Versions versions) {
  const bool shows = versions == Versions::shown;
  std::string s =
      shows ? "| operator | versions since opset | inputs | outputs |\n|---|---|---|---|\n"
            : "| operator | inputs | outputs |\n|---|---|---|\n";
  const auto all = onnx::all_ops();
  for (std::size_t i = 0; i < all.size();) {
    const std::size_t first = i;
    std::string since;
    for (; i < all.size() && all[i].domain == all[first].domain &&
           all[i].row->name == all[first].row->name;
         ++i)
      since += cat(since.empty() ? "" : ", ", all[i].row->since);
    if (all[first].domain != domain) continue;
    const onnx::OpRow& last = *all[i - 1].row;
    s += cat("| ", last.name, " | ", shows ? since + " | " : "", arity_text(last.inputs), " | ",
             arity_text(last.outputs), " |\n");
  }
  return s;
}

std::size_t operator_count(std::string_view domain) {
  std::set<std::string_view> names;
  for (const onnx::OpEntry& e : onnx::all_ops())
    if (e.domain == domain) names.insert(e.row->name);
  return names.size();
}

}  // namespace

std::string op_name(const Op& op) {
  if (const CustomCall* custom = custom_call(op)) return printable(custom->full_name());
  FindKind kind;
  for_each_field(op, kind);
  const std::string_view family = op.def().name;
  return kind.value.empty() ? std::string(family) : cat(family, ".", kind.value);
}

GraphCounts count_graph(const Graph& graph) {
  GraphCounts counts;
  Counter counter(counts);
  counter.add(graph);
  counter.finish();
  return counts;
}

std::string operators_markdown() {
  return cat(
      "# Operators\n\nWritten by `quern inspect --operators`; a test compares this file with what "
      "it prints.\n\n"
      "## ONNX\n\n",
      operator_count(""), " operators of ai.onnx up to opset ", *onnx::newest_opset(""),
      ". A version serves the opsets from its number up to the next one. Numbers of inputs and "
      "outputs are those of the "
      "newest version.\n\n",
      onnx_table("", Versions::shown),
      "\n## com.microsoft\n\n"
      "BeamSearch, GreedySearch and Sampling become loops around their decoders; outputs are "
      "those of ONNX Runtime's CPU kernels: rows that end before others go on with "
      "`pad_token_id`, and behind the last step of GreedySearch and Sampling are zeros. At most "
      "4,096 tokens and 128 beams. Model types are GPT-2, and for BeamSearch T5 and Whisper, "
      "with pasts that grow: a past in a buffer (`past_sequence_length`) is refused. "
      "WhisperBeamSearch is BeamSearch of Whisper with the rules of times (`logits_processor` 1), "
      "a "
      "temperature and the likelihood that there is no speech (a share of the softmax, as its text "
      "says; ONNX Runtime's CPU kernel leaves it unwritten); scores of cross attention and "
      "`extra_decoding_ids` are refused. Sampling draws from the same distributions as ONNX "
      "Runtime but by a generator of our own: equal seeds give equal texts here, not the texts "
      "that ONNX Runtime gives. `presence_mask` counts, as its text and its CUDA kernel say; "
      "its CPU kernel passes over it. A step is planned for each length of the past: with "
      "`max_plans` (docs/embedding.md) of at least `max_length`, later runs make no plans. "
      "`do_rotary` of Attention turns, which ONNX Runtime's CPU kernel passes over. Tokenizer "
      "gives no strings a result of their rank and one more.\n\n",
      onnx_table("com.microsoft", Versions::hidden),
      "\n## ai.onnx.ml\n\n"
      "Where the specification leaves a case open (scores of two classes, transforms of one "
      "score), "
      "results are those of ONNX Runtime. A map of the model is two tensors: its values, [n] or, "
      "where there is a map for each row (ZipMap), [rows, n], and its keys, [n], which are a "
      "further input or output, `NAME.keys`, behind those that the model names. CastMap writes "
      "floats as strings as Cast does. Maps in bodies and in sequences that other operators make "
      "or take are refused.\n\n",
      onnx_table("ai.onnx.ml", Versions::shown), "\n## ai.onnx.preview\n\n",
      onnx_table("ai.onnx.preview", Versions::hidden), "\n## ai.onnx.preview.training\n\n",
      onnx_table("ai.onnx.preview.training", Versions::hidden),
      "\n## Families of the graph\n\nONNX operators become these. A member is a value of the "
      "family's `kind`.\n\n",
      families_table());
}

}  // namespace quern::tools
