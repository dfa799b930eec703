// SPDX-License-Identifier: Apache-2.0
// Text, and numbers with units, as people read them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace quern {

// The first `max` code points, the last of them "…" when there are more.
std::string shortened(std::string_view text, std::size_t max);
// Text from a model or a file: control bytes and broken UTF-8 become '?', cut at `max` code points.
std::string shown(std::string_view text, std::size_t max = 60);
// The same as text of HTML and SVG, also within quotes.
std::string html_text(std::string_view text, std::size_t max = 200);
// `text` with '?' for bytes that are no UTF-8; whole.
std::string valid_utf8(std::string_view text);
std::size_t width_of(std::string_view text);  // code points

std::string fixed_text(double value, int digits);
std::string bytes_text(double bytes);                    // "1.25 MB"; 1 MB is a million
std::string time_text(double milliseconds);              // "3.21 ms", "45.1 us", "1.20 s"
std::string count_text(double count);                    // "1.25 M"
std::string percent_text(double share, int digits = 1);  // 0.25: "25.0 %"
std::string number_text(double value);                   // five significant digits

}  // namespace quern
