// SPDX-License-Identifier: Apache-2.0
// The searches of operators that generate text as plain loops over vectors, by
// docs/ContribOperators.md of ONNX Runtime and what its CPU kernels do.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "tests/engine/generation/toy_models.h"

namespace quern::testing {

using Scores = std::vector<float>;
// The logits behind a sequence of prompt b.
using Logits = std::function<Scores(std::size_t b, const Tokens& sequence)>;

// Whisper's tokens.
struct Times {
  std::int64_t start, translate, transcribe, language_model, no_times, first;
};

struct Rules {
  std::int64_t eos = 0, pad = 1, most = 8, least = 0, ngram = 0;
  float repetition = 1;
  std::vector<int> allowed;             // by token; empty: all
  std::vector<std::vector<int>> first;  // by prompt
  // These are of beams.
  std::size_t beams = 1, returned = 1;
  float length = 1;
  bool early = false;
  // These are of Whisper.
  float temperature = 1;
  std::optional<Times> times;
};

inline float log_sum(const Scores& x) {
  const float most = *std::ranges::max_element(x);
  double sum = 0;
  for (float v : x) sum += std::exp(static_cast<double>(v - most));
  return most + static_cast<float>(std::log(sum));
}

// Times come in pairs, but for the first one, and do not fall.
inline void apply_times(const Rules& r, const Tokens& tokens, Scores& x) {
  constexpr float lowest = std::numeric_limits<float>::lowest();
  const Times& t = *r.times;
  const auto refuse = [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = std::max<std::int64_t>(from, 0); i < std::min(to, vocabulary); ++i)
      x[static_cast<std::size_t>(i)] = lowest;
  };
  const auto refuse_one = [&](std::int64_t i) { refuse(i, i + 1); };
  const auto is_time = [&](std::int64_t token) { return token >= t.first; };
  const auto first = std::ranges::find_if(tokens, is_time);
  const bool is_later = first != tokens.end() && first + 1 != tokens.end();
  refuse_one(t.no_times);
  refuse_one(t.language_model);
  if (is_later)
    for (std::int64_t token : {t.start, t.translate, t.transcribe}) refuse_one(token);
  const bool ends_timed = is_time(tokens.back());
  const bool is_pair = !is_later || is_time(tokens[tokens.size() - 2]);
  if (ends_timed && is_pair) refuse(t.first, vocabulary);
  if (ends_timed && !is_pair) refuse(0, r.eos);
  for (std::size_t i = tokens.size(); i-- > 0;)
    if (is_time(tokens[i])) {
      refuse(t.first, tokens[i] + (ends_timed && !is_pair ? 0 : 1));
      break;
    }
  if (!is_later) refuse(t.first + 51, vocabulary);
  double all = 0;
  for (std::size_t i = static_cast<std::size_t>(t.first); i < x.size(); ++i)
    if (x[i] > lowest) all += std::exp(static_cast<double>(x[i]));
  const float text = *std::max_element(x.begin(), x.begin() + t.first);
  if (all > 0 && std::log(all) > text) refuse(0, t.first);
}

inline void apply(const Rules& r, std::size_t b, std::size_t step, const Tokens& tokens,
                  Scores& x) {
  constexpr float lowest = std::numeric_limits<float>::lowest();
  for (std::int64_t t = 0; t < vocabulary; ++t) {
    float& v = x[static_cast<std::size_t>(t)];
    if (std::ranges::find(tokens, t) != tokens.end())
      v = v < 0 ? v * r.repetition : v / r.repetition;
  }
  const auto length = static_cast<std::int64_t>(tokens.size());
  for (std::int64_t i = 0; r.ngram > 0 && i + r.ngram <= length; ++i)
    if (std::equal(tokens.end() - (r.ngram - 1), tokens.end(), tokens.begin() + i))
      x[static_cast<std::size_t>(tokens[static_cast<std::size_t>(i + r.ngram - 1)])] = lowest;
  for (std::size_t t = 0; t < x.size(); ++t) {
    if (!r.allowed.empty() && r.allowed[t] == 0) x[t] = lowest;
    if (step == 0 && !r.first.empty() && r.first[b][t] == 0) x[t] = lowest;
  }
  if (length < r.least) x[static_cast<std::size_t>(r.eos)] = lowest;
  for (float& v : x) v /= r.temperature;
  if (r.times) apply_times(r, tokens, x);
}

inline Tokens padded(Tokens tokens, const Rules& r) {
  tokens.resize(static_cast<std::size_t>(r.most), r.pad);
  return tokens;
}

// Sequences that end are padded as long as others go on; behind the last step are zeros.
inline std::vector<Tokens> plain_greedy(const Rules& r, std::vector<Tokens> prompts,
                                        const Logits& logits) {
  std::vector<bool> ended(prompts.size(), false);
  const auto is_open = [](bool e) { return !e; };
  for (std::size_t step = 0; static_cast<std::int64_t>(prompts[0].size()) < r.most; ++step) {
    if (std::ranges::none_of(ended, is_open)) break;
    for (std::size_t b = 0; b < prompts.size(); ++b) {
      Scores x = logits(b, prompts[b]);
      apply(r, b, step, prompts[b], x);
      const auto best = std::ranges::max_element(x) - x.begin();
      ended[b] = ended[b] || best == r.eos;
      prompts[b].push_back(ended[b] ? r.pad : best);
    }
  }
  for (Tokens& tokens : prompts) tokens.resize(static_cast<std::size_t>(r.most), 0);
  return prompts;
}

struct Hypothesis {
  Tokens tokens;
  float score = 0;
};

// The beams and the ends of one prompt.
struct Beams {
  std::vector<Hypothesis> open, ended;
  bool done = false;

  void end(const Rules& r, const Tokens& tokens, float sum) {
    const float score = sum / std::pow(static_cast<float>(tokens.size()), r.length);
    const auto at = std::ranges::find_if(ended, [&](const auto& h) { return score > h.score; });
    ended.insert(at, {tokens, score});
    if (ended.size() > r.beams) ended.pop_back();
  }
};

struct Candidate {
  float score;
  std::size_t beam;
  std::int64_t token;
};

inline std::vector<Candidate> candidates(const Rules& r, const Beams& p, std::size_t b,
                                         std::size_t step, const Logits& logits) {
  std::vector<Candidate> all;
  for (std::size_t k = 0; k < r.beams; ++k) {
    Scores x = logits(b, p.open[k].tokens);
    const float whole = log_sum(x);
    for (float& v : x) v -= whole;
    apply(r, b, step, p.open[k].tokens, x);
    for (std::size_t t = 0; t < x.size(); ++t)
      all.push_back({x[t] + p.open[k].score, k, static_cast<std::int64_t>(t)});
  }
  std::ranges::stable_sort(all, std::greater(), &Candidate::score);
  all.resize(2 * r.beams);
  return all;
}

inline void continue_beams(const Rules& r, Beams& p, const std::vector<Candidate>& best) {
  std::vector<Hypothesis> next;
  for (std::size_t j = 0; j < best.size() && next.size() < r.beams; ++j) {
    const Hypothesis& from = p.open[best[j].beam];
    if (best[j].token == r.eos) {
      if (j < r.beams) p.end(r, from.tokens, best[j].score);
      continue;
    }
    next.push_back({from.tokens, best[j].score});
    next.back().tokens.push_back(best[j].token);
  }
  p.open = std::move(next);
}

// The results of one prompt, the best first, padded.
inline std::vector<Hypothesis> plain_beams(const Rules& r, const Tokens& prompt, std::size_t b,
                                           const Logits& logits) {
  Beams p;
  for (std::size_t k = 0; k < r.beams; ++k) p.open.push_back({prompt, k == 0 ? 0.0F : -1e9F});
  auto length = static_cast<std::int64_t>(prompt.size());
  for (std::size_t step = 0; length < r.most && !p.done; ++step, ++length) {
    const auto best = candidates(r, p, b, step, logits);
    continue_beams(r, p, best);
    const float reachable = best[0].score / std::pow(static_cast<float>(length), r.length);
    p.done = p.ended.size() == r.beams && (r.early || p.ended.back().score >= reachable);
  }
  if (!p.done)
    for (const Hypothesis& h : p.open) p.end(r, h.tokens, h.score);
  p.ended.resize(r.returned);
  for (Hypothesis& h : p.ended) h.tokens = padded(std::move(h.tokens), r);
  return std::move(p.ended);
}

}  // namespace quern::testing
