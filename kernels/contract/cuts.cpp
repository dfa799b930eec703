// SPDX-License-Identifier: Apache-2.0
#include "kernels/contract/cuts.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace quern {

bool cuts_are_small() noexcept {
  static const bool answer = [] {
    const char* cuts = std::getenv("QUERN_CUTS");
    return cuts && std::string_view(cuts) == "small";
  }();
  return answer;
}

std::int64_t cut_size(std::int64_t usual) noexcept {
  return cuts_are_small() ? std::max<std::int64_t>(usual / 1000000, 1) : usual;
}

double cut_work(double usual) noexcept {
  return cuts_are_small() ? std::max(usual * 1e-6, 1.0) : usual;
}

}  // namespace quern
