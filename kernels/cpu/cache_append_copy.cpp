// SPDX-License-Identifier: Apache-2.0
// The rows of a cache as ranges of bytes. A run that binds the result to the memory of the past has
// the new rows written and nothing copied.
#include "kernels/cpu/cache_append_copy.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "engine/vocabulary/text_util.h"

namespace quern {

Status check_room_in_cache(const CacheRows& rows) {
  if (rows.before < 0 || rows.before > rows.past)
    return {Code::invalid_argument, cat("a cache of ", rows.past, " rows cannot have ", rows.before,
                                        " in front of the new ones")};
  if (rows.rows > rows.all - rows.before)
    return {Code::invalid_argument, cat("a cache with room for ", rows.all, " rows cannot take ",
                                        rows.rows, " behind the first ", rows.before)};
  return {};
}

namespace {

class CacheAppendCopy final : public CpuKernel {
 public:
  CacheAppendCopy(const Shape& past, const Shape& y, const TensorDesc& rows)
      : sequences_(y[0]),
        heads_(y[1]),
        past_(past[2]),
        rows_(rows.shape[2]),
        all_(y[2]),
        row_bytes_(y[3] * static_cast<std::int64_t>(size_of(rows.dtype))) {
    for (std::size_t d = 0; d < 3; ++d)
      strides_[d] = rows.layout.strides[d] * static_cast<std::int64_t>(size_of(rows.dtype));
  }

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    const auto* before = reinterpret_cast<const std::int64_t*>(args.inputs[2]);
    for (std::int64_t b = 0; b < sequences_; ++b)
      QUERN_TRY(check_room_in_cache({before[b], past_, rows_, all_}));
    const bool is_in_place = past_ == all_ && args.inputs[0] == args.outputs[0];
    const std::int64_t bytes = (is_in_place ? rows_ : all_) * row_bytes_;
    const std::int64_t at_least = std::max<std::int64_t>(1, bytes_per_thread / (bytes + 1));
    parallel(sequences_ * heads_, at_least, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t b = i / heads_, h = i % heads_;
        std::byte* to = args.outputs[0] + i * all_ * row_bytes_;
        if (!is_in_place) keep(args.inputs[0] + i * past_ * row_bytes_, before[b], to);
        append(args.inputs[1] + b * strides_[0] + h * strides_[1], to + before[b] * row_bytes_);
      }
    });
    return {};
  }

 private:
  static constexpr std::int64_t bytes_per_thread = 1 << 16;

  static void copy(const std::byte* from, std::int64_t n, std::byte* to) {
    if (n > 0) std::memcpy(to, from, static_cast<std::size_t>(n));
  }

  // The rows of the past that count, and zeros behind the new ones.
  void keep(const std::byte* past, std::int64_t before, std::byte* to) const {
    copy(past, before * row_bytes_, to);
    const std::int64_t used = (before + rows_) * row_bytes_;
    if (all_ * row_bytes_ > used)
      std::memset(to + used, 0, static_cast<std::size_t>(all_ * row_bytes_ - used));
  }

  void append(const std::byte* rows, std::byte* to) const {
    if (strides_[2] == row_bytes_) return copy(rows, rows_ * row_bytes_, to);
    for (std::int64_t r = 0; r < rows_; ++r)
      copy(rows + r * strides_[2], row_bytes_, to + r * row_bytes_);
  }

  std::int64_t sequences_, heads_, past_, rows_, all_, row_bytes_;
  std::int64_t strides_[3];  // of the new rows: from sequence to sequence, head, row; bytes
};

}  // namespace

Selection select_cache_append_copy(const KernelRequest& r) {
  const Shape& y = r.outputs[0].shape;
  if (y.elements() == 0 || r.shape(1).elements() == 0) return unsupported();
  const TensorDesc& given = r.inputs[1].desc;
  const bool has_rows = !given.layout.block && given.layout.strides[3] == 1;
  const TensorDesc rows{given.dtype, given.shape,
                        has_rows ? given.layout : Layout::row_major(given.shape)};
  KernelChoice choice;
  choice.implementation = "copy";
  choice.input_layouts = {Layout::row_major(r.shape(0)), rows.layout};
  choice.input_layouts.resize(r.inputs.size());
  if (r.shape(0) == y) choice.updates = {{.output = 0, .input = 0}};
  choice.work = std::make_unique<CacheAppendCopy>(r.shape(0), y, rows);
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
