// SPDX-License-Identifier: Apache-2.0
// Sequences and optionals; SequenceMap is in ops_control.cpp.
#include "frontends/onnx-parser/node_import.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/ops/reshape.h"
#include "graph/ops/sequences.h"

namespace quern::onnx {
namespace {

template <SequenceKind Kind>
void import_sequence(NodeImport& n) {
  n.emit(Sequence{.kind = Kind}, {n.inputs().begin(), n.inputs().end()});
}

void import_sequence_empty(NodeImport& n) {
  n.emit(Sequence{.kind = SequenceKind::empty, .dtype = n.dtype_attribute("dtype", DType::f32)},
         {});
}

void import_split_to_sequence(NodeImport& n) {
  n.emit(SplitToSequence{.axis = n.integer("axis", 0), .keepdims = n.flag("keepdims", Flag::on)},
         {n.inputs().begin(), n.inputs().end()});
}

void import_concat_from_sequence(NodeImport& n) {
  n.emit(ConcatFromSequence{.axis = n.integer("axis"), .new_axis = n.flag("new_axis", Flag::off)},
         {n.in(0)});
}

void import_optional(NodeImport& n) {
  const auto declared = n.type_attribute("type");
  const bool filled = n.has(0);
  if (!n.ok()) return;
  if (!filled && !declared) return n.fail("has neither an input nor attribute 'type'");
  const ValueType type = filled ? n.type(n.in(0)) : *declared;
  const Optional op{
      .kind = OptionalKind::make, .dtype = type.dtype, .of_sequence = type.is_sequence()};
  if (filled) return n.emit(op, {n.in(0)});
  n.emit(op, {});
}

// A value that is not an optional has an element: itself.
void import_has_element(NodeImport& n) {
  if (n.has(0) && n.type(n.in(0)).is_optional())
    return n.emit(Optional{.kind = OptionalKind::has_element}, {n.in(0)});
  n.set(0, n.scalar(DType::boolean, n.has(0) ? 1 : 0));
}

void import_get_element(NodeImport& n) {
  if (!n.type(n.in(0)).is_optional()) return n.emit(Identity{}, {n.in(0)});
  n.emit(Optional{.kind = OptionalKind::get_element}, {n.in(0)});
}

constexpr OpRow sequence_rows[] = {
    {"ConcatFromSequence", 11, import_concat_from_sequence},
    {"Optional", 15, import_optional, {0, 1}},
    {"OptionalGetElement", 15, import_get_element},
    {"OptionalHasElement", 15, import_has_element, {0, 1}},
    {"SequenceAt", 11, import_sequence<SequenceKind::at>, two},
    {"SequenceConstruct", 11, import_sequence<SequenceKind::construct>, {1, any_number}},
    {"SequenceEmpty", 11, import_sequence_empty, {0, 0}},
    {"SequenceErase", 11, import_sequence<SequenceKind::erase>, one_or_two},
    {"SequenceInsert", 11, import_sequence<SequenceKind::insert>, {2, 3}},
    {"SequenceLength", 11, import_sequence<SequenceKind::length>},
    {"SplitToSequence", 11, import_split_to_sequence, one_or_two},
};

}  // namespace

OpRows sequence_ops() {
  return sequence_rows;
}

}  // namespace quern::onnx
