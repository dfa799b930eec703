// SPDX-License-Identifier: Apache-2.0
// Keys and values go out of one run and into the next, in memory of this object.
#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "engine/vocabulary/readable.h"
#include "engine/vocabulary/text_util.h"
#include "frontends/language/next_logits.h"

namespace quern::language {
namespace {

// "past.3.key" of "past.%.key" or "past.%d.key".
std::string of_layer(const std::string& name, std::size_t layer) {
  const std::size_t place = name.find('%');
  if (place == std::string::npos) return name;
  const std::size_t length = name.compare(place, 2, "%d") == 0 ? 2 : 1;
  return cat(name.substr(0, place), layer, name.substr(place + length));
}

// Keys or values of one layer: where they go in and come out, and the rows so far.
struct LayerCache {
  std::size_t input;
  std::size_t output;
  TensorType type;  // [1, heads, rows, width]
  std::vector<std::byte> rows;
};

class SessionLogits final : public NextLogits {
 public:
  SessionLogits(std::unique_ptr<Session> session, std::int64_t capacity)
      : session_(std::move(session)), capacity_(capacity) {}

  Status bind(const DecoderInputs& names) {
    const Executable& executable = session_->executable();
    for (std::size_t i = 0; i < executable.inputs().size(); ++i)
      QUERN_TRY(bind_input(executable.inputs()[i], i, names));
    if (!tokens_) return missing("input", names.tokens);
    auto logits = session_->output_index(names.logits);
    if (!logits) return std::move(logits).error();
    logits_output_ = *logits;
    if (executable.outputs()[logits_output_].dtype != DType::f32)
      return {Code::unsupported, cat("decoder: output '", shown(names.logits), "' is no f32")};
    return {};
  }

  Status append(std::span<const std::int64_t> tokens) override {
    const auto count = static_cast<std::int64_t>(tokens.size());
    if (count < 1 || count > capacity_ - length_)
      return {Code::invalid_argument,
              cat("decoder: ", count, " tokens where there is room for ", capacity_ - length_)};
    QUERN_TRY(fill(tokens));
    QUERN_TRY(session_->run());
    QUERN_ASSIGN(const TensorView logits, session_->output(logits_output_));
    const Shape& shape = logits.type.shape;
    if (shape.rank() != 3 || shape.elements() == 0)
      return {Code::invalid_model,
              cat("decoder: the logits are ", logits.type.text(), ", three dimensions are wanted")};
    const auto size = static_cast<std::size_t>(shape.back());
    const std::span<const float> all = logits.span<float>();
    logits_.assign(all.end() - static_cast<std::ptrdiff_t>(size), all.end());
    QUERN_TRY(keep_rows());
    length_ += count;
    return {};
  }

  std::span<const float> logits() const override { return logits_; }
  std::int64_t length() const override { return length_; }
  std::int64_t capacity() const override { return capacity_; }
  void cancel() override { session_->cancel(); }
  void clear_cancel() override { session_->clear_cancel(); }

  Status rewind(std::int64_t length) override {
    if (length < 0 || length > length_)
      return {Code::invalid_argument,
              cat("decoder: rewind to ", length, " tokens, there are ", length_)};
    for (LayerCache& cache : caches_) cut(cache, length);
    length_ = length;
    return {};
  }

  std::size_t bytes_read() const override {
    std::size_t bytes = session_->plan_info().weight_bytes;
    for (const LayerCache& cache : caches_) bytes += cache.rows.size();
    return bytes;
  }

 private:
  static Status missing(std::string_view what, std::string_view name) {
    return {Code::not_found, cat("decoder: the model has no ", what, " '", shown(name), "'")};
  }

  Status bind_input(const ValueSpec& spec, std::size_t index, const DecoderInputs& names) {
    const auto keep = [&](std::optional<std::size_t>& place, DType type) -> Status {
      place = index;
      if (spec.dtype == type) return {};
      return {Code::invalid_model, cat("decoder: input '", shown(spec.name), "' is ",
                                       name_of(spec.dtype), ", ", name_of(type), " is wanted")};
    };
    if (spec.name == names.tokens) return keep(tokens_, DType::i64);
    if (spec.name == names.mask) return keep(mask_, DType::i64);
    if (spec.name == names.positions) return keep(positions_, DType::i64);
    if (spec.name == "use_cache_branch") return keep(uses_cache_, DType::boolean);
    const std::size_t layer = caches_.size() / 2;
    const bool is_value = spec.name == of_layer(names.past_value, layer);
    if (!is_value && spec.name != of_layer(names.past_key, layer))
      return {Code::unsupported, cat("decoder: nothing fills the input '", shown(spec.name), "'")};
    if (spec.dims.size() != 4 || spec.dims[1] < 1 || spec.dims[3] < 1)
      return {Code::invalid_model, cat("decoder: input '", shown(spec.name),
                                       "' is not [1, heads, tokens, width] with numbers")};
    auto output =
        session_->output_index(of_layer(is_value ? names.present_value : names.present_key, layer));
    if (!output) return std::move(output).error();
    caches_.push_back({index, *output, {spec.dtype, {1, spec.dims[1], 0, spec.dims[3]}}, {}});
    return {};
  }

  template <class T>
  Status set(const std::optional<std::size_t>& input, DType type, const std::vector<T>& values,
             const Shape& shape) {
    if (!input) return {};
    return session_->set_input(*input,
                               {{type, shape}, reinterpret_cast<const std::byte*>(values.data())});
  }

  Status fill(std::span<const std::int64_t> tokens) {
    const auto count = static_cast<std::int64_t>(tokens.size());
    token_values_.assign(tokens.begin(), tokens.end());
    mask_values_.assign(static_cast<std::size_t>(length_ + count), 1);
    position_values_.resize(tokens.size());
    std::iota(position_values_.begin(), position_values_.end(), length_);
    branch_values_.assign(1, length_ > 0 ? 1 : 0);
    QUERN_TRY(set(tokens_, DType::i64, token_values_, {1, count}));
    QUERN_TRY(set(mask_, DType::i64, mask_values_, {1, length_ + count}));
    QUERN_TRY(set(positions_, DType::i64, position_values_, {1, count}));
    QUERN_TRY(set(uses_cache_, DType::boolean, branch_values_, {1}));
    static constexpr std::byte nothing{};
    for (const LayerCache& cache : caches_)
      QUERN_TRY(session_->set_input(
          cache.input, {cache.type, cache.rows.empty() ? &nothing : cache.rows.data()}));
    return {};
  }

  // Keeps the first rows of each head.
  static void cut(LayerCache& cache, std::int64_t length) {
    const std::int64_t rows = cache.type.shape[2];
    if (rows <= length) return;
    const auto row = static_cast<std::size_t>(cache.type.shape[3]) * size_of(cache.type.dtype);
    const std::size_t old_bytes = static_cast<std::size_t>(rows) * row;
    const std::size_t new_bytes = static_cast<std::size_t>(length) * row;
    for (std::size_t head = 0; head < static_cast<std::size_t>(cache.type.shape[1]); ++head)
      std::memmove(cache.rows.data() + head * new_bytes, cache.rows.data() + head * old_bytes,
                   new_bytes);
    cache.type.shape[2] = length;
    cache.rows.resize(cache.type.bytes());
  }

  Status keep_rows() {
    for (LayerCache& cache : caches_) {
      QUERN_ASSIGN(const TensorView present, session_->output(cache.output));
      if (present.type.dtype != cache.type.dtype || present.type.shape.rank() != 4)
        return {Code::invalid_model, cat("decoder: a present of type ", present.type.text(),
                                         " follows a past of type ", cache.type.text())};
      cache.type = present.type;
      cache.rows.assign(present.data, present.data + present.type.bytes());
    }
    return {};
  }

  std::unique_ptr<Session> session_;
  std::int64_t capacity_;
  std::int64_t length_ = 0;
  std::optional<std::size_t> tokens_, mask_, positions_, uses_cache_;
  std::size_t logits_output_ = 0;
  std::vector<LayerCache> caches_;
  std::vector<std::int64_t> token_values_, mask_values_, position_values_;
  std::vector<std::uint8_t> branch_values_;
  std::vector<float> logits_;
};

}  // namespace

Result<std::unique_ptr<NextLogits>> open_decoder(std::shared_ptr<const Executable> executable,
                                                 const DecoderInputs& names, std::int64_t capacity,
                                                 const SessionOptions& options) {
  QUERN_ASSIGN(auto session, Session::create(std::move(executable), options));
  auto logits = std::make_unique<SessionLogits>(std::move(session), capacity);
  QUERN_TRY(logits->bind(names));
  return std::unique_ptr<NextLogits>(std::move(logits));
}

}  // namespace quern::language
