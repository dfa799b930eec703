// SPDX-License-Identifier: Apache-2.0
// The choice of the next token by its logits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <quern/status.h>

#include "frontends/language/vocabulary.h"

namespace quern::language {

// Applied in this order, each to what the one before left: the penalties, the temperature, top_k,
// top_p, min_p, and a draw from what is left by its probabilities.
struct SamplingOptions {
  double temperature = 1;  // 0: the greatest logit, without a draw
  std::int64_t top_k = 0;  // the most probable; 0: all. Of equals the smaller ids
  double top_p = 1;        // the fewest that have this probability together
  double min_p = 0;        // those that are at least this share as probable as the best
  double repetition_penalty =
      1;  // logits of tokens so far are divided by it, negative ones multiplied
  double presence_penalty = 0;   // taken from logits of tokens so far
  double frequency_penalty = 0;  // the same, once for each time that the token was there
  std::uint64_t seed = 0;
};

// Errors: invalid_argument, with the option and its bounds.
Status check(const SamplingOptions& options);

// One sequence. One thread at a time. The same options and logits give the same tokens anywhere
// where exp() does.
class Sampler {
 public:
  explicit Sampler(const SamplingOptions& options);

  // A token of the prompt or one that was chosen, for the penalties.
  void accept(TokenId token) { ++seen_[token]; }
  // A logit that is no number is never chosen. Errors: invalid_argument, there is no logit that is
  // a number.
  Result<TokenId> choose(std::span<const float> logits);

 private:
  struct Candidate {
    double logit;
    TokenId token;
    // The better first.
    bool operator<(const Candidate& other) const {
      return logit != other.logit ? logit > other.logit : token < other.token;
    }
  };
  void penalise(std::vector<Candidate>& candidates) const;
  // Keeps the first of the ordered candidates that `top_p` and `min_p` leave; their weights, of
  // which the best has 1.
  std::vector<double> nucleus(std::vector<Candidate>& candidates) const;

  SamplingOptions options_;
  std::mt19937_64 random_;
  std::unordered_map<TokenId, std::int64_t> seen_;  // how often
};

// Finds texts that end the generation in a stream, also across its parts.
class StopTexts {
 public:
  explicit StopTexts(std::vector<std::string> texts);

  // Takes the next part; gives what is certainly before any stop text, and holds back what may
  // begin one.
  std::string add(std::string_view part);
  bool is_found() const { return is_found_; }
  // What was held back; nothing where a stop text was found.
  std::string finish();

 private:
  std::vector<std::string> texts_;
  std::string held_;
  bool is_found_ = false;
};

}  // namespace quern::language
