// SPDX-License-Identifier: Apache-2.0
#include "kernels/contract/conv_parts.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/text_util.h"
#include "graph/ops/conv.h"
#include "graph/ops/windows.h"
#include "kernels/contract/conv_ranges.h"
#include "kernels/contract/first_error.h"
#include "kernels/contract/sliced_constant.h"

namespace quern {
namespace {

constexpr std::size_t most_operands = 16;

// The calls of parts follow each other, with copies of rows that do not lie side by side or only
// where there are none, or run at one time, each on one thread.
enum class Calls : std::uint8_t { in_turn, in_turn_in_place, at_one_time };

// ---- places of parts ---------------------------------------------------------------------------

// A range reads rows [begin, end) of x, and the padding before and after them; rows are the
// indices of spatial dimension `d`.
struct PartReads {
  std::int64_t begin, end, pad_begin, pad_end;
};
PartReads reads_of(const ResolvedWindow& w, std::size_t d, std::int64_t rows, std::int64_t y_rows,
                   const PartRange& range) {
  // A whole image gives all rows, also those behind the last window: it is dense with them.
  if (range.from == 0 && range.to == y_rows) return {0, rows, w.pads_begin[d], w.pads_end[d]};
  const std::int64_t first = range.from * w.strides[d] - w.pads_begin[d];
  const std::int64_t last = (range.to - 1) * w.strides[d] - w.pads_begin[d] + w.extent(d);
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
  std::size_t channel = 0;  // of whole blocks; 0 where channels are not cut

  Cut() = default;
  // A tensor that only channels cut, its first dimension or its only one above 1.
  explicit Cut(std::size_t bytes_of_channel) : channel(bytes_of_channel) {}
  Cut(PartOrder order, DType dtype, const Shape& shape, std::size_t row_axis) {
    const auto channels = static_cast<std::size_t>(shape[1]);
    const std::size_t block = order == PartOrder::blocks_of_8    ? 8
                              : order == PartOrder::blocks_of_16 ? 16
                                                                 : 1;
    slices = order == PartOrder::channels_last ? 1 : ceil_div(channels, block);
    row = static_cast<std::size_t>(shape.elements(row_axis + 1)) * size_of(dtype) *
          (order == PartOrder::channels_last ? channels : block);
    slice = row * static_cast<std::size_t>(shape[row_axis]);
    image = slice * slices;
    channel = slice / block;
  }
};

// The dimension of an operand of post-ops, broadcast to `y`, that has a number for each channel.
std::optional<std::size_t> channel_axis(const Shape& s, const Shape& y) {
  const std::size_t missing = y.rank() - s.rank();
  if (s.rank() > y.rank() || missing > 1 || s[1 - missing] != y[1] || y[1] == 1)
    return std::nullopt;
  return 1 - missing;
}

// The request for a range: the same operator with other padding, on fewer images, rows and
// channels.
class ConvPart {
 public:
  ConvPart(const KernelRequest& whole, const ResolvedWindow& w, const PartRange& range,
           const PartReads& reads)
      : whole_(whole), op_(part_of(whole, w, range, reads)) {
    const TensorType& y = whole.outputs[0];
    const std::size_t row_axis = row_axis_of(whole);
    const auto cut = [&](const Shape& shape, std::int64_t channels, std::int64_t rows) {
      Shape part = shape;
      part[0] = range.images;
      part[1] = channels;
      part[row_axis] = rows;
      return part;
    };
    const Shape y_shape = cut(y.shape, range.channels, range.to - range.from);
    const std::int64_t in_channels = whole.shape(1)[1] * op_.as<Conv>()->group;
    inputs_.assign(whole.inputs.begin(), whole.inputs.end());
    inputs_[0].desc = TensorDesc::row_major(
        whole.dtype(0), cut(whole.shape(0), in_channels, reads.end - reads.begin));
    operands_.assign(whole.operands.begin(), whole.operands.end());
    for (KernelInput& in : operands_)
      if (in.desc.shape == y.shape)
        in.desc = TensorDesc::row_major(in.desc.dtype, y_shape);
      else
        in.is_last_use = false;  // the next part reads it again
    if (range.channels < y.shape[1]) cut_channels(range);
    outputs_.push_back({y.dtype, y_shape});
  }
  KernelRequest request() const {
    return {op_,           whole_.name,         inputs_,   outputs_,
            whole_.wanted, whole_.post_ops,     operands_, whole_.target,
            whole_.gpu,    whole_.half_products};
  }

 private:
  static Op part_of(const KernelRequest& whole, const ResolvedWindow& w, const PartRange& range,
                    const PartReads& reads) {
    Conv op = whole.as<Conv>();
    op.group = op.group * range.channels / whole.outputs[0].shape[1];
    op.group = std::max<std::int64_t>(op.group, 1);
    return with_padding(std::move(op), w, reads, row_axis_of(whole) - 2);
  }
  // Weights, bias and operands of some channels.
  void cut_channels(const PartRange& range) {
    if (const ConstantSource* weights = inputs_[1].constant) {
      weights_.emplace(*weights, range.channel, range.channels);
      inputs_[1].constant = &*weights_;
    }
    const auto cut = [&](KernelInput& in, std::size_t axis) {
      Shape shape = in.desc.shape;
      shape[axis] = range.channels;
      in.desc = TensorDesc::row_major(in.desc.dtype, shape);
    };
    cut(inputs_[1], 0);
    if (inputs_.size() > 2 && inputs_[2].present) {
      cut(inputs_[2], 0);
      inputs_[2].constant = nullptr;
    }
    for (KernelInput& in : operands_) {
      const auto axis = channel_axis(in.desc.shape, whole_.outputs[0].shape);
      if (!axis) continue;
      cut(in, *axis);
      in.constant = nullptr;
    }
  }
  static Op with_padding(Conv op, const ResolvedWindow& w, const PartReads& reads, std::size_t d) {
    const auto list = [](const Shape& s) { return Ints(s.begin(), s.end()); };
    op.window = {list(w.kernel), list(w.strides), list(w.pads_begin), list(w.dilations)};
    op.window.pads.insert(op.window.pads.end(), w.pads_end.begin(), w.pads_end.end());
    op.window.pads[d] = reads.pad_begin;
    op.window.pads[w.rank() + d] = reads.pad_end;
    return op;
  }

  const KernelRequest& whole_;
  Op op_;
  std::optional<SlicedConstant> weights_;
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
    std::int64_t channel, in_channel;          // the first of the result, and of x
  };
  std::vector<std::unique_ptr<CpuKernel>> kernels;
  std::vector<Call> calls;
  std::vector<Cut> reads;  // by KernelRequest::read
  Cut result;
  std::vector<std::size_t> read_scratch;  // where the rows of what is read are copied to
  std::size_t result_scratch = 0;
  bool by_rows = false;
  bool adds_to_result = false;  // the kernels read the result's place
  // For calls at one time, each of which has a slot: its states, and its part of the scratch
  // memory. One slot: they are in turn, and each has all threads.
  std::size_t slots = 1;
  std::size_t slot_scratch = 0;

  Result<std::unique_ptr<KernelState>> make_state() const override {
    auto state = std::make_unique<State>();
    for (std::size_t i = 0; i < (has_own_kernels() ? 1 : slots); ++i)
      for (const auto& kernel : kernels) {
        QUERN_ASSIGN(state->of.emplace_back(), kernel->make_state());
      }
    return std::unique_ptr<KernelState>(std::move(state));
  }

  Status run(const KernelArgs& args, KernelState* state, const Parallel& parallel) const override {
    const auto& states = static_cast<State*>(state)->of;
    if (slots > 1) return run_at_one_time(args, states, parallel);
    for (const Call& call : calls) {
      if (args.is_over()) return {};
      QUERN_TRY(run_call(call, args, states[call.kernel].get(), parallel));
    }
    return {};
  }

 private:
  using States = std::vector<std::unique_ptr<KernelState>>;
  struct State final : KernelState {
    std::size_t calls() const override { return of.size(); }
    States of;
  };

  // True if no two calls have a kernel in common: then each kernel needs one state.
  bool has_own_kernels() const { return kernels.size() == calls.size(); }

  Status run_at_one_time(const KernelArgs& args, const States& states,
                         const Parallel& parallel) const {
    const Parallel alone(1);
    FirstError error;
    parallel.each(static_cast<std::int64_t>(calls.size()), [&](std::size_t slot, std::int64_t i) {
      if (args.is_over()) return;
      const Call& call = calls[static_cast<std::size_t>(i)];
      KernelArgs of_slot = args;
      of_slot.scratch += slot * slot_scratch;
      const std::size_t first = has_own_kernels() ? 0 : slot * kernels.size();
      error.keep(run_call(call, of_slot, states[first + call.kernel].get(), alone));
    });
    return error.take();
  }

  // True if the kernel reads or writes a copy of the rows.
  bool is_copied(const Cut& cut) const { return by_rows && cut.slices > 1; }

  struct Rows {
    std::int64_t from, to, channel;
  };
  static Place place(const Cut& cut, const Call& call, const Rows& rows, std::size_t scratch) {
    return {static_cast<std::size_t>(call.image) * cut.image +
                static_cast<std::size_t>(rows.from) * cut.row +
                static_cast<std::size_t>(rows.channel) * cut.channel,
            static_cast<std::size_t>(rows.to - rows.from) * cut.row, scratch};
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
      const Rows rows = i == 0 ? Rows{call.begin, call.end, call.in_channel}
                               : Rows{call.from, call.to, call.channel};
      const Place p = place(reads[i], call, rows, read_scratch[i]);
      inputs[i] = args.inputs[i] + p.offset;
      if (!is_copied(reads[i])) continue;
      gather(reads[i], p, args.inputs[i], args.scratch, parallel);
      inputs[i] = args.scratch + p.scratch;
    }
    const Place p = place(result, call, {call.from, call.to, call.channel}, result_scratch);
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
  using Kind = std::array<std::int64_t, 7>;

 public:
  ConvCutter(const KernelRequest& request, std::vector<PartRange> ranges, Calls calls,
             Selection (*select)(const KernelRequest&))
      : r_(request),
        ranges_(std::move(ranges)),
        calls_(calls),
        select_(select),
        window_(resolve_window(request.as<Conv>().window, request.shape(0).dims().subspan(2),
                               request.shape(1).dims().subspan(2))),
        row_axis_(row_axis_of(request)) {
    const Shape& y = request.outputs[0].shape;
    work_->by_rows = ranges_[0].to - ranges_[0].from < y[row_axis_];
    by_channels_ = ranges_[0].channels < y[1];
  }

  Selection build() {
    if (!has_plain_operands()) return unsupported();
    for (const PartRange& range : ranges_) {
      QUERN_ASSIGN(const bool fits, add(range));
      if (!fits) return unsupported();
    }
    take_scratch();
    choice_.implementation =
        cat(choice_.implementation, calls_ == Calls::at_one_time ? " at one time" : " in parts");
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
             if (s == y) return in.desc.dtype == r_.outputs[0].dtype;
             const std::size_t missing = y.rank() - s.rank();
             const auto size = [&](std::size_t d) { return d < missing ? 1 : s[d - missing]; };
             if (by_channels_ && channel_axis(s, y) && s.elements() != y[1]) return false;
             return size(0) == 1 && size(row_axis_) == 1;
           });
  }
  // Read `i`, which channels alone cut: weights, a bias, an operand with a number for each.
  bool is_of_channels(std::size_t i) const {
    if (!by_channels_ || i == 0 || is_cut(i) || !r_.read(i).present) return false;
    return i < r_.inputs.size() || channel_axis(r_.read(i).desc.shape, r_.outputs[0].shape);
  }

  // Adds the call for a range, with its own kernel or that of an equal one before; false: there is
  // none.
  Result<bool> add(const PartRange& range) {
    const PartReads reads = reads_of(window_, row_axis_ - 2, r_.shape(0)[row_axis_],
                                     r_.outputs[0].shape[row_axis_], range);
    if (reads.begin == reads.end) return false;
    // Packed weights are a kernel's own.
    const std::int64_t channel = r_.inputs[1].constant ? range.channel : 0;
    const Kind kind = {range.images,    range.to - range.from, reads.end - reads.begin,
                       reads.pad_begin, reads.pad_end,         channel,
                       range.channels};
    const auto known = std::ranges::find(kinds_, kind);
    const auto kernel = static_cast<std::size_t>(known - kinds_.begin());
    if (known == kinds_.end()) {
      const ConvPart part(r_, window_, range, reads);
      const KernelRequest request = part.request();
      QUERN_ASSIGN(auto choice, select_(request));
      if (!choice || !take(std::move(*choice), request)) return false;
      kinds_.push_back(kind);
    }
    const std::int64_t group = r_.as<Conv>().group;
    const std::int64_t in_channel = range.channel * group / r_.outputs[0].shape[1] * r_.shape(1)[1];
    work_->calls.push_back({kernel, range.image, range.from, range.to, reads.begin, reads.end,
                            range.channel, group == 1 ? 0 : in_channel});
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
    if (!may_cut(orders) || !has_channels_in_row(choice, part)) return false;
    keep_most(part);
    part_scratch_ = std::max(part_scratch_, choice.scratch_bytes);
    work_->kernels.push_back(std::get<std::unique_ptr<CpuKernel>>(std::move(choice.work)));
    if (work_->kernels.size() > 1) return orders == orders_ && agrees(choice);
    orders_ = std::move(orders);
    choice_ = std::move(choice);
    cut_all();
    return true;
  }
  // Channels are cut where each lies apart from the others, and where threads share the calls, no
  // rows are copied.
  bool may_cut(const std::vector<PartOrder>& orders) const {
    const bool has_channels_last = std::ranges::count(orders, PartOrder::channels_last) > 0;
    if (by_channels_) return !has_channels_last || is_one_place();
    if (calls_ == Calls::in_turn || !copies_rows(orders)) return true;
    return calls_ == Calls::at_one_time && is_long();
  }
  // The order of x is the first; all others are of the result's shape.
  bool copies_rows(const std::vector<PartOrder>& orders) const {
    const auto lies_in_slices = [](PartOrder o, const Shape& shape) {
      return o != PartOrder::channels_last && shape[1] > 1;
    };
    return work_->by_rows && (lies_in_slices(orders[0], r_.shape(0)) ||
                              std::any_of(orders.begin() + 1, orders.end(), [&](PartOrder o) {
                                return lies_in_slices(o, r_.outputs[0].shape);
                              }));
  }
  // In an image of one place, all layouts are the same.
  bool is_one_place() const {
    return r_.outputs[0].shape.elements(2) == 1 &&
           (r_.as<Conv>().group == 1 || r_.shape(0).elements(2) == 1);
  }
  bool is_long() const { return conv_work(r_) > ConvPartSizes().most_work; }
  bool has_channels_in_row(const KernelChoice& choice, const KernelRequest& part) const {
    for (std::size_t i = 1; i < r_.read_count(); ++i) {
      if (!is_of_channels(i) || choice.packed_inputs[i]) continue;
      const Layout& layout = choice.input_layouts[i];
      const Shape& shape = part.read(i).desc.shape;
      if (layout.strides.rank() == shape.rank() &&
          !same_placement(shape, layout, Layout::row_major(shape)))
        return false;
    }
    return true;
  }
  // The tensors as the whole kernel has them.
  void cut_all() {
    auto order = orders_.begin();
    work_->reads.resize(r_.read_count());
    for (std::size_t i = 0; i < r_.read_count(); ++i) {
      if (is_of_channels(i)) cut_channels_of(i);
      if (!is_cut(i)) continue;
      choice_.input_layouts[i] = layout_in(*order, r_.read(i).desc.shape);
      work_->reads[i] = Cut(*order++, r_.read(i).desc.dtype, r_.read(i).desc.shape, row_axis_);
    }
    choice_.output_layouts[0] = layout_in(*order, r_.outputs[0].shape);
    work_->result = Cut(*order, r_.outputs[0].dtype, r_.outputs[0].shape, row_axis_);
    work_->adds_to_result = std::ranges::any_of(
        choice_.sharing, [](const Sharing& s) { return s.alias == Alias::must; });
  }
  void cut_channels_of(std::size_t i) {
    const TensorDesc& t = r_.read(i).desc;
    const std::int64_t of_channel = t.shape.elements() / r_.outputs[0].shape[1];
    work_->reads[i] = Cut(static_cast<std::size_t>(of_channel) * size_of(t.dtype));
    choice_.input_layouts[i] = Layout::row_major(t.shape);
  }
  bool agrees(const KernelChoice& other) const {
    for (std::size_t i = 0; i < r_.read_count(); ++i) {
      const Layout& a = choice_.input_layouts[i];
      const Layout& b = other.input_layouts[i];
      if (is_cut(i) || is_of_channels(i)) continue;
      if (a.strides.rank() != b.strides.rank()) return false;
      if (a.strides.rank() == r_.read(i).desc.shape.rank() &&
          !same_placement(r_.read(i).desc.shape, a, b))
        return false;
    }
    return choice_.post_ops_taken == other.post_ops_taken &&
           choice_.packed_inputs == other.packed_inputs && choice_.sharing == other.sharing;
  }

  void keep_most(const KernelRequest& part) {
    most_read_rows_ = std::max(most_read_rows_, part.shape(0)[row_axis_]);
    most_rows_ = std::max(most_rows_, part.outputs[0].shape[row_axis_]);
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
    if (calls_ == Calls::at_one_time) {
      const auto calls = static_cast<std::int64_t>(work_->calls.size());
      work_->slots = static_cast<std::size_t>(Parallel::slots(calls, r_.target.team.threads));
      work_->slot_scratch = end = round_up(end, 64);
    }
    choice_.scratch_bytes = end * work_->slots;
  }

  const KernelRequest& r_;
  std::vector<PartRange> ranges_;
  Calls calls_;
  Selection (*select_)(const KernelRequest&);
  ResolvedWindow window_;
  std::size_t row_axis_;
  bool by_channels_ = false;
  std::unique_ptr<ConvInParts> work_ = std::make_unique<ConvInParts>();
  std::vector<Kind> kinds_;        // of the kernels
  std::vector<PartOrder> orders_;  // of what is cut, the result last
  KernelChoice choice_;
  std::size_t part_scratch_ = 0;
  std::int64_t most_read_rows_ = 0, most_rows_ = 0;
};

}  // namespace

Selection conv_in_parts(const KernelRequest& request, Selection (*select)(const KernelRequest&),
                        const ConvPartSizes& sizes) {
  ConvPartSizes of_work = sizes;
  of_work.most_line = std::numeric_limits<std::int64_t>::max();
  if (conv_line(request) > sizes.most_line) {
    QUERN_ASSIGN(
        auto choice,
        ConvCutter(request, ranges_of(request, sizes), Calls::in_turn_in_place, select).build());
    if (choice) return std::optional<KernelChoice>(std::move(*choice));
  }
  std::vector<PartRange> ranges = ranges_of(request, of_work);
  if (ranges.size() < 2) return unsupported();
  return ConvCutter(request, std::move(ranges), Calls::in_turn, select).build();
}

Selection conv_at_one_time(const KernelRequest& request, Selection (*select)(const KernelRequest&),
                           const ConvPartSizes& sizes) {
  const std::int64_t parts = useful_parts(request, sizes);
  if (parts < 2) return unsupported();
  const std::int64_t images = request.outputs[0].shape[0];
  std::vector<std::vector<PartRange>> ways = {
      ranges_of(request, sizes), channel_ranges(request, parts), row_ranges(request, parts)};
  if (images >= request.target.team.threads)
    ways.insert(ways.begin() + 1, image_ranges(request, parts));
  for (std::vector<PartRange>& ranges : ways) {
    if (ranges.size() < 2) continue;
    QUERN_ASSIGN(auto choice,
                 ConvCutter(request, std::move(ranges), Calls::at_one_time, select).build());
    if (choice) return std::optional<KernelChoice>(std::move(*choice));
  }
  return unsupported();
}

}  // namespace quern
