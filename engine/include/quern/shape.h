// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

namespace quern {

// The dimensions of a tensor, outermost first: at most max_rank non-negative numbers. Rank 0 is a
// scalar (one element); a dimension of 0 makes an empty tensor.
class Shape {
 public:
  static constexpr std::size_t max_rank = 16;

  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<std::int64_t> dims)
      : Shape(std::span<const std::int64_t>(dims.begin(), dims.size())) {}
  // Dimensions past max_rank are dropped: code that reads them from outside checks the count first.
  constexpr explicit Shape(std::span<const std::int64_t> dims)
      : rank_(std::min(dims.size(), max_rank)) {
    std::copy_n(dims.begin(), rank_, dims_.begin());
  }
  // `rank` dimensions of `value`.
  static constexpr Shape filled(std::size_t rank, std::int64_t value) {
    Shape s;
    for (std::size_t i = 0; i < rank; ++i) s.push_back(value);
    return s;
  }

  constexpr std::size_t rank() const { return rank_; }
  constexpr bool empty() const { return rank_ == 0; }
  constexpr std::int64_t operator[](std::size_t i) const { return dims_[i]; }
  constexpr std::int64_t& operator[](std::size_t i) { return dims_[i]; }
  constexpr std::int64_t back() const { return dims_[rank_ - 1]; }
  constexpr const std::int64_t* begin() const { return dims_.data(); }
  constexpr const std::int64_t* end() const { return dims_.data() + rank_; }
  constexpr std::span<const std::int64_t> dims() const { return {dims_.data(), rank_}; }
  constexpr void push_back(std::int64_t dim) {
    if (rank_ < max_rank) dims_[rank_++] = dim;
  }
  constexpr void insert(std::size_t at, std::int64_t dim) {
    if (rank_ == max_rank) return;
    for (std::size_t i = rank_++; i > at; --i) dims_[i] = dims_[i - 1];
    dims_[at] = dim;
  }
  constexpr void erase(std::size_t at) {
    for (std::size_t i = at; i + 1 < rank_; ++i) dims_[i] = dims_[i + 1];
    dims_[--rank_] = 0;
  }

  // Product of the dimensions [from, to): for shapes that were checked against overflow.
  constexpr std::int64_t elements(std::size_t from = 0, std::size_t to = max_rank) const {
    std::int64_t n = 1;
    for (std::size_t i = from; i < std::min(to, rank_); ++i) n *= dims_[i];
    return n;
  }
  // Product of all dimensions; nullopt if one is negative or the product times `element_size`
  // exceeds 2^62. Every shape that comes from outside goes through here.
  std::optional<std::int64_t> checked_elements(std::size_t element_size = 1) const noexcept;

  // "[1,3,224,224]"
  std::string text() const;

  constexpr bool operator==(const Shape&) const = default;

 private:
  std::array<std::int64_t, max_rank> dims_{};  // zero past rank_, so that == may compare all
  std::size_t rank_ = 0;
};

}  // namespace quern
