// SPDX-License-Identifier: Apache-2.0
// quern bench --decode: how fast a language model goes on behind a number of tokens, one at a time.
#pragma once

#include <cstdint>
#include <string>

#include <quern/decoder.h>

#include "tools/json.h"
#include "tools/measurement.h"
#include "tools/verbs.h"

namespace quern::tools {

struct DecodeMeasurement {
  std::string model, device;
  int threads = 0;
  bool in_place = false;  // of the cache
  std::int64_t past = 0;  // tokens in front of those that are timed
  double prompt_ms = 0;   // of all of them at once, planned before
  Distribution token;     // a token, in milliseconds
  double cpu_ms = 0;      // processor time of a token, all threads
  double bytes = 0;       // that a token reads: weights, keys and values so far, what is between
  DecoderMemory memory;
  std::size_t peak_process = 0;
  Roof roof;

  double tokens_per_second() const { return token.median > 0 ? 1e3 / token.median : 0; }
  double gbytes_per_second() const { return token.median > 0 ? bytes / token.median / 1e6 : 0; }
};

Result<DecodeMeasurement> measure_decoding(const BenchArgs& args, const Console& console);
std::string decoding_text(const DecodeMeasurement& m, const Console& console);
// The form of Google Benchmark's output: the prompt and a token.
Json decoding_json(const DecodeMeasurement& m);

}  // namespace quern::tools
