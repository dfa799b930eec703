// SPDX-License-Identifier: Apache-2.0
#include "kernels/contract/conv_parts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/text_util.h"
#include "graph/ops/conv.h"
#include "graph/ops/windows.h"

namespace quern {
namespace {

constexpr std::size_t most_operands = 16;
constexpr std::size_t row_axis = 2;

double work_of(const KernelRequest& r) {
  const auto padded = [](std::int64_t channels) { return round_up(channels, 8); };
  const std::int64_t group = r.as<Conv>().group;
  const Shape& y = r.outputs[0].shape;
  // One channel a group is a vector of groups.
  const bool depthwise = r.shape(1)[1] == 1 && r.shape(1)[0] == group;
  const std::int64_t channels = depthwise ? padded(y[1]) : padded(y[1] / group) * group;
  return 2.0 * static_cast<double>(y[0] * channels) * static_cast<double>(y.elements(2)) *
         static_cast<double>(r.shape(1).elements(1));
}

// Images [image, image + images) and, of each, the rows [from, to) of the result.
struct PartRange {
  std::int64_t image, images, from, to;
};

// The rows of a part of an image, whose whole is `work`. Winograd's kernels want some rows at once.
std::int64_t rows_of_part(double work, std::int64_t rows, const ConvPartSizes& sizes) {
  constexpr std::int64_t for_winograd = 16;
  const auto parts = static_cast<std::int64_t>(std::ceil(work / sizes.part_work));
  const std::int64_t step = (rows + std::min(parts, rows) - 1) / std::min(parts, rows);
  const double of_row = work / static_cast<double>(rows);
  return of_row * for_winograd <= sizes.most_work ? std::max(step, std::min(rows, for_winograd))
                                                  : step;
}

// In the order of memory; one or none: the work is not cut.
std::vector<PartRange> ranges_of(const KernelRequest& r, const ConvPartSizes& sizes) {
  std::vector<PartRange> ranges;
  const double work = work_of(r);
  if (work <= sizes.most_work) return ranges;
  const std::int64_t images = r.outputs[0].shape[0];
  const std::int64_t rows = r.outputs[0].shape[row_axis];
  const double of_image = work / static_cast<double>(images);
  if (of_image <= sizes.part_work) {
    const auto step =
        std::max<std::int64_t>(static_cast<std::int64_t>(sizes.part_work / of_image), 1);
    for (std::int64_t n = 0; n < images; n += step)
      ranges.push_back({n, std::min(step, images - n), 0, rows});
    return ranges;
  }
  const std::int64_t step = rows_of_part(of_image, rows, sizes);
  for (std::int64_t n = 0; n < images; ++n)
    for (std::int64_t from = 0; from < rows; from += step)
      ranges.push_back({n, 1, from, std::min(from + step, rows)});
  return ranges;
}

// A range reads rows [begin, end) of x, and the padding before and after them.
struct PartReads {
  std::int64_t begin, end, pad_begin, pad_end;
};
PartReads reads_of(const ResolvedWindow& w, std::int64_t rows, const PartRange& range) {
  const std::int64_t first = range.from * w.strides[0] - w.pads_begin[0];
  const std::int64_t last = (range.to - 1) * w.strides[0] - w.pads_begin[0] + w.extent(0);
  const std::int64_t begin = std::clamp<std::int64_t>(first, 0, rows);
  const std::int64_t end = std::clamp<std::int64_t>(last, begin, rows);
  return {begin, end, begin - first, last - end};
}

// The layouts that can be cut: an image is slices of rows, each slice dense.
enum class PartOrder : std::uint8_t { row_major, channels_last, blocks_of_8, blocks_of_16, other };

Layout layout_in(PartOrder order, const Shape& shape) {
  switch (order) {
    case PartOrder::channels_last: return Layout::channels_last(shape);
    case PartOrder::blocks_of_8: return Layout::channel_blocked(shape, 8);
    case PartOrder::blocks_of_16: return Layout::channel_blocked(shape, 16);
    case PartOrder::row_major:
    case PartOrder::other: break;
  }
  return Layout::row_major(shape);
}
PartOrder order_of(const Layout& layout, const Shape& shape) {
  if (layout.strides.rank() != shape.rank()) return PartOrder::other;
  for (PartOrder o : {PartOrder::row_major, PartOrder::channels_last, PartOrder::blocks_of_8,
                      PartOrder::blocks_of_16})
    if (same_placement(shape, layout, layout_in(o, shape))) return o;
  return PartOrder::other;
}

// How one tensor is cut, in bytes. Without slices it is not.
struct Cut {
  std::size_t image = 0, slices = 0, slice = 0, row = 0;

  Cut() = default;
  Cut(PartOrder order, const Shape& shape) {
    const auto channels = static_cast<std::size_t>(shape[1]);
    const std::size_t block = order == PartOrder::blocks_of_8    ? 8
                              : order == PartOrder::blocks_of_16 ? 16
                                                                 : 1;
    slices = order == PartOrder::channels_last ? 1 : ceil_div(channels, block);
    row = static_cast<std::size_t>(shape.elements(row_axis + 1)) * sizeof(float) *
          (order == PartOrder::channels_last ? channels : block);
    slice = row * static_cast<std::size_t>(shape[row_axis]);
    image = slice * slices;
  }
};

// The request for a range: the same operator with other padding, on fewer images and rows.
class ConvPart {
 public:
  ConvPart(const KernelRequest& whole, const ResolvedWindow& w, const PartRange& range,
           const PartReads& reads)
      : whole_(whole), op_(with_padding(whole.as<Conv>(), w, reads)) {
    const TensorType& y = whole.outputs[0];
    const auto cut = [&](Shape shape, std::int64_t rows) {
      shape[0] = range.images;
      shape[row_axis] = rows;
      return shape;
    };
    const Shape y_shape = cut(y.shape, range.to - range.from);
    inputs_.assign(whole.inputs.begin(), whole.inputs.end());
    inputs_[0].desc =
        TensorDesc::row_major(whole.dtype(0), cut(whole.shape(0), reads.end - reads.begin));
    operands_.assign(whole.operands.begin(), whole.operands.end());
    for (KernelInput& in : operands_)
      if (in.desc.shape == y.shape) in.desc = TensorDesc::row_major(in.desc.dtype, y_shape);
    outputs_.push_back({y.dtype, y_shape});
  }
  KernelRequest request() const {
    return {op_,           whole_.name,         inputs_,   outputs_,
            whole_.wanted, whole_.post_ops,     operands_, whole_.target,
            whole_.gpu,    whole_.half_products};
  }

 private:
  static Op with_padding(Conv op, const ResolvedWindow& w, const PartReads& reads) {
    const auto list = [](const Shape& s) { return Ints(s.begin(), s.end()); };
    op.window = {list(w.kernel), list(w.strides), list(w.pads_begin), list(w.dilations)};
    op.window.pads.insert(op.window.pads.end(), w.pads_end.begin(), w.pads_end.end());
    op.window.pads[0] = reads.pad_begin;
    op.window.pads[w.rank()] = reads.pad_end;
    return op;
  }

  const KernelRequest& whole_;
  Op op_;
  std::vector<KernelInput> inputs_;
  std::vector<KernelInput> operands_;
  std::vector<TensorType> outputs_;
};

// A tensor of a call: where its bytes lie in the whole one, and where the kernel finds them.
struct Place {
  std::size_t offset = 0;   // in the whole tensor
  std::size_t rows = 0;     // bytes of the rows of one slice
  std::size_t scratch = 0;  // where slices are copied to
};

class ConvInParts final : public CpuKernel {
 public:
  struct Call {
    std::size_t kernel;
    std::int64_t image, from, to, begin, end;  // rows of the result, and of x
  };
  std::vector<std::unique_ptr<CpuKernel>> kernels;
  std::vector<Call> calls;
  std::vector<Cut> reads;  // by KernelRequest::read
  Cut result;
  std::vector<std::size_t> read_scratch;  // where the rows of what is read are copied to
  std::size_t result_scratch = 0;
  bool by_rows = false;
  bool adds_to_result = false;  // the kernels read the result's place

  Result<std::unique_ptr<KernelState>> make_state() const override {
    auto state = std::make_unique<State>();
    for (const auto& kernel : kernels) {
      QUERN_ASSIGN(state->of.emplace_back(), kernel->make_state());
    }
    return std::unique_ptr<KernelState>(std::move(state));
  }

  Status run(const KernelArgs& args, KernelState* state, const Parallel& parallel) const override {
    for (const Call& call : calls) {
      if (args.is_over()) return {};
      QUERN_TRY(run_call(call, args, static_cast<State*>(state)->of[call.kernel].get(), parallel));
    }
    return {};
  }

 private:
  struct State final : KernelState {
    std::vector<std::unique_ptr<KernelState>> of;
  };

  // True if the kernel reads or writes a copy of the rows.
  bool is_copied(const Cut& cut) const { return by_rows && cut.slices > 1; }

  static Place place(const Cut& cut, const Call& call, std::int64_t from, std::int64_t to,
                     std::size_t scratch) {
    return {
        static_cast<std::size_t>(call.image) * cut.image + static_cast<std::size_t>(from) * cut.row,
        static_cast<std::size_t>(to - from) * cut.row, scratch};
  }
  static void gather(const Cut& cut, const Place& p, const std::byte* whole, std::byte* scratch,
                     const Parallel& parallel) {
    each_slice(cut, p, parallel, [&](std::size_t s) {
      std::memcpy(scratch + p.scratch + s * p.rows, whole + p.offset + s * cut.slice, p.rows);
    });
  }
  static void scatter(const Cut& cut, const Place& p, std::byte* whole, const std::byte* scratch,
                      const Parallel& parallel) {
    each_slice(cut, p, parallel, [&](std::size_t s) {
      std::memcpy(whole + p.offset + s * cut.slice, scratch + p.scratch + s * p.rows, p.rows);
    });
  }
  template <class F>
  static void each_slice(const Cut& cut, const Place& p, const Parallel& parallel, const F& f) {
    const std::int64_t grain = 1 + (std::int64_t{1} << 16) / static_cast<std::int64_t>(p.rows + 1);
    parallel(static_cast<std::int64_t>(cut.slices), grain,
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t s = begin; s < end; ++s) f(static_cast<std::size_t>(s));
             });
  }

  Status run_call(const Call& call, const KernelArgs& args, KernelState* state,
                  const Parallel& parallel) const {
    std::array<const std::byte*, most_operands> inputs{};
    for (std::size_t i = 0; i < args.inputs.size(); ++i) {
      if (!args.inputs[i]) continue;
      const Place p = i == 0 ? place(reads[i], call, call.begin, call.end, read_scratch[i])
                             : place(reads[i], call, call.from, call.to, read_scratch[i]);
      inputs[i] = args.inputs[i] + p.offset;
      if (!is_copied(reads[i])) continue;
      gather(reads[i], p, args.inputs[i], args.scratch, parallel);
      inputs[i] = args.scratch + p.scratch;
    }
    const Place p = place(result, call, call.from, call.to, result_scratch);
    std::byte* output = args.outputs[0] + p.offset;
    if (is_copied(result)) output = args.scratch + p.scratch;
    if (is_copied(result) && adds_to_result)
      gather(result, p, args.outputs[0], args.scratch, parallel);
    KernelArgs part = args;
    part.inputs = {inputs.data(), args.inputs.size()};
    part.outputs = {&output, 1};
    QUERN_TRY(kernels[call.kernel]->run(part, state, parallel));
    if (is_copied(result)) scatter(result, p, args.outputs[0], args.scratch, parallel);
    return {};
  }
};

// Builds the kernel and the choice for the whole from those of the parts.
class ConvCutter {
 public:
  ConvCutter(const KernelRequest& request, std::vector<PartRange> ranges,
             Selection (*select)(const KernelRequest&))
      : r_(request),
        ranges_(std::move(ranges)),
        select_(select),
        window_(resolve_window(request.as<Conv>().window, request.shape(0).dims().subspan(2),
                               request.shape(1).dims().subspan(2))) {
    work_->by_rows = ranges_[0].to - ranges_[0].from < request.outputs[0].shape[row_axis];
  }

  Selection build() {
    if (!has_plain_operands()) return unsupported();
    for (const PartRange& range : ranges_) {
      QUERN_ASSIGN(const bool fits, add(range));
      if (!fits) return unsupported();
    }
    take_scratch();
    choice_.implementation = cat(choice_.implementation, " in parts");
    choice_.work = std::move(work_);
    return std::optional<KernelChoice>(std::move(choice_));
  }

 private:
  bool is_cut(std::size_t i) const {
    return i == 0 || (i >= r_.inputs.size() && r_.read(i).desc.shape == r_.outputs[0].shape);
  }
  // Only operands of the result's shape, or the same for all images and rows, can be cut.
  bool has_plain_operands() const {
    const Shape& y = r_.outputs[0].shape;
    return r_.read_count() <= most_operands &&
           std::ranges::all_of(r_.operands, [&](const KernelInput& in) {
             const Shape& s = in.desc.shape;
             if (s == y) return in.desc.dtype == DType::f32;
             const std::size_t missing = y.rank() - s.rank();
             const auto size = [&](std::size_t d) { return d < missing ? 1 : s[d - missing]; };
             return size(0) == 1 && size(row_axis) == 1;
           });
  }

  // Adds the call for a range, with its own kernel or that of an equal one before; false: there is
  // none.
  Result<bool> add(const PartRange& range) {
    const PartReads reads = reads_of(window_, r_.shape(0)[row_axis], range);
    if (reads.begin == reads.end) return false;
    const std::array<std::int64_t, 5> kind = {range.images, range.to - range.from,
                                              reads.end - reads.begin, reads.pad_begin,
                                              reads.pad_end};
    const auto known = std::ranges::find(kinds_, kind);
    const auto kernel = static_cast<std::size_t>(known - kinds_.begin());
    if (known == kinds_.end()) {
      const ConvPart part(r_, window_, range, reads);
      const KernelRequest request = part.request();
      QUERN_ASSIGN(auto choice, select_(request));
      if (!choice || !take(std::move(*choice), request)) return false;
      kinds_.push_back(kind);
    }
    work_->calls.push_back({kernel, range.image, range.from, range.to, reads.begin, reads.end});
    return true;
  }

  // Takes the kernel of a part if its tensors lie as those of the first one.
  bool take(KernelChoice choice, const KernelRequest& part) {
    if (!choice.is_on_host() || !choice.copies.empty() || choice.output_layouts.size() != 1 ||
        choice.input_layouts.size() != r_.read_count())
      return false;
    std::vector<PartOrder> orders;
    for (std::size_t i = 0; i < r_.read_count(); ++i)
      if (is_cut(i)) orders.push_back(order_of(choice.input_layouts[i], part.read(i).desc.shape));
    orders.push_back(order_of(choice.output_layouts[0], part.outputs[0].shape));
    if (std::ranges::find(orders, PartOrder::other) != orders.end()) return false;
    keep_most(part);
    part_scratch_ = std::max(part_scratch_, choice.scratch_bytes);
    work_->kernels.push_back(std::get<std::unique_ptr<CpuKernel>>(std::move(choice.work)));
    if (work_->kernels.size() > 1) return orders == orders_ && agrees(choice);
    orders_ = std::move(orders);
    choice_ = std::move(choice);
    cut_all();
    return true;
  }
  // The tensors as the whole kernel has them.
  void cut_all() {
    auto order = orders_.begin();
    work_->reads.resize(r_.read_count());
    for (std::size_t i = 0; i < r_.read_count(); ++i) {
      if (!is_cut(i)) continue;
      choice_.input_layouts[i] = layout_in(*order, r_.read(i).desc.shape);
      work_->reads[i] = Cut(*order++, r_.read(i).desc.shape);
    }
    choice_.output_layouts[0] = layout_in(*order, r_.outputs[0].shape);
    work_->result = Cut(*order, r_.outputs[0].shape);
    work_->adds_to_result = std::ranges::any_of(
        choice_.sharing, [](const Sharing& s) { return s.alias == Alias::must; });
  }
  bool agrees(const KernelChoice& other) const {
    for (std::size_t i = 0; i < r_.read_count(); ++i) {
      const Layout& a = choice_.input_layouts[i];
      const Layout& b = other.input_layouts[i];
      if (is_cut(i)) continue;
      if (a.strides.rank() != b.strides.rank()) return false;
      if (a.strides.rank() == r_.read(i).desc.shape.rank() &&
          !same_placement(r_.read(i).desc.shape, a, b))
        return false;
    }
    return choice_.post_ops_taken == other.post_ops_taken &&
           choice_.packed_inputs == other.packed_inputs && choice_.sharing == other.sharing;
  }

  void keep_most(const KernelRequest& part) {
    most_read_rows_ = std::max(most_read_rows_, part.shape(0)[row_axis]);
    most_rows_ = std::max(most_rows_, part.outputs[0].shape[row_axis]);
  }
  // Behind the scratch memory of the parts, copies of what does not lie side by side.
  void take_scratch() {
    std::size_t end = round_up(part_scratch_, 64);
    const auto room = [&](const Cut& cut, std::int64_t rows) {
      const std::size_t at = end;
      if (work_->by_rows && cut.slices > 1)
        end += round_up(cut.slices * cut.row * static_cast<std::size_t>(rows), 64);
      return at;
    };
    for (std::size_t i = 0; i < r_.read_count(); ++i)
      work_->read_scratch.push_back(room(work_->reads[i], i == 0 ? most_read_rows_ : most_rows_));
    work_->result_scratch = room(work_->result, most_rows_);
    choice_.scratch_bytes = end;
  }

  const KernelRequest& r_;
  std::vector<PartRange> ranges_;
  Selection (*select_)(const KernelRequest&);
  ResolvedWindow window_;
  std::unique_ptr<ConvInParts> work_ = std::make_unique<ConvInParts>();
  std::vector<std::array<std::int64_t, 5>> kinds_;  // of the kernels
  std::vector<PartOrder> orders_;                   // of what is cut, the result last
  KernelChoice choice_;
  std::size_t part_scratch_ = 0;
  std::int64_t most_read_rows_ = 0, most_rows_ = 0;
};

}  // namespace

Selection conv_in_parts(const KernelRequest& request, Selection (*select)(const KernelRequest&),
                        const ConvPartSizes& sizes) {
  std::vector<PartRange> ranges = ranges_of(request, sizes);
  if (ranges.size() < 2) return unsupported();
  return ConvCutter(request, std::move(ranges), select).build();
}

}  // namespace quern
