// SPDX-License-Identifier: Apache-2.0
#include "examples/ocr/ctc.h"

#include <algorithm>
#include <fstream>

namespace examples {

quern::Result<std::vector<std::string>> load_characters(const std::string& path) {
  std::ifstream file(path);
  if (!file) return quern::Status(quern::Code::not_found, path + ": cannot be read");
  std::vector<std::string> characters = {""};
  for (std::string line; std::getline(file, line);) characters.push_back(line);
  characters.emplace_back(" ");
  return characters;
}

Reading decode_ctc(std::span<const float> probabilities,
                   const std::vector<std::string>& characters) {
  Reading reading;
  const std::size_t classes = characters.size();
  std::size_t previous = 0, kept = 0;
  for (; probabilities.size() >= classes; probabilities = probabilities.subspan(classes)) {
    const auto slice = probabilities.first(classes);
    const auto best = std::max_element(slice.begin(), slice.end());
    const auto index = static_cast<std::size_t>(best - slice.begin());
    if (index != 0 && index != previous) {
      reading.text += characters[index];
      reading.confidence += *best;
      ++kept;
    }
    previous = index;
  }
  if (kept > 0) reading.confidence /= static_cast<float>(kept);
  return reading;
}

}  // namespace examples
