// SPDX-License-Identifier: Apache-2.0
// Pad by edge, reflection or wrapping: a table for each padded dimension says where its elements
// come from. What lies behind the last of these dimensions moves as one run of bytes, and the
// middle of a line, which is the input as it lies, as one copy. A channels-last layout is kept.
#include "kernels/cpu/pad_indexed.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "graph/ops/pad.h"
#include "graph/ops/transpose.h"
#include "kernels/contract/constant_operands.h"
#include "kernels/contract/movement.h"
#include "kernels/contract/rows.h"

namespace quern {
namespace {

// Where the elements of one dimension of the result come from, in bytes from the start of the
// input.
using Sources = std::vector<std::int64_t>;

enum class ChannelsAre : std::uint8_t { second, last };

class PadIndexed final : public CpuKernel {
 public:
  // `tables` of the dimensions in the order of memory; the last one's steps are `run` bytes. Of its
  // elements, [middle, middle_end) lie side by side in the input.
  PadIndexed(std::vector<Sources> tables, std::size_t run, std::int64_t middle,
             std::int64_t middle_end)
      : line_(std::move(tables.back())), run_(run), middle_(middle), middle_end_(middle_end) {
    tables.pop_back();
    tables_ = std::move(tables);
    for (const Sources& t : tables_) lines_ *= static_cast<std::int64_t>(t.size());
  }

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    const std::size_t bytes = line_.size() * run_;
    parallel(lines_, row_grain(static_cast<std::int64_t>(bytes / 4)),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t i = begin; i < end; ++i)
                 write_line(args.inputs[0] + source_of(i),
                            args.outputs[0] + static_cast<std::size_t>(i) * bytes);
             });
    return {};
  }

 private:
  std::int64_t source_of(std::int64_t line) const {
    std::int64_t at = 0;
    for (std::size_t d = tables_.size(); d-- > 0;) {
      const auto n = static_cast<std::int64_t>(tables_[d].size());
      at += tables_[d][static_cast<std::size_t>(line % n)];
      line /= n;
    }
    return at;
  }
  void write_line(const std::byte* src, std::byte* dst) const {
    write_runs(src, dst, 0, middle_);
    std::memcpy(dst + static_cast<std::size_t>(middle_) * run_,
                src + line_[static_cast<std::size_t>(middle_)],
                static_cast<std::size_t>(middle_end_ - middle_) * run_);
    write_runs(src, dst, middle_end_, static_cast<std::int64_t>(line_.size()));
  }
  void write_runs(const std::byte* src, std::byte* dst, std::int64_t begin,
                  std::int64_t end) const {
    const auto each = [&](auto size) {
      for (std::int64_t i = begin; i < end; ++i)
        std::memcpy(dst + static_cast<std::size_t>(i) * size,
                    src + line_[static_cast<std::size_t>(i)], size);
    };
    if (run_ == 4)
      each(std::integral_constant<std::size_t, 4>{});
    else
      each(run_);
  }

  std::vector<Sources> tables_;
  Sources line_;
  std::size_t run_;
  std::int64_t middle_, middle_end_;
  std::int64_t lines_ = 1;
};

// The dimensions from the outermost one in memory to the innermost.
std::vector<std::size_t> order_of_memory(std::size_t rank, ChannelsAre channels) {
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (channels == ChannelsAre::last) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return order;
}

// The elements of dimension d that are left when it is cropped.
std::int64_t kept_of(const Shape& x, const Pads& pads, std::size_t d) {
  return x[d] + std::min<std::int64_t>(pads.begin[d], 0) + std::min<std::int64_t>(pads.end[d], 0);
}

std::unique_ptr<CpuKernel> make_kernel(const KernelRequest& r, const Pads& pads,
                                       ChannelsAre channels) {
  const Shape& x = r.shape(0);
  const Shape& y = r.outputs[0].shape;
  const auto size = static_cast<std::int64_t>(size_of(r.outputs[0].dtype));
  std::vector<Sources> tables;
  std::int64_t run = size;
  std::int64_t middle = 0;
  std::int64_t middle_end = 1;
  const Layout in = channels == ChannelsAre::last ? Layout::channels_last(x) : Layout::row_major(x);
  std::vector<std::size_t> order = order_of_memory(x.rank(), channels);
  const auto is_padded = [&](std::size_t d) { return pads.begin[d] != 0 || pads.end[d] != 0; };
  for (; order.size() > 1 && !is_padded(order.back()); order.pop_back()) run *= x[order.back()];
  for (std::size_t d : order) {
    const std::int64_t extend = std::max<std::int64_t>(pads.begin[d], 0);
    const std::int64_t crop = -std::min<std::int64_t>(pads.begin[d], 0);
    const std::int64_t kept = kept_of(x, pads, d);
    Sources table(static_cast<std::size_t>(y[d]));
    for (std::int64_t i = 0; i < y[d]; ++i)
      table[static_cast<std::size_t>(i)] =
          (crop + pad_source(r.as<Pad>().mode, i - extend, kept)) * in.strides[d] * size;
    tables.push_back(std::move(table));
    middle = std::min(extend, y[d]);
    middle_end = std::min(extend + kept, y[d]);
  }
  return std::make_unique<PadIndexed>(std::move(tables), static_cast<std::size_t>(run), middle,
                                      middle_end);
}

}  // namespace

Selection select_pad_indexed(const KernelRequest& r) {
  const TensorType& y = r.outputs[0];
  const Shape& x = r.shape(0);
  const auto pads = constant_pads(r);
  if (r.as<Pad>().mode == PadMode::constant || !pads || x.empty() || x.elements() == 0 ||
      y.shape.elements() == 0)
    return unsupported();
  for (std::size_t d = 0; d < x.rank(); ++d)
    if (kept_of(x, *pads, d) < 1) return unsupported();
  const TensorDesc& lies = r.inputs[0].desc;
  const bool last = lies.layout.block || is_channels_last(lies);
  const auto layout_of = [&](const Shape& shape) {
    return last ? Layout::channels_last(shape) : Layout::row_major(shape);
  };
  KernelChoice choice;
  choice.implementation = "indexed";
  choice.input_layouts.resize(r.inputs.size());
  choice.input_layouts[0] = layout_of(x);
  choice.output_layouts = {layout_of(y.shape)};
  choice.work = make_kernel(r, *pads, last ? ChannelsAre::last : ChannelsAre::second);
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
