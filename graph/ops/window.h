// SPDX-License-Identifier: Apache-2.0
// The attributes of a sliding window, which convolutions and pools have in common.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "graph/op.h"

namespace quern {

enum class AutoPad : std::uint8_t { notset, same_upper, same_lower, valid };
std::span<const std::string_view> enum_names(AutoPad);
constexpr bool is_same(AutoPad mode) {
  return mode == AutoPad::same_upper || mode == AutoPad::same_lower;
}

// Window geometry over the spatial dimensions (all past batch and channel). Empty lists mean 1 for
// strides and dilations, 0 for pads. pads: all begins, then all ends.
struct Window {
  Ints kernel;
  Ints strides;
  Ints pads;
  Ints dilations;
  AutoPad auto_pad = AutoPad::notset;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("kernel", s.kernel), f("strides", s.strides), f("pads", s.pads);
    f("dilations", s.dilations), f("auto_pad", s.auto_pad);
  }
  bool operator==(const Window&) const = default;
};

}  // namespace quern
