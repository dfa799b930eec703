// SPDX-License-Identifier: Apache-2.0
#include "frontends/language/sampler.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/vocabulary/text_util.h"

namespace quern::language {

Status check(const SamplingOptions& options) {
  const auto within = [](double value, double least, double most) {
    return value >= least && value <= most;  // false for what is no number
  };
  const auto error = [](std::string_view name, double value, std::string_view bounds) -> Status {
    return {Code::invalid_argument, cat(name, " is ", value, ", it must be ", bounds)};
  };
  if (!within(options.temperature, 0, 1000))
    return error("temperature", options.temperature, "0 to 1000");
  if (options.top_k < 0) return error("top_k", static_cast<double>(options.top_k), "0 or more");
  if (!within(options.top_p, 0, 1)) return error("top_p", options.top_p, "0 to 1");
  if (!within(options.min_p, 0, 1)) return error("min_p", options.min_p, "0 to 1");
  if (!within(options.repetition_penalty, 1e-3, 1e3))
    return error("repetition_penalty", options.repetition_penalty, "0.001 to 1000");
  if (!within(options.presence_penalty, -1e3, 1e3))
    return error("presence_penalty", options.presence_penalty, "-1000 to 1000");
  if (!within(options.frequency_penalty, -1e3, 1e3))
    return error("frequency_penalty", options.frequency_penalty, "-1000 to 1000");
  return {};
}

Sampler::Sampler(const SamplingOptions& options) : options_(options), random_(options.seed) {}

void Sampler::penalise(std::vector<Candidate>& candidates) const {
  const double penalty = options_.repetition_penalty;
  const double presence = options_.presence_penalty;
  const double frequency = options_.frequency_penalty;
  if (penalty == 1 && presence == 0 && frequency == 0) return;
  for (Candidate& c : candidates) {
    const auto seen = seen_.find(c.token);
    if (seen == seen_.end()) continue;
    c.logit = c.logit < 0 ? c.logit * penalty : c.logit / penalty;
    c.logit -= presence + frequency * static_cast<double>(seen->second);
  }
}

std::vector<double> Sampler::nucleus(std::vector<Candidate>& candidates) const {
  const double best = candidates[0].logit;
  const double temperature = options_.temperature;
  const auto weight = [&](const Candidate& c) {
    return c.logit == best ? 1 : std::exp((c.logit - best) / temperature);
  };
  double total = 0;
  for (const Candidate& c : candidates) total += weight(c);
  // The best comes off a heap one by one: most probability is in few of very many.
  const auto is_worse = [](const Candidate& a, const Candidate& b) { return b < a; };
  std::make_heap(candidates.begin(), candidates.end(), is_worse);
  std::vector<double> weights;
  double sum = 0;
  auto end = candidates.end();
  while (end != candidates.begin()) {
    const double next = weight(candidates.front());
    if (!weights.empty() && (sum >= options_.top_p * total || next < options_.min_p)) break;
    std::pop_heap(candidates.begin(), end--, is_worse);
    weights.push_back(next);
    sum += next;
  }
  std::reverse(end, candidates.end());
  candidates.erase(candidates.begin(), end);
  return weights;
}

Result<TokenId> Sampler::choose(std::span<const float> logits) {
  std::vector<Candidate> candidates;
  candidates.reserve(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (!std::isnan(logits[i]) && logits[i] != -INFINITY)
      candidates.push_back({logits[i], static_cast<TokenId>(i)});
  if (candidates.empty())
    return Status(Code::invalid_argument, "the model gives no logit that is a number");
  penalise(candidates);
  const auto best = std::ranges::min_element(candidates, std::less());
  if (options_.temperature == 0 || options_.top_k == 1 || best->logit == INFINITY)
    return best->token;
  std::swap(*best, candidates.front());
  const auto keep = static_cast<std::size_t>(options_.top_k);
  if (keep > 0 && keep < candidates.size()) {
    const auto middle = candidates.begin() + static_cast<std::ptrdiff_t>(keep);
    std::nth_element(candidates.begin(), middle, candidates.end());
    candidates.erase(middle, candidates.end());
    std::swap(*std::ranges::min_element(candidates, std::less()), candidates.front());
  }
  const std::vector<double> weights = nucleus(candidates);
  double total = 0;
  for (const double weight : weights) total += weight;
  double left = static_cast<double>(random_() >> 11) * 0x1p-53 * total;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    left -= weights[i];
    if (left < 0) return candidates[i].token;
  }
  return candidates.back().token;
}

StopTexts::StopTexts(std::vector<std::string> texts) : texts_(std::move(texts)) {
  std::erase_if(texts_, [](const std::string& text) { return text.empty(); });
}

std::string StopTexts::add(std::string_view part) {
  if (is_found_) return {};
  held_ += part;
  std::size_t first = std::string::npos;
  for (const std::string& text : texts_) first = std::min(first, held_.find(text));
  if (first != std::string::npos) {
    is_found_ = true;
    std::string before = held_.substr(0, first);
    held_.clear();
    return before;
  }
  std::size_t keep = 0;  // bytes at the end that begin a stop text
  for (const std::string& text : texts_)
    for (std::size_t n = std::min(text.size() - 1, held_.size()); n > keep; --n)
      if (held_.compare(held_.size() - n, n, text, 0, n) == 0) keep = n;
  std::string certain = held_.substr(0, held_.size() - keep);
  held_.erase(0, certain.size());
  return certain;
}

std::string StopTexts::finish() {
  return std::exchange(held_, {});
}

}  // namespace quern::language
