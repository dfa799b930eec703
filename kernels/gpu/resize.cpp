// SPDX-License-Identifier: Apache-2.0
// Resize with resize.comp: over the last two dimensions (or the last one) with channels last, over
// others one dimension at a time.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/text_util.h"
#include "graph/ops/resampling.h"
#include "kernels/contract/constant_operands.h"
#include "kernels/gpu/grid.h"
#include "kernels/gpu/kernels.h"

namespace quern::gpu {
namespace {

// Pairs of index and weight, `taps` for each output element, padded with weight 0.
struct TapTable {
  std::vector<std::uint32_t> words;
  std::size_t taps = 1;
};

// nullopt as well where there are too many.
std::optional<TapTable> tap_table(const Resize& op, const ResizeAxis& axis) {
  if (!can_list_taps(op, axis)) return std::nullopt;
  TapTable table;
  const auto out = static_cast<std::size_t>(axis.out);
  const std::size_t most = max_resize_taps(op, axis.in, axis.out);
  std::vector<std::vector<ResizeTap>> all(out);
  StopCheck no_limit(nullptr);
  for (std::size_t i = 0; i < out; ++i) {
    all[i].resize(most);
    all[i].resize(resize_taps(op, axis, static_cast<std::int64_t>(i), no_limit, all[i]));
    if (all[i].empty()) return std::nullopt;  // extrapolated
    table.taps = std::max(table.taps, all[i].size());
  }
  for (auto& taps : all) {
    taps.resize(table.taps);
    for (const ResizeTap& t : taps) {
      table.words.push_back(word(t.index));
      table.words.push_back(word(static_cast<float>(t.weight)));
    }
  }
  return table;
}

GpuConstant constant_of(TapTable table) {
  GpuConstant c;
  c.bytes = table.words.size() * 4;
  // Small, and shared by all nodes that are resized alike.
  c.key = "gpu-taps|";
  c.key.append(reinterpret_cast<const char*>(table.words.data()), c.bytes);
  c.fill = [words = std::move(table.words)](std::byte* to) -> Status {
    std::memcpy(to, words.data(), words.size() * 4);
    return {};
  };
  return c;
}

// One dispatch: `images` of height x width x channels.
struct Picture {
  std::int64_t images, channels;
  ResizeAxis height, width;
};
Dispatch resample(const Picture& p, std::size_t row_taps, std::size_t column_taps,
                  std::array<BufferUse, 4> buffers, const GpuTarget& target) {
  const bool vectors = p.channels % 4 == 0;
  const std::int64_t work = p.images * p.height.out * p.width.out * p.channels / (vectors ? 4 : 1);
  Dispatch d;
  d.shader = "resize";
  const std::uint32_t local = lanes(target);
  d.constants = {local, vectors};
  for (std::int64_t v :
       {work, p.height.in, p.width.in, p.height.out, p.width.out, p.channels,
        static_cast<std::int64_t>(row_taps), static_cast<std::int64_t>(column_taps)})
    d.push.push_back(word(v));
  d.buffers.assign(buffers.begin(), buffers.end());
  d.groups = linear_groups(static_cast<std::uint64_t>(work), local, target);
  return d;
}

// Resizes any dimensions, one at a time, those that shrink most first: the dimensions after the
// resized one count as channels of an image of width one.
Selection by_dimension(const KernelRequest& request, std::span<const ResizeAxis> axes) {
  const auto& op = request.as<Resize>();
  constexpr std::int64_t limit = std::int64_t{1} << 31;
  std::vector<std::size_t> order;
  for (std::size_t d = 0; d < axes.size(); ++d)
    if (!axes[d].is_identity()) order.push_back(d);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return axes[a].out * axes[b].in < axes[b].out * axes[a].in;
  });
  Shape now = request.shape(0);
  std::vector<Shape> between = {now};
  std::int64_t largest = 0;
  for (std::size_t d : order) {
    now[d] = axes[d].out;
    between.push_back(now);
    const auto elements = now.checked_elements();
    if (!elements || *elements >= limit) return unsupported();
    largest = std::max(largest, *elements);
  }
  if (order.empty()) return unsupported();
  const std::uint64_t half = round_up(static_cast<std::uint64_t>(largest) * 4, 256);
  KernelChoice choice;
  if (order.size() > 1) choice.scratch_bytes = 2 * half;
  auto one = tap_table(op, ResizeAxis{});
  if (!one) return unsupported();
  choice.on_gpu().constants.push_back(constant_of(*std::move(one)));
  const auto place = [&](std::size_t pass, BufferAccess access) {
    if (pass == 0) return BufferUse::input(0);
    if (pass == order.size()) return BufferUse::output(0);
    return BufferUse::scratch(pass % 2 * half, half, access);
  };
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t d = order[i];
    auto table = tap_table(op, axes[d]);
    if (!table || !can_loop(2 * static_cast<std::int64_t>(table->taps), *request.gpu))
      return unsupported();
    const Picture p{between[i].elements(0, d), between[i].elements(d + 1), axes[d], {}};
    choice.on_gpu().dispatches.push_back(
        resample(p, table->taps, 1,
                 {place(i, BufferAccess::read), place(i + 1, BufferAccess::write),
                  BufferUse::constant(static_cast<std::uint32_t>(i + 1)), BufferUse::constant(0)},
                 *request.gpu));
    choice.on_gpu().constants.push_back(constant_of(*std::move(table)));
  }
  choice.implementation = "by dimension";
  choice.packed_inputs.assign(request.inputs.size(), true);
  choice.packed_inputs[0] = false;
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace

Selection select_resize(const KernelRequest& request) {
  const auto& op = request.as<Resize>();
  const Shape& x = request.shape(0);
  const Shape& y = request.outputs[0].shape;
  if (request.dtype(0) != DType::f32 || x.empty() || y.elements() == 0 || x.elements() == 0 ||
      x.elements() >= (std::int64_t{1} << 31) || y.elements() >= (std::int64_t{1} << 31) ||
      op.coordinates == CoordinateMode::tf_crop_and_resize)
    return unsupported();
  const auto axes = constant_resize_axes(request);
  if (!axes) return unsupported();
  const std::span<const ResizeAxis> all(axes->data(), x.rank());
  const bool is_picture = x.rank() == 3 || x.rank() == 4;
  if (!is_picture || !all[0].is_identity() || !all[1].is_identity())
    return by_dimension(request, all);
  const ResizeAxis& width = all[x.rank() - 1];
  const ResizeAxis height = x.rank() == 4 ? all[2] : ResizeAxis{};
  auto rows = tap_table(op, height);
  auto columns = tap_table(op, width);
  if (!rows || !columns) return unsupported();
  KernelChoice choice;
  choice.implementation = "taps";
  choice.input_layouts = {Layout::channels_last(x)};
  choice.output_layouts = {Layout::channels_last(y)};
  choice.packed_inputs.assign(request.inputs.size(), true);
  choice.packed_inputs[0] = false;
  choice.on_gpu().dispatches.push_back(resample(
      {x[0], x[1], height, width}, rows->taps, columns->taps,
      {BufferUse::input(0), BufferUse::output(0), BufferUse::constant(0), BufferUse::constant(1)},
      *request.gpu));
  choice.on_gpu().constants.push_back(constant_of(*std::move(rows)));
  choice.on_gpu().constants.push_back(constant_of(*std::move(columns)));
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern::gpu
