// SPDX-License-Identifier: Apache-2.0
// Reflection on attributes: accesses each field of an Op by name, whatever struct it holds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <quern/dtype.h>

#include "graph/op.h"
#include "graph/op_def.h"

namespace quern {

struct Unary;

// An enumerator as an index into the list of names that text forms and messages use.
struct EnumField {
  std::uint8_t* value;
  std::span<const std::string_view> names;

  std::string_view name() const { return names[*value]; }
};

// Every type that a field may have.
using FieldRef =
    std::variant<bool*, std::int64_t*, std::uint64_t*, float*, double*, DType*, std::string*, Ints*,
                 std::vector<float>*, std::vector<std::string>*, std::vector<Unary>*,
                 std::optional<std::int64_t>*, std::optional<DType>*, EnumField>;
using FieldFn = void (*)(void* context, std::string_view name, FieldRef field);

// Type-erased operations on attributes; one OpStruct for each struct.
struct OpStruct {
  bool (*equal)(const void*, const void*);
  std::shared_ptr<void> (*make)();
  std::shared_ptr<void> (*copy)(const void*);
  void (*fields)(void* attributes, void* context, FieldFn f);
};

// The names of an enumeration with N values.
template <std::size_t N>
using EnumNames = std::array<std::string_view, N>;
template <class E>
std::string_view enum_name(E e) {
  return enum_names(e)[static_cast<std::size_t>(e)];
}

template <class T>
FieldRef field_ref(T& field) {
  if constexpr (std::is_enum_v<T> && !std::is_same_v<T, DType>)
    return EnumField{reinterpret_cast<std::uint8_t*>(&field), enum_names(field)};
  else
    return &field;
}

// For OpDef::attributes.
template <class T>
inline constexpr OpStruct op_struct = {
    [](const void* a, const void* b) {
      return *static_cast<const T*>(a) == *static_cast<const T*>(b);
    },
    []() -> std::shared_ptr<void> { return std::make_shared<T>(); },
    [](const void* a) -> std::shared_ptr<void> {
      return std::make_shared<T>(*static_cast<const T*>(a));
    },
    [](void* attributes, [[maybe_unused]] void* context, [[maybe_unused]] FieldFn f) {
      T::fields(*static_cast<T*>(attributes),
                [&](std::string_view name, auto& field) { f(context, name, field_ref(field)); });
    }};

// f(name, field) for every attribute; enumerations as EnumField.
template <class F>
void for_each_field(void* attributes, const OpDef& def, F&& f) {
  def.attributes->fields(attributes, &f, [](void* context, std::string_view name, FieldRef field) {
    std::visit(
        [&]<class P>(P& p) {
          if constexpr (std::is_pointer_v<P>)
            (*static_cast<std::remove_reference_t<F>*>(context))(name, *p);
          else
            (*static_cast<std::remove_reference_t<F>*>(context))(name, p);
        },
        field);
  });
}
template <class F>
void for_each_field(const Op& op, F&& f) {
  for_each_field(const_cast<void*>(op.attributes()), op.def(),
                 [&](std::string_view name, const auto& field) { f(name, field); });
}
// The same, but f may write to the fields: `op` gets the changes, other copies of it do not.
template <class F>
void edit_fields(Op& op, F&& f) {
  std::shared_ptr<void> attributes = op.def().attributes->copy(op.attributes());
  for_each_field(attributes.get(), op.def(), f);
  op = Op(op.def(), std::move(attributes));
}

// An op with the default attributes of its struct.
inline Op default_op(const OpDef& def) {
  return Op(def, def.attributes->make());
}

}  // namespace quern
