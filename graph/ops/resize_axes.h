// SPDX-License-Identifier: Apache-2.0
// The mapping from one axis of Resize's output to its input, shared by all implementations. Along
// each axis an output element is a weighted sum of input elements, its taps. They depend only on
// sizes and attributes, so an implementation computes them once, when a plan is made.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <quern/shape.h>
#include <quern/status.h>

#include "engine/vocabulary/stop.h"
#include "graph/op_def.h"

namespace quern {

struct Resize;
enum class CoordinateMode : std::uint8_t;

struct ResizeAxis {
  std::int64_t in = 1;
  std::int64_t out = 1;
  // Resize::part: the elements of the whole that lie before and behind these.
  std::int64_t before_in = 0;
  std::int64_t behind_in = 0;
  std::int64_t before_out = 0;
  std::int64_t behind_out = 0;
  double scale = 1;  // as given: in * scale is the output size before it was rounded
  double roi_begin = 0;
  double roi_end = 1;

  std::int64_t whole_in() const { return before_in + in + behind_in; }
  std::int64_t whole_out() const { return before_out + out + behind_out; }
  double unrounded() const { return static_cast<double>(whole_in()) * scale; }
  // True if each element is its own result.
  bool is_identity() const { return keeps_elements() && in == out && before_in == before_out; }
  // The same of the whole.
  bool keeps_elements() const {
    return whole_in() == whole_out() && scale == 1 && roi_begin == 0 && roi_end == 1;
  }
  bool operator==(const ResizeAxis&) const = default;
};

// The axes of the input, in order. Of fixed capacity, so that references can create one without
// allocating.
using ResizeAxes = std::array<ResizeAxis, Shape::max_rank>;

// Operands as plain views; one without elements counts as absent. The error message has no subject.
struct ResizeOperands {
  TensorView roi, scales, sizes;
};
Status resolve_resize(const Resize& op, const Shape& in, const ResizeOperands& operands,
                      ResizeAxes& axes);

// The coordinate in the whole input (in elements, possibly outside of it) of element x of the whole
// output. An axis that keeps its size is mapped to itself in every mode.
double resize_coordinate(CoordinateMode mode, const ResizeAxis& axis, std::int64_t x);

struct ResizeTap {
  std::int64_t index = 0;  // always inside the input
  double weight = 0;       // never 0
};
// The taps of output element x, at most `taps.size()` of them, by index; returns their number. 0:
// the element lies outside of the region and gets the extrapolation value. in and out must not be
// 0. Once `check` is over, they are anything.
std::size_t resize_taps(const Resize& op, const ResizeAxis& axis, std::int64_t x, StopCheck& check,
                        std::span<ResizeTap> taps);
// An upper bound on the taps of any output element of such an axis.
std::size_t max_resize_taps(const Resize& op, std::int64_t in, std::int64_t out);
// True if a table of the taps of all output elements is small enough to be made for a plan: 2^20 of
// them take some 30 ms and 16 MB.
bool can_list_taps(const Resize& op, const ResizeAxis& axis);

}  // namespace quern
