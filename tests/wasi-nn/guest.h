// SPDX-License-Identifier: Apache-2.0
// A guest without WebAssembly: a linear memory that moves before every call and whenever room is
// made in it, and calls by name.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "frontends/wasi-nn/wit.h"
#include "frontends/wasi-nn/witx.h"
#include "tests/wasi-nn/models.h"

namespace quern::wasi_nn_test {

class FakeGuest {
 public:
  explicit FakeGuest(std::shared_ptr<wasi_nn::Instance> instance, std::size_t bytes = 1 << 16)
      : instance_(std::move(instance)), size_(bytes), memory_(new std::byte[bytes]()) {}

  wasi_nn::Instance& instance() { return *instance_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(size_); }
  std::byte* memory() { return memory_.get(); }

  // Copies the bytes into the memory and says where.
  std::uint32_t put(wasi_nn::Bytes bytes) {
    const std::uint32_t at = top_;
    std::ranges::copy(bytes, memory_.get() + at);
    top_ += static_cast<std::uint32_t>(bytes.size());
    return at;
  }
  // What was put from there on may be overwritten.
  void forget_to(std::uint32_t at) { top_ = at; }
  std::uint32_t put_words(std::initializer_list<std::uint32_t> words) {
    return put(std::as_bytes(std::span(words.begin(), words.size())));
  }
  // A tensor record; what surrounds the one byte of its type is rubbish.
  std::uint32_t put_tensor(std::initializer_list<std::uint32_t> dims, std::uint8_t type,
                           wasi_nn::Bytes data) {
    const std::uint32_t dims_at = put_words(dims), data_at = put(data);
    return put_words({dims_at, static_cast<std::uint32_t>(dims.size()), 0xA5A5A500u | type, data_at,
                      static_cast<std::uint32_t>(data.size())});
  }
  std::uint32_t word(std::uint32_t at) const {
    std::uint32_t value = 0;
    std::memcpy(&value, memory_.get() + at, sizeof value);
    return value;
  }
  std::vector<float> floats(std::uint32_t at, std::size_t count) const {
    std::vector<float> values(count);
    std::memcpy(values.data(), memory_.get() + at, 4 * count);
    return values;
  }

  std::span<const wasi_nn::Import> table = wasi_nn::witx_imports();

  std::uint32_t call(std::string_view name, std::initializer_list<std::uint32_t> arguments) {
    const auto row = std::ranges::find(table, name, &wasi_nn::Import::name);
    if (row == table.end() || row->parameters != arguments.size()) return 0xffffffff;
    return call(*row, arguments.begin());
  }
  std::uint32_t call(const wasi_nn::Import& row, const std::uint32_t* arguments) {
    move(size_);
    wasi_nn::Guest guest{{memory_.get(), size_}, &FakeGuest::make_room, this};
    return row.call(*instance_, guest, arguments);
  }

  // New memory for each, at the end of what there is.
  std::optional<std::uint32_t> grow(std::uint32_t alignment, std::uint32_t bytes) {
    const std::uint32_t at = (size() + alignment - 1) / alignment * alignment;
    move(std::size_t{at} + bytes);
    return at;
  }
  // In place of grow(), what the guest's cabi_realloc does.
  std::function<std::optional<std::uint32_t>(std::uint32_t alignment, std::uint32_t bytes)>
      reallocate;

 private:
  static bool make_room(wasi_nn::Guest& guest, std::uint32_t alignment, std::uint32_t bytes,
                        std::uint32_t* at) {
    auto& self = *static_cast<FakeGuest*>(guest.host);
    const auto place =
        self.reallocate ? self.reallocate(alignment, bytes) : self.grow(alignment, bytes);
    guest.memory = {self.memory_.get(), self.size_};
    *at = place.value_or(0);
    return place.has_value();
  }
  void move(std::size_t bytes) {
    std::unique_ptr<std::byte[]> moved(new std::byte[bytes]());
    std::memcpy(moved.get(), memory_.get(), std::min(size_, bytes));
    memory_ = std::move(moved);
    size_ = bytes;
  }

  std::shared_ptr<wasi_nn::Instance> instance_;
  std::size_t size_;
  std::unique_ptr<std::byte[]> memory_;  // of exactly this size, so that ASan sees a step beyond it
  std::uint32_t top_ = 64;
};

}  // namespace quern::wasi_nn_test
