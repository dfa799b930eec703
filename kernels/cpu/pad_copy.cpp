// SPDX-License-Identifier: Apache-2.0
// Pad with a value: fills the output with it, then copies the remaining input into the middle. A
// channels-last layout is kept. Where nothing is added and what is kept is one range of bytes, that
// is copied at once.
#include "kernels/cpu/pad_copy.h"

#include <algorithm>
#include <cstring>

#include "graph/ops/pad.h"
#include "kernels/contract/constant_operands.h"
#include "kernels/contract/copy.h"
#include "kernels/contract/movement.h"

namespace quern {
namespace {

class PadCopy final : public CpuKernel {
 public:
  PadCopy(const TensorType& y, const ElementCopy& copy, std::size_t from, std::size_t to)
      : y_(y), copy_(copy), from_(from), to_(to) {}

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    const std::size_t size = size_of(y_.dtype);
    std::byte value[sizeof(StringRef)] = {};
    if (args.inputs.size() > 2 && args.inputs[2]) std::memcpy(value, args.inputs[2], size);
    StopCheck check(args.stop);
    fill(size, value, y_.shape.elements(), args.outputs[0], check);
    copy_(args.inputs[0] + from_, args.outputs[0] + to_, parallel);
    return {};
  }

 private:
  TensorType y_;
  ElementCopy copy_;
  std::size_t from_, to_;  // bytes to the first element that is kept
};

class RangeCopy final : public CpuKernel {
 public:
  RangeCopy(std::size_t from, std::size_t bytes) : from_(from), bytes_(bytes) {}

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    const std::byte* const in = args.inputs[0] + from_;
    std::byte* const out = args.outputs[0];
    constexpr std::int64_t grain = 1 << 16;
    parallel(static_cast<std::int64_t>(bytes_), grain, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(out + begin, in + begin, static_cast<std::size_t>(end - begin));
    });
    return {};
  }

 private:
  std::size_t from_, bytes_;
};

}  // namespace

Selection select_pad_copy(const KernelRequest& r) {
  const TensorType& y = r.outputs[0];
  const Shape& x = r.shape(0);
  const auto pads = constant_pads(r);
  if (r.as<Pad>().mode != PadMode::constant || !pads || y.shape.elements() == 0)
    return unsupported();
  const TensorDesc& lies = r.inputs[0].desc;
  const bool last = lies.layout.block || is_channels_last(lies);
  const Layout in = lies.layout.block ? Layout::channels_last(x) : lies.layout;
  const Layout out = last ? Layout::channels_last(y.shape) : Layout::row_major(y.shape);
  Shape kept = x;
  std::int64_t from = 0;
  std::int64_t to = 0;
  for (std::size_t d = 0; d < x.rank(); ++d) {
    kept[d] += std::min<std::int64_t>(pads->begin[d], 0) + std::min<std::int64_t>(pads->end[d], 0);
    from -= std::min<std::int64_t>(pads->begin[d], 0) * in.strides[d];
    to += std::max<std::int64_t>(pads->begin[d], 0) * out.strides[d];
  }
  const auto bytes = [&](std::int64_t n) { return static_cast<std::size_t>(n) * size_of(y.dtype); };
  const bool empty = kept.elements() == 0;
  const ElementCopy copy({y.dtype, kept, in}, {y.dtype, kept, out});
  KernelChoice choice;
  choice.implementation = "copy";
  choice.input_layouts.resize(r.inputs.size());
  choice.input_layouts[0] = in;
  choice.output_layouts = {out};
  if (!empty && kept == y.shape && is_dense({y.dtype, kept, in}) && same_placement(kept, in, out)) {
    choice.work = std::make_unique<RangeCopy>(bytes(from), y.bytes());
    return std::optional<KernelChoice>(std::move(choice));
  }
  choice.work = std::make_unique<PadCopy>(y, copy, empty ? 0 : bytes(from), empty ? 0 : bytes(to));
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
