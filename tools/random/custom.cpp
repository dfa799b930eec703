// SPDX-License-Identifier: Apache-2.0
// Operators of the host (--ops): operands of types and shapes that their inference accepts.
#include "graph/ops/custom.h"

#include <algorithm>
#include <array>
#include <optional>

#include "graph/custom/registry.h"
#include "graph/op_def.h"
#include "tools/random/families.h"

namespace quern::tools {
namespace {

// Nobody knows how large the numbers are that come out: few operators read them.
constexpr double most_of_custom = 1e4;
constexpr int attempts = 12;

// A registered operator for the opset that the model uses of its domain.
struct Chosen {
  Op op;
  const quern_custom_op* functions = nullptr;
  std::string domain;
  std::string name;
};

std::optional<Chosen> choose(Builder& b) {
  const CustomOpInfo info = b.rng.pick(b.ops()->list());
  const auto used = b.opset_of(info.domain);
  const std::int64_t version = used ? *used : std::max<std::int64_t>(info.first_opset, 1);
  Op op = Custom{{.domain = info.domain, .name = info.name, .opset = version}};
  if (!bind_custom(op, b.ops()).ok()) return std::nullopt;
  const auto definition = b.ops()->impl().find(info.domain, info.name, version);
  b.use_domain(b.keep(info.domain), version);
  return Chosen{std::move(op), &definition->functions(), info.domain, info.name};
}

struct CallOperand {
  DType dtype;
  Extents dims;
};

// The first is any; the others are as large, a list along its last axis, or one number.
std::vector<CallOperand> draw_operands(Builder& b, std::size_t count, const DrawnValue& first) {
  std::vector<CallOperand> operands = {{first.dtype, first.dims}};
  while (operands.size() < count) {
    CallOperand o{first.dtype, first.dims};
    const auto kind = b.rng.between(0, 3);
    if (kind == 1) o.dims = first.dims.empty() ? Extents() : Extents{first.dims.back()};
    if (kind == 2) o.dims = {};
    if (kind == 3) o.dims = {fixed(1)};
    operands.push_back(std::move(o));
  }
  return operands;
}

// The results in one run; nullopt if inference refuses the operands or leaves something open.
std::optional<std::vector<TensorType>> results_of(const Chosen& c,
                                                  const std::vector<CallOperand>& operands,
                                                  std::size_t run) {
  std::vector<InferInput> in;
  for (const CallOperand& o : operands) {
    Dims dims;
    for (const Extent& e : o.dims) dims.emplace_back(e[run]);
    in.push_back({true, ValueType(o.dtype, std::move(dims)), nullptr});
  }
  const auto outputs = static_cast<std::size_t>(c.functions->min_outputs);
  InferContext context(c.op, c.op.def().name, "", in, outputs);
  if (!c.op.def().infer(context).ok()) return std::nullopt;
  std::vector<TensorType> types;
  for (const ValueType& y : context.outputs()) {
    const auto shape = y.shape();
    if (!shape) return std::nullopt;
    types.push_back({y.dtype, *shape});
  }
  return types;
}

std::optional<std::vector<Effect>> effects_of(const Chosen& c,
                                              const std::vector<CallOperand>& operands) {
  std::vector<Effect> effects;
  for (std::size_t run = 0; run < most_runs; ++run) {
    const auto types = results_of(c, operands, run);
    if (!types) return std::nullopt;
    for (std::size_t i = 0; i < types->size(); ++i) {
      const TensorType& y = (*types)[i];
      if (run == 0)
        effects.push_back({.dtype = y.dtype,
                           .dims = Extents(y.shape.rank()),
                           .most = most_of_custom,
                           .jumps = !is_float(y.dtype)});
      if (effects[i].dims.size() != y.shape.rank()) return std::nullopt;
      for (std::size_t d = 0; d < y.shape.rank(); ++d) effects[i].dims[d][run] = y.shape[d];
    }
  }
  return effects;
}

bool custom(Builder& b) {
  const auto chosen = choose(b);
  if (!chosen || chosen->functions->plan_inputs != 0) return false;
  const quern_custom_op& op = *chosen->functions;
  const std::int64_t most = op.max_inputs == -1 ? op.min_inputs + 2 : op.max_inputs;
  const auto count = static_cast<std::size_t>(
      b.rng.between(op.min_inputs, std::min<std::int64_t>(most, op.min_inputs + 2)));
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const DrawnValue first = b.take({.types = all_numbers(), .most_rank = 4});
    const std::vector<CallOperand> operands = draw_operands(b, count, first);
    const auto effects = effects_of(*chosen, operands);
    if (!effects) continue;
    const bool fits =
        std::ranges::all_of(*effects, [&](const Effect& e) { return b.fits(e.dims); });
    const bool jumps = std::ranges::any_of(*effects, &Effect::jumps);
    if (!fits || (jumps && !first.exact)) continue;
    Values in = {first};
    for (std::size_t i = 1; i < count; ++i)
      in.push_back(b.take_like(operands[i].dtype, operands[i].dims, {.exact = jumps}));
    in.resize(count);
    b.add_many(b.keep(chosen->name), in, {}, *effects, b.keep(chosen->domain));
    return true;
  }
  return false;
}

// Its weight is that of all others: see Builder::grow().
constexpr std::array custom_table = {Family{"custom", 1, custom}};

}  // namespace

std::span<const Family> custom_families() {
  return custom_table;
}

}  // namespace quern::tools
