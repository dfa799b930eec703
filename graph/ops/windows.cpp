// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/windows.h"

#include <algorithm>

#include "engine/vocabulary/text_util.h"
#include "graph/op_fields.h"
#include "graph/ops/conv.h"
#include "graph/ops/pool.h"
#include "graph/ops/windowed.h"

namespace quern {

bool is_conv_or_pool(const Op& op) {
  return op.is_any_of<Conv, ConvTranspose, Pool>();
}

Status check_list(const InferContext& c, std::string_view name, std::span<const std::int64_t> list,
                  std::size_t size, std::int64_t least) {
  if (!list.empty() && list.size() != size)
    return c.error(cat(name, " has ", list.size(), " entries, wants ", size));
  for (std::int64_t v : list)
    if (v < least || v > max_extent)
      return c.error(cat(name, " holds ", v, ", wants ", least, " to ", max_extent));
  return {};
}

namespace {

constexpr EnumNames<4> auto_pad_names = {"notset", "same_upper", "same_lower", "valid"};

Shape or_filled(std::span<const std::int64_t> list, std::size_t size, std::int64_t value) {
  return list.empty() ? Shape::filled(size, value) : Shape(list);
}

// SAME: as many positions as ceil(in / stride), the odd pad at the end (upper) or the beginning.
void same_pads(AutoPad mode, std::int64_t in, std::size_t d, ResolvedWindow& w) {
  in = std::min(in, std::int64_t{1} << 48);
  const std::int64_t out = (in + w.strides[d] - 1) / w.strides[d];
  const std::int64_t total = std::max<std::int64_t>((out - 1) * w.strides[d] + w.extent(d) - in, 0);
  w.pads_begin[d] = mode == AutoPad::same_upper ? total / 2 : total - total / 2;
  w.pads_end[d] = total - w.pads_begin[d];
}

}  // namespace

std::span<const std::string_view> enum_names(AutoPad) {
  return auto_pad_names;
}

ResolvedWindow explicit_window(std::span<const std::int64_t> kernel,
                               std::span<const std::int64_t> strides,
                               std::span<const std::int64_t> dilations,
                               std::span<const std::int64_t> pads) {
  const std::size_t n = kernel.size();
  return {Shape(kernel), or_filled(strides, n, 1), or_filled(dilations, n, 1),
          or_filled(pads.first(std::min(n, pads.size())), n, 0),
          or_filled(pads.last(std::min(n, pads.size())), n, 0)};
}

ResolvedWindow resolve_window(const Window& window, std::span<const std::int64_t> in,
                              std::span<const std::int64_t> kernel) {
  const bool has_pads = window.auto_pad == AutoPad::notset;
  ResolvedWindow w =
      explicit_window(kernel, window.strides, window.dilations,
                      has_pads ? std::span(window.pads) : std::span<const std::int64_t>());
  if (is_same(window.auto_pad))
    for (std::size_t d = 0; d < kernel.size(); ++d) same_pads(window.auto_pad, in[d], d, w);
  return w;
}

Status check_window(const InferContext& c, const Window& window, std::size_t rank) {
  if (rank > max_spatial_rank)
    return c.unsupported(cat(rank, " spatial dimensions, at most ", max_spatial_rank));
  QUERN_TRY(check_list(c, "kernel_shape", window.kernel, rank, 1));
  QUERN_TRY(check_list(c, "strides", window.strides, rank, 1));
  QUERN_TRY(check_list(c, "dilations", window.dilations, rank, 1));
  return check_list(c, "pads", window.pads, 2 * rank, 0);
}

Result<ResolvedWindow> resolve_window(const InferContext& c, const Window& window,
                                      std::span<const Dim> in,
                                      std::span<const std::int64_t> kernel) {
  const std::size_t n = in.size();
  if (kernel.size() != n)
    return c.error(
        cat("kernel has ", kernel.size(), " dimensions, input has ", n, " spatial ones"));
  QUERN_TRY(check_window(c, window, n));
  QUERN_TRY(check_list(c, "kernel", kernel, n, 1));
  if (!window.kernel.empty() &&
      !std::equal(kernel.begin(), kernel.end(), window.kernel.begin(), window.kernel.end()))
    return c.error("kernel_shape differs from the shape of the weights");
  Shape sizes;
  for (Dim d : in) sizes.push_back(d.known() ? d.value() : 0);
  return resolve_window(window, sizes, kernel);
}

// NOLINTNEXTLINE(readability-function-size): the numbers of one dimension
std::int64_t window_count(std::int64_t in, std::int64_t kernel, std::int64_t stride,
                          std::int64_t dilation, std::int64_t pad_begin, std::int64_t pad_end,
                          PartialWindow partial) {
  const bool keeps = partial == PartialWindow::kept;
  in = std::min(in, std::int64_t{1} << 48);  // absurd, but then no sum below overflows
  const std::int64_t extent = (kernel - 1) * dilation + 1;
  const std::int64_t room = in + pad_begin + pad_end - extent + (keeps ? stride - 1 : 0);
  if (room < 0) return 0;
  std::int64_t count = room / stride + 1;
  // A last window that would begin in the end padding is dropped.
  if (keeps && (count - 1) * stride >= in + pad_begin) --count;
  return count;
}

namespace {

// The kernel in the attribute or of the weights; nothing while a dimension is unknown.
std::optional<Shape> known_kernel(const Window& window, std::span<const Dim> kernel) {
  Shape s;
  for (std::size_t d = 0; d < kernel.size(); ++d) {
    if (!kernel[d].known() && window.kernel.size() != kernel.size()) return std::nullopt;
    s.push_back(kernel[d].known() ? kernel[d].value() : window.kernel[d]);
  }
  return s;
}

Dim positions(const ResolvedWindow& w, AutoPad mode, std::size_t d, Dim in, PartialWindow partial) {
  if (is_same(mode)) return ceil_div(in, w.strides[d]);
  const std::int64_t pads = w.pads_begin[d] + w.pads_end[d];
  if (in.known())
    return window_count(in.value(), w.kernel[d], w.strides[d], w.dilations[d], w.pads_begin[d],
                        w.pads_end[d], partial);
  return w.strides[d] == 1 && pads == w.extent(d) - 1 ? in : Dim();
}

}  // namespace

Result<Dims> infer_window(const InferContext& c, const Window& window, std::span<const Dim> in,
                          std::span<const Dim> kernel, PartialWindow partial) {
  QUERN_TRY(check_window(c, window, in.size()));
  const auto known = known_kernel(window, kernel);
  if (!known) return Dims(in.size());
  QUERN_ASSIGN(const ResolvedWindow w, resolve_window(c, window, in, *known));
  Dims out;
  for (std::size_t d = 0; d < in.size(); ++d)
    out.push_back(positions(w, window.auto_pad, d, in[d], partial));
  return out;
}

// ---- transposed convolutions and unpooling

namespace {

// The output of one dimension with nothing cut off, less `pads`.
Dim full_size(const ConvTranspose& op, const ResolvedWindow& w, std::size_t d, Dim in,
              std::int64_t pads) {
  const std::int64_t padding = op.output_padding.empty() ? 0 : op.output_padding[d];
  const std::int64_t more = w.extent(d) + padding - w.strides[d] - pads;
  return more < 0 ? sub_clamped(in * w.strides[d], -more) : in * w.strides[d] + more;
}

}  // namespace

Dim transposed_size(const ConvTranspose& op, const ResolvedWindow& w, std::size_t d, Dim in) {
  if (!op.output_shape.empty()) return op.output_shape[d];
  if (is_same(op.window.auto_pad)) return in * w.strides[d];
  return full_size(op, w, d, in, w.pads_begin[d] + w.pads_end[d]);
}

// The size of the pooling's input from that of its output.
Dim unpooled_size(const ResolvedWindow& w, std::size_t d, Dim in) {
  const std::int64_t more = w.kernel[d] - w.strides[d] - w.pads_begin[d] - w.pads_end[d];
  return more < 0 ? sub_clamped(in * w.strides[d], -more) : in * w.strides[d] + more;
}

ResolvedWindow window_of(const MaxUnpool& op) {
  return explicit_window(op.window.kernel, op.window.strides, {}, op.window.pads);
}

Shape unpooled_shape(const MaxUnpool& op, const Shape& x) {
  const ResolvedWindow w = window_of(op);
  Shape s = x;
  for (std::size_t d = 0; d < w.rank(); ++d) s[d + 2] = unpooled_size(w, d, x[d + 2]).value();
  return s;
}

ResolvedWindow resolve_transposed_window(const ConvTranspose& op, std::span<const std::int64_t> in,
                                         std::span<const std::int64_t> kernel) {
  ResolvedWindow w = resolve_window(op.window, in, kernel);
  if (op.output_shape.empty() && !is_same(op.window.auto_pad)) return w;
  for (std::size_t d = 0; d < kernel.size(); ++d) {
    const std::int64_t full = full_size(op, w, d, in[d], 0).value();
    const std::int64_t total =
        std::max<std::int64_t>(full - transposed_size(op, w, d, in[d]).value(), 0);
    w.pads_begin[d] = op.window.auto_pad == AutoPad::same_upper ? total / 2 : total - total / 2;
    w.pads_end[d] = total - w.pads_begin[d];
  }
  return w;
}

}  // namespace quern
