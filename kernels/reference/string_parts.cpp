// SPDX-License-Identifier: Apache-2.0
// StringConcat joins two strings; StringPartCount and StringSplit cut one into parts.
//
// ONNX: StringConcat (opset 20), and StringSplit (opset 20), whose second output the parser makes
// of StringPartCount: its greatest element is the width of the first. Parts are as in Python: a
// delimiter cuts "a,,b" in three and "" in one, white space (of ASCII) cuts "" in none, and what is
// left after the last cut keeps its end. Parts point into the string that was cut.
#include <limits>

#include "graph/ops/strings.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/string_room.h"

namespace quern {
namespace {

Status string_concat_reference(const ReferenceCall& call) {
  const Shape& shape = call.outputs[0].type.shape;
  const auto* a = call.inputs[0].as<StringRef>();
  const auto* b = call.inputs[1].as<StringRef>();
  auto* y = call.outputs[0].as<StringRef>();
  const std::array<Shape, 2> strides = {broadcast_strides(call.inputs[0].type.shape, shape),
                                        broadcast_strides(call.inputs[1].type.shape, shape)};
  StopCheck check(call.stop);
  Status room;
  std::string joined;
  for_each_offset(shape, strides, 64, check, [&](const auto& at) {
    const std::string_view left = a[at[0]].view();
    const std::string_view right = b[at[1]].view();
    if (room.ok()) room = check_room(call.strings, left.size() + right.size());
    if (!room.ok() || check.spend(static_cast<std::int64_t>(right.size() / 8))) return;
    joined.assign(left);
    joined += right;
    *y++ = call.strings.add(joined);
  });
  return room;
}

// ---- parts

constexpr std::string_view white_space = " \t\n\v\f\r";

// Calls f(part) for each part of `text`, in order.
template <class F>
void for_each_part(const SplitRule& rule, std::string_view text, F&& f) {
  const bool by_space = rule.delimiter.empty();
  std::int64_t left = rule.max_splits && *rule.max_splits >= 0
                          ? *rule.max_splits
                          : std::numeric_limits<std::int64_t>::max();
  while (true) {
    if (by_space) text.remove_prefix(std::min(text.find_first_not_of(white_space), text.size()));
    if (by_space && text.empty()) return;
    const std::size_t end = left-- == 0 ? text.npos
                            : by_space  ? text.find_first_of(white_space)
                                        : text.find(rule.delimiter);
    f(text.substr(0, end));
    if (end == text.npos) return;
    text.remove_prefix(end + (by_space ? 0 : rule.delimiter.size()));
  }
}

std::int64_t cost_of(const StringRef& text) {
  return 16 + static_cast<std::int64_t>(text.size);
}

Status string_part_count_reference(const ReferenceCall& call) {
  const auto& op = call.as<StringPartCount>();
  auto* y = call.outputs[0].as<std::int64_t>();
  StopCheck check(call.stop);
  for (const StringRef& text : call.inputs[0].span<StringRef>()) {
    if (check.spend(cost_of(text))) return {};
    *y = 0;
    for_each_part(op, text.view(), [&](std::string_view) { ++*y; });
    ++y;
  }
  return {};
}

Status string_split_reference(const ReferenceCall& call) {
  const auto& op = call.as<StringSplit>();
  const Shape& shape = call.outputs[0].type.shape;
  const std::int64_t width = shape[shape.rank() - 1];
  auto* y = call.outputs[0].as<StringRef>();
  StopCheck check(call.stop);
  for (const StringRef& text : call.inputs[0].span<StringRef>()) {
    if (check.spend(cost_of(text) + width)) return {};
    std::int64_t n = 0;
    for_each_part(op, text.view(), [&](std::string_view part) {
      if (n < width) y[n++] = {part.data(), part.size()};
    });
    while (n < width) y[n++] = StringRef{};
    y += width;
  }
  return {};
}

}  // namespace

const OpKernels& StringConcat::kernels() {
  static constexpr OpKernels table{.reference = {string_concat_reference}};
  return table;
}

const OpKernels& StringPartCount::kernels() {
  static constexpr OpKernels table{.reference = {string_part_count_reference}};
  return table;
}

const OpKernels& StringSplit::kernels() {
  static constexpr OpKernels table{.reference = {string_split_reference}};
  return table;
}

}  // namespace quern
