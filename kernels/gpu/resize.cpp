// SPDX-License-Identifier: Apache-2.0
// Resize over the last two dimensions (or the last one), channels last, on resize.comp.
#include <bit>
#include <cmath>
#include <cstring>

#include "graph/text_util.h"
#include "kernels/gpu/grid.h"
#include "kernels/gpu/kernels.h"
#include "kernels/resize_rows.h"

namespace quern::gpu {
namespace {

// Pairs of index and weight, `taps` for each output element, weight 0 where there are fewer.
struct TapTable {
  std::vector<std::uint32_t> words;
  std::size_t taps = 1;
};

std::optional<TapTable> tap_table(const Resize& op, const ResizeAxis& axis) {
  TapTable table;
  const auto out = static_cast<std::size_t>(axis.out);
  const std::size_t most = max_resize_taps(op, axis.in, axis.out);
  std::vector<std::vector<ResizeTap>> all(out);
  for (std::size_t i = 0; i < out; ++i) {
    all[i].resize(most);
    all[i].resize(resize_taps(op, axis, static_cast<std::int64_t>(i), all[i]));
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
  // Small, and the same for all that are resized alike.
  c.key = "gpu-taps|";
  c.key.append(reinterpret_cast<const char*>(table.words.data()), c.bytes);
  c.fill = [words = std::move(table.words)](std::byte* to) -> Status {
    std::memcpy(to, words.data(), words.size() * 4);
    return {};
  };
  return c;
}

}  // namespace

Selection select_resize(const KernelRequest& request) {
  const auto& op = request.as<Resize>();
  const Shape& x = request.shape(0);
  const Shape& y = request.outputs[0].shape;
  const std::size_t spatial = x.rank() - 2;
  if (request.dtype(0) != DType::f32 || x.rank() < 3 || x.rank() > 4 || y.elements() == 0 ||
      x.elements() == 0 || op.coordinates == CoordinateMode::tf_crop_and_resize)
    return not_for_me();
  const auto axes = constant_resize_axes(request);
  if (!axes || !(*axes)[0].is_identity() || !(*axes)[1].is_identity()) return not_for_me();
  const ResizeAxis& width = (*axes)[x.rank() - 1];
  const ResizeAxis height = spatial == 2 ? (*axes)[2] : ResizeAxis{};
  auto rows = tap_table(op, height);
  auto columns = tap_table(op, width);
  if (!rows || !columns) return not_for_me();
  const bool vectors = x[1] % 4 == 0;
  const std::int64_t work = y.elements() / (vectors ? 4 : 1);
  Dispatch d;
  d.shader = "resize";
  const std::uint32_t local = lanes(*request.gpu);
  d.constants = {local, vectors};
  for (std::int64_t v :
       {work, height.in, width.in, height.out, width.out, x[1],
        static_cast<std::int64_t>(rows->taps), static_cast<std::int64_t>(columns->taps)})
    d.push.push_back(word(v));
  d.buffers = {BufferUse::input(0), BufferUse::output(0), BufferUse::constant(0),
               BufferUse::constant(1)};
  d.groups = linear_groups(static_cast<std::uint64_t>(work), local, *request.gpu);
  KernelChoice choice;
  choice.implementation = "taps";
  choice.input_layouts = {Layout::channels_last(x)};
  choice.output_layouts = {Layout::channels_last(y)};
  choice.packed_inputs.assign(request.inputs.size(), true);
  choice.packed_inputs[0] = false;
  choice.gpu.constants.push_back(constant_of(*std::move(rows)));
  choice.gpu.constants.push_back(constant_of(*std::move(columns)));
  choice.gpu.dispatches.push_back(std::move(d));
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern::gpu
