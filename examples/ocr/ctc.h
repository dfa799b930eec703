// SPDX-License-Identifier: Apache-2.0
// From what the recogniser says about each narrow slice of a line to text.
// Source: Graves et al., "Connectionist Temporal Classification", 2006; the greedy decoding.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <quern/status.h>

namespace examples {

struct Reading {
  std::string text;      // UTF-8
  float confidence = 0;  // mean probability of its characters; 0 without any
};

// One character a line; class 0 is "nothing", the characters follow, and a space is last.
quern::Result<std::vector<std::string>> load_characters(const std::string& path);

// `probabilities`: slices x classes, row by row, where `characters` names the classes. Takes the
// best class of each slice, joins repeats, and drops "nothing".
Reading decode_ctc(std::span<const float> probabilities,
                   const std::vector<std::string>& characters);

}  // namespace examples
