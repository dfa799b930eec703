// SPDX-License-Identifier: Apache-2.0
// Reflection over ops.h: names of enumerators, and ops by their position in the variant.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "graph/ops.h"

namespace quern {

// The enumerators in order, as the text form and error messages call them.
std::span<const std::string_view> enum_names(UnaryKind);
std::span<const std::string_view> enum_names(BinaryKind);
std::span<const std::string_view> enum_names(ReduceKind);
std::span<const std::string_view> enum_names(CumulativeKind);
std::span<const std::string_view> enum_names(AutoPad);
std::span<const std::string_view> enum_names(PoolKind);
std::span<const std::string_view> enum_names(RoiKind);
std::span<const std::string_view> enum_names(SoftmaxKind);
std::span<const std::string_view> enum_names(PadMode);
std::span<const std::string_view> enum_names(GatherKind);
std::span<const std::string_view> enum_names(ScatterKind);
std::span<const std::string_view> enum_names(ScatterReduction);
std::span<const std::string_view> enum_names(DepthSpaceKind);
std::span<const std::string_view> enum_names(ResizeMode);
std::span<const std::string_view> enum_names(CoordinateMode);
std::span<const std::string_view> enum_names(NearestMode);
std::span<const std::string_view> enum_names(AspectPolicy);
std::span<const std::string_view> enum_names(GridPadding);
std::span<const std::string_view> enum_names(RnnKind);
std::span<const std::string_view> enum_names(Direction);
std::span<const std::string_view> enum_names(RandomKind);
std::span<const std::string_view> enum_names(CaseAction);
std::span<const std::string_view> enum_names(TfIdfMode);
std::span<const std::string_view> enum_names(SequenceKind);
std::span<const std::string_view> enum_names(OptionalKind);

template <class E>
std::string_view enum_name(E e) {
  return enum_names(e)[static_cast<std::size_t>(e)];
}

// A default-constructed op of position `index` in the variant.
template <std::size_t... I>
Op default_op(std::size_t index, std::index_sequence<I...>) {
  using Make = Op (*)();
  static constexpr std::array<Make, sizeof...(I)> make = {
      [] { return Op(std::variant_alternative_t<I, OpVariant>{}); }...};
  return make[index]();
}
inline Op default_op(std::size_t index) {
  return default_op(index, std::make_index_sequence<std::variant_size_v<OpVariant>>());
}

// f(name, field) for every attribute of the op.
template <class O, class F>
void for_each_field(O& op, F&& f) {
  std::visit([&](auto& s) { s.fields(s, f); }, op);
}

}  // namespace quern
