// SPDX-License-Identifier: Apache-2.0
#include "kernels/infer.h"

#include <algorithm>

#include "graph/text.h"
#include "graph/text_util.h"

namespace quern {

Status infer_like_input(InferContext& c) {
  c.set(0, c.type(0));
  return {};
}

Status infer_broadcast(InferContext& c, DType dtype) {
  std::optional<Dims> dims = Dims();
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    if (!c.has(i)) continue;
    if (!c.dims(i)) {
      c.set(0, dtype, std::nullopt);
      return {};
    }
    const auto wider = broadcast(*dims, *c.dims(i));
    if (!wider)
      return c.error(cat(c.describe(i), " does not broadcast with ",
                         type_text(ValueType(dtype, dims))));
    dims = wider;
  }
  c.set(0, dtype, std::move(dims));
  return {};
}

Result<std::optional<std::vector<std::size_t>>> axes_operand(const InferContext& c, std::size_t i,
                                                             std::size_t rank) {
  using Axes = std::optional<std::vector<std::size_t>>;
  const auto values = c.ints(i);
  if (!values) return Axes();
  std::vector<std::size_t> axes;
  for (std::int64_t v : *values) {
    QUERN_ASSIGN(const std::size_t axis, c.axis(v, rank));
    if (std::find(axes.begin(), axes.end(), axis) != axes.end())
      return c.error(cat("axis ", v, " is given twice"));
    axes.push_back(axis);
  }
  return Axes(std::move(axes));
}

// ---- windows -----------------------------------------------------------------------------------

namespace {

Status check_list(const InferContext& c, std::string_view name, const Ints& list, std::size_t size,
                  std::int64_t least) {
  if (!list.empty() && list.size() != size)
    return c.error(cat(name, " has ", list.size(), " entries, wants ", size));
  for (std::int64_t v : list)
    if (v < least || v > (std::int64_t{1} << 31))
      return c.error(cat(name, " holds ", v, ", wants at least ", least));
  return {};
}

Ints or_filled(const Ints& list, std::size_t size, std::int64_t value) {
  return list.empty() ? Ints(size, value) : list;
}

// SAME: as many positions as ceil(in / stride), the odd pad at the end (upper) or the beginning.
void same_pads(AutoPad mode, std::int64_t in, std::size_t d, ResolvedWindow& w) {
  const std::int64_t out = (in + w.strides[d] - 1) / w.strides[d];
  const std::int64_t extent = (w.kernel[d] - 1) * w.dilations[d] + 1;
  const std::int64_t total = std::max<std::int64_t>((out - 1) * w.strides[d] + extent - in, 0);
  w.pads_begin[d] = mode == AutoPad::same_upper ? total / 2 : total - total / 2;
  w.pads_end[d] = total - w.pads_begin[d];
}

}  // namespace

ResolvedWindow resolve_window(const Window& window, std::span<const std::int64_t> in,
                              std::span<const std::int64_t> kernel) {
  const std::size_t n = kernel.size();
  ResolvedWindow w{Ints(kernel.begin(), kernel.end()), or_filled(window.strides, n, 1),
                   or_filled(window.dilations, n, 1), Ints(n, 0), Ints(n, 0)};
  for (std::size_t d = 0; d < n; ++d) {
    if (window.auto_pad == AutoPad::same_upper || window.auto_pad == AutoPad::same_lower) {
      same_pads(window.auto_pad, in[d], d, w);
    } else if (window.auto_pad == AutoPad::notset && !window.pads.empty()) {
      w.pads_begin[d] = window.pads[d];
      w.pads_end[d] = window.pads[n + d];
    }
  }
  return w;
}

Result<ResolvedWindow> resolve_window(const InferContext& c, const Window& window,
                                      std::span<const Dim> in,
                                      std::span<const std::int64_t> kernel) {
  const std::size_t n = in.size();
  if (kernel.size() != n)
    return c.error(cat("kernel has ", kernel.size(), " dimensions, input has ", n, " spatial ones"));
  QUERN_TRY(check_list(c, "kernel", Ints(kernel.begin(), kernel.end()), n, 1));
  if (!window.kernel.empty() && !std::equal(kernel.begin(), kernel.end(), window.kernel.begin(), window.kernel.end()))
    return c.error("kernel_shape differs from the shape of the weights");
  QUERN_TRY(check_list(c, "strides", window.strides, n, 1));
  QUERN_TRY(check_list(c, "dilations", window.dilations, n, 1));
  QUERN_TRY(check_list(c, "pads", window.pads, 2 * n, 0));
  Ints sizes;
  for (Dim d : in) sizes.push_back(d.known() ? d.value() : 0);
  return resolve_window(window, sizes, kernel);
}

std::int64_t window_count(std::int64_t in, std::int64_t kernel, std::int64_t stride,
                          std::int64_t dilation, std::int64_t pad_begin, std::int64_t pad_end,
                          bool ceil_mode) {
  in = std::min(in, std::int64_t{1} << 48);  // absurd, but then no sum below overflows
  const std::int64_t extent = (kernel - 1) * dilation + 1;
  const std::int64_t room = in + pad_begin + pad_end - extent;
  if (room < 0) return 0;
  std::int64_t count = (room + (ceil_mode ? stride - 1 : 0)) / stride + 1;
  // A last window that would begin in the end padding is dropped.
  if (ceil_mode && (count - 1) * stride >= in + pad_begin) --count;
  return count;
}

}  // namespace quern
