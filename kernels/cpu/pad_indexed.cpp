// SPDX-License-Identifier: Apache-2.0
// Pad by edge, reflection or wrapping: a table for each padded dimension says where its padding
// comes from. What lies behind the last of these dimensions moves as one run of bytes, and the
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
// input: those of the padding by tables, those between side by side.
struct Sources {
  std::vector<std::int64_t> before, after;
  std::int64_t first, middle, step;  // of the first in the middle, their number and distance

  std::int64_t middle_end() const { return static_cast<std::int64_t>(before.size()) + middle; }
  std::int64_t size() const { return middle_end() + static_cast<std::int64_t>(after.size()); }
  std::int64_t operator[](std::int64_t i) const {
    const auto begin = static_cast<std::int64_t>(before.size());
    if (i < begin) return before[static_cast<std::size_t>(i)];
    if (i < middle_end()) return first + (i - begin) * step;
    return after[static_cast<std::size_t>(i - middle_end())];
  }
};

// More padding is left to the reference, which has no tables.
constexpr std::int64_t most_listed = std::int64_t{1} << 20;

enum class ChannelsAre : std::uint8_t { second, last };

class PadIndexed final : public CpuKernel {
 public:
  // `tables` of the dimensions in the order of memory; the last one's steps are `run` bytes.
  PadIndexed(std::vector<Sources> tables, std::size_t run)
      : line_(std::move(tables.back())), run_(run) {
    tables.pop_back();
    tables_ = std::move(tables);
    for (const Sources& t : tables_) lines_ *= t.size();
  }

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    const std::size_t bytes = static_cast<std::size_t>(line_.size()) * run_;
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
      at += tables_[d][line % tables_[d].size()];
      line /= tables_[d].size();
    }
    return at;
  }
  void write_line(const std::byte* src, std::byte* dst) const {
    write_runs(src, dst, line_.before);
    dst += line_.before.size() * run_;
    std::memcpy(dst, src + line_.first, static_cast<std::size_t>(line_.middle) * run_);
    write_runs(src, dst + static_cast<std::size_t>(line_.middle) * run_, line_.after);
  }
  void write_runs(const std::byte* src, std::byte* dst,
                  const std::vector<std::int64_t>& from) const {
    const auto each = [&](auto size) {
      for (std::size_t i = 0; i < from.size(); ++i)
        std::memcpy(dst + i * size, src + from[i], size);
    };
    if (run_ == 4)
      each(std::integral_constant<std::size_t, 4>{});
    else
      each(run_);
  }

  std::vector<Sources> tables_;
  Sources line_;
  std::size_t run_;
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

// Dimension d, whose steps in the input are `step` bytes.
Sources sources_of(const KernelRequest& r, const Pads& pads, std::size_t d, std::int64_t step) {
  const std::int64_t size = r.outputs[0].shape[d];
  const std::int64_t extend = std::max<std::int64_t>(pads.begin[d], 0);
  const std::int64_t crop = -std::min<std::int64_t>(pads.begin[d], 0);
  const std::int64_t kept = kept_of(r.shape(0), pads, d);
  Sources s;
  const auto list = [&](std::int64_t begin, std::int64_t end, std::vector<std::int64_t>& to) {
    to.reserve(static_cast<std::size_t>(end - begin));
    for (std::int64_t i = begin; i < end; ++i)
      to.push_back((crop + pad_source(r.as<Pad>().mode, i - extend, kept)) * step);
  };
  const std::int64_t middle_end = std::min(extend + kept, size);
  list(0, std::min(extend, size), s.before);
  list(middle_end, size, s.after);
  s.first = crop * step;
  s.middle = middle_end - static_cast<std::int64_t>(s.before.size());
  s.step = step;
  return s;
}

std::unique_ptr<CpuKernel> make_kernel(const KernelRequest& r, const Pads& pads,
                                       ChannelsAre channels) {
  const Shape& x = r.shape(0);
  const auto size = static_cast<std::int64_t>(size_of(r.outputs[0].dtype));
  std::vector<Sources> tables;
  std::int64_t run = size;
  const Layout in = channels == ChannelsAre::last ? Layout::channels_last(x) : Layout::row_major(x);
  std::vector<std::size_t> order = order_of_memory(x.rank(), channels);
  const auto is_padded = [&](std::size_t d) { return pads.begin[d] != 0 || pads.end[d] != 0; };
  for (; order.size() > 1 && !is_padded(order.back()); order.pop_back()) run *= x[order.back()];
  tables.reserve(order.size());
  for (std::size_t d : order) tables.push_back(sources_of(r, pads, d, in.strides[d] * size));
  return std::make_unique<PadIndexed>(std::move(tables), static_cast<std::size_t>(run));
}

}  // namespace

Selection select_pad_indexed(const KernelRequest& r) {
  const TensorType& y = r.outputs[0];
  const Shape& x = r.shape(0);
  const auto pads = constant_pads(r);
  if (r.as<Pad>().mode == PadMode::constant || !pads || x.empty() || x.elements() == 0 ||
      y.shape.elements() == 0)
    return unsupported();
  std::int64_t listed = 0;
  for (std::size_t d = 0; d < x.rank(); ++d) {
    const std::int64_t kept = kept_of(x, *pads, d);
    if (kept < 1) return unsupported();
    listed += y.shape[d] - kept;
  }
  if (listed > most_listed) return unsupported();
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
