// SPDX-License-Identifier: Apache-2.0
// Unique: the different elements of x, or its different slices along an axis; the index where each
// occurs first, where each element of x went, and how often each occurs.
//
// ONNX: Unique (opset 11). Sorted ascending (slices lexicographically), or in the order of first
// occurrence. NaN equals NaN and is the greatest.
#include "graph/ops/data_dependent.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/movement.h"
#include "kernels/contract/sorting.h"

namespace quern {
namespace {

// ---- reference

AxisSplit split_of(const Unique& op, const Shape& shape) {
  if (!op.axis) return {1, shape.elements(), 1};
  return split_at(shape, positive_axis(*op.axis, shape.rank()));
}

// The cost of comparing an element with another.
template <class T>
std::int64_t cost_of(const T& v) {
  if constexpr (std::is_same_v<T, StringRef>) return 4 + static_cast<std::int64_t>(v.size / 8);
  return 4;
}

// Slices i and j along the axis: negative, zero or positive as i is less, equal or greater.
template <class T>
int compare(const T* x, const AxisSplit& s, std::int64_t i, std::int64_t j, StopCheck& check) {
  if (s.inner == 0) return 0;
  for (std::int64_t o = 0; o < s.outer; ++o)
    for (std::int64_t k = 0; k < s.inner && !check.spend(cost_of(x[k])); ++k) {
      const T& a = x[(o * s.axis + i) * s.inner + k];
      const T& b = x[(o * s.axis + j) * s.inner + k];
      if (ordered_less(a, b)) return -1;
      if (ordered_less(b, a)) return 1;
    }
  return 0;
}

// Group g holds the equal slices order[begins[g]] up to order[begins[g + 1]], first occurrence
// first. The output's i-th slice is that of group shown[i].
struct Groups {
  std::int64_t* order;
  std::int64_t* begins;
  std::int64_t* shown;
  std::int64_t* spare;  // where `shown` is sorted
  std::int64_t count = 0;

  std::int64_t first(std::int64_t group) const { return order[begins[group]]; }
};

template <class T>
void find_groups(const Unique& op, const T* x, const AxisSplit& s, Groups& g, StopCheck& check) {
  for_each_until(s.axis, 1, check, [&](std::int64_t i) { g.order[i] = i; });
  const auto less = [&](std::int64_t i, std::int64_t j) {
    const int way = compare(x, s, i, j, check);
    return way != 0 ? way < 0 : i < j;
  };
  sort_until(g.order, s.axis, g.shown, less, 8, check);
  for_each_until(s.axis, 4, check, [&](std::int64_t p) {
    if (p == 0 || compare(x, s, g.order[p - 1], g.order[p], check) != 0) g.begins[g.count++] = p;
  });
  g.begins[g.count] = s.axis;
  for_each_until(g.count, 1, check, [&](std::int64_t i) { g.shown[i] = i; });
  if (op.sorted || check.is_over()) return;
  sort_until(
      g.shown, g.count, g.spare,
      [&](std::int64_t a, std::int64_t b) { return g.first(a) < g.first(b); }, 8, check);
}

void write_values(const ReferenceCall& call, const AxisSplit& s, const Groups& g,
                  StopCheck& check) {
  if (!call.wants(0)) return;  // then its shape has no axes
  const auto& op = call.as<Unique>();
  Shape& shape = call.outputs[0].type.shape;
  shape[op.axis ? positive_axis(*op.axis, shape.rank()) : 0] = g.count;
  const TensorView& x = call.inputs[0];
  const std::size_t run = static_cast<std::size_t>(s.inner) * size_of(x.type.dtype);
  std::byte* dst = call.outputs[0].data;
  if (run == 0 || g.count == 0) return;
  for (std::int64_t o = 0; o < s.outer; ++o)
    for (std::int64_t i = 0; i < g.count && !check.is_over(); ++i, dst += run)
      copy_bytes(x.data + static_cast<std::size_t>(o * s.axis + g.first(g.shown[i])) * run, run,
                 dst, check);
}

void write_indices(const ReferenceCall& call, const Groups& g, StopCheck& check) {
  const auto output = [&](std::size_t i) {
    return call.wants(i) ? call.outputs[i].as<std::int64_t>() : nullptr;
  };
  std::int64_t* first = output(1);
  std::int64_t* inverse = output(2);
  std::int64_t* counts = output(3);
  for (std::int64_t i = 0; i < g.count && !check.spend(8); ++i) {
    const std::int64_t group = g.shown[i];
    if (first) first[i] = g.first(group);
    if (counts) counts[i] = g.begins[group + 1] - g.begins[group];
    const std::int64_t begin = g.begins[group];
    if (inverse)
      for_each_until(g.begins[group + 1] - begin, 4, check,
                     [&](std::int64_t p) { inverse[g.order[begin + p]] = i; });
  }
  for (std::size_t i : {std::size_t{1}, std::size_t{3}})
    if (i < call.outputs.size()) call.outputs[i].type.shape = {g.count};
}

Status unique_reference(const ReferenceCall& call) {
  const auto& op = call.as<Unique>();
  const TensorView& x = call.inputs[0];
  const AxisSplit s = split_of(op, x.type.shape);
  const auto n = static_cast<std::size_t>(s.axis);
  Groups g{call.scratch.take<std::int64_t>(n), call.scratch.take<std::int64_t>(n + 1),
           call.scratch.take<std::int64_t>(n), call.scratch.take<std::int64_t>(n)};
  StopCheck check(call.stop);
  visit_dtype(stored_as(x.type.dtype),
              [&]<class T>(TypeTag<T>) { find_groups(op, x.as<T>(), s, g, check); });
  if (check.is_over()) return {};
  write_values(call, s, g, check);
  write_indices(call, g, check);
  return {};
}

std::size_t unique_scratch(const Op& op, std::span<const TensorType> inputs,
                           std::span<const TensorType>) {
  const auto n = static_cast<std::size_t>(split_of(*op.as<Unique>(), inputs[0].shape).axis);
  return 3 * Scratch::bytes_for<std::int64_t>(n) + Scratch::bytes_for<std::int64_t>(n + 1);
}

}  // namespace

const OpKernels& Unique::kernels() {
  static constexpr OpKernels table{.reference = {unique_reference, unique_scratch}};
  return table;
}

}  // namespace quern
