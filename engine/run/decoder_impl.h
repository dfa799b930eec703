// SPDX-License-Identifier: Apache-2.0
// The state of a Decoder.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <quern/decoder.h>
#include <quern/device_tensor.h>

namespace quern {

// An input of integers; without an index the model has it not.
struct IntegerInput {
  std::optional<std::size_t> index;
  std::size_t rank = 2;
  Tensor data;  // as many as there may be

  void set(std::int64_t i, std::int64_t value);
  // The first `count` of them.
  Status bind(Session& session, std::int64_t count) const;
  std::span<const std::byte> bytes() const { return {data.data(), data.bytes()}; }
};

// The keys or the values of one layer. Where the cache grows in place, heads have as many rows as
// the capacity; else as many as there are tokens, one head behind the other.
struct CacheTensor {
  std::size_t input = 0, output = 0;
  DType dtype = DType::f32;
  std::int64_t heads = 0, width = 0;
  Tensor rows;
  Tensor next;  // of the same size, where the result is a copy
  // In the place of `rows`, where the cache grows in place on a device with memory of its own.
  std::shared_ptr<DeviceTensor> on_device;

  Status take_on_device(const std::shared_ptr<Device>& device, std::int64_t capacity);
  // The rows that the functions below change and read: those of the host's copy, which fetch()
  // brings up to date, and send() brings to the device. Nothing to do for a cache of the host.
  std::byte* data();
  const std::byte* data() const;
  Status fetch();
  Status send();
  std::size_t bytes() const;
  Status bind(Session& session, const Shape& past);

  std::int64_t row_bytes() const { return width * static_cast<std::int64_t>(size_of(dtype)); }
  std::byte* row_at(std::int64_t head, std::int64_t row, std::int64_t rows_of_head);
  enum class Fill : std::uint8_t { zeros, nan };
  void fill_rows(const std::function<bool(std::int64_t)>& which, Fill with, std::int64_t of_head);
  // Whether the rows [first, end) of every head are NaN.
  enum class Holds : std::uint8_t { none, some, all };
  Holds holds_nan(std::int64_t first, std::int64_t end, std::int64_t of_head) const;
  void keep_first(std::int64_t from, std::int64_t to);
  Status copy_rows(CacheTensor& from, std::int64_t count, std::int64_t of_head);
};

struct Decoder::Impl {
  using Clock = std::chrono::steady_clock;

  std::shared_ptr<const Executable> executable;
  SessionOptions session_options;
  IntegerInput tokens, mask, positions, last_key, total, before, use_cache;
  std::vector<CacheTensor> cache;  // keys and values, layer by layer
  std::vector<bool> is_filled;     // by input: the decoder fills it
  std::size_t logits_output = 0;
  std::int64_t capacity = 0, length = 0;
  Growth growth = Growth::copied;
  std::vector<std::pair<std::size_t, Tensor>> given;  // inputs that the user has set
  std::vector<float> wide_logits;                     // of 16-bit floats
  std::span<const float> logits;
  std::unique_ptr<Session> session;  // ends before what it borrows

  // Finds what the model has by name, and the capacity.
  Status find_all(const DecoderOptions& options);
  Status find_integers(IntegerInput& input, const std::string& name, std::int64_t most);
  Status find_cache(const std::string& past, const std::string& present, std::int64_t& rows);
  Status take_memory();
  bool is_on_host() const;
  Result<bool> keeps_guards();
  Status make_session(const SessionOptions& options);
  bool grows_in_place();
  Status choose_growth();
  // Pairs of ours and another's.
  std::array<std::pair<IntegerInput*, const IntegerInput*>, 7> integers(const Impl& other) {
    return {{{&tokens, &other.tokens},
             {&mask, &other.mask},
             {&positions, &other.positions},
             {&last_key, &other.last_key},
             {&total, &other.total},
             {&before, &other.before},
             {&use_cache, &other.use_cache}}};
  }

  void tell_tokens(std::span<const std::int64_t> ids);
  Status bind(std::int64_t count);
  Status step(std::int64_t count, Clock::time_point deadline);
  Status check_cache(std::int64_t count) const;
  Status take_logits();
  Status append(std::span<const std::int64_t> ids, Clock::time_point deadline);
  Status prepare(std::int64_t count);
  void forget_mask(std::int64_t first, std::int64_t end);
  Status rewind(std::int64_t to);
  Status give(std::size_t index, Tensor tensor);
};

}  // namespace quern
