// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/vulkan/tuning.h"

#include <fstream>
#include <string>

#include "engine/devices/vulkan/pipeline_cache.h"
#include "engine/vocabulary/text_util.h"

namespace quern::vulkan {
namespace {

constexpr std::size_t most_entries = 100'000;  // of a file

class Hash {
 public:
  void add(std::uint64_t v) {
    for (int i = 0; i < 8; ++i, v >>= 8) h_ = (h_ ^ (v & 0xff)) * 0x100000001b3;
  }
  void add(const Dispatch& d) {
    for (const char c : d.shader) add(static_cast<std::uint64_t>(c));
    add(d.constants.size());
    for (const std::uint32_t v : d.constants) add(v);
    add(d.push.size());
    for (const std::uint32_t v : d.push) add(v);
    for (const std::uint32_t v : d.groups) add(v);
    add(d.subgroup);
    for (const Dispatch& candidate : d.candidates) add(candidate);
  }
  std::uint64_t value() const { return h_; }

 private:
  std::uint64_t h_ = 0xcbf29ce484222325;
};

std::uint64_t key_of(const Dispatch& d) {
  Hash h;
  h.add(d);
  return h.value();
}

std::string title_of(const Capabilities& device) {
  return cat("quern tuning 1 ", uuid_text(device.uuid), " ", uuid_text(device.cache_uuid));
}

}  // namespace

void Tuning::load(const Capabilities& device) {
  const auto path = cache_path(device, "tuning", ".txt");
  std::ifstream file(path);
  std::string title;
  if (path.empty() || !std::getline(file, title) || title != title_of(device)) return;
  const std::scoped_lock lock(mutex_);
  std::uint64_t key = 0;
  std::uint32_t candidate = 0;
  while (best_.size() < most_entries && file >> std::hex >> key >> std::dec >> candidate)
    best_[key] = candidate;
}

void Tuning::save(const Capabilities& device) const {
  const std::scoped_lock lock(mutex_);
  if (!is_new_) return;
  std::string text = title_of(device) + "\n";
  for (const auto& [key, candidate] : best_) {
    constexpr std::string_view digits = "0123456789abcdef";
    for (int shift = 60; shift >= 0; shift -= 4) text += digits[key >> shift & 15];
    text += cat(" ", candidate, "\n");
  }
  write_cache_file(cache_path(device, "tuning", ".txt"), std::as_bytes(std::span(text)));
}

bool Tuning::knows(const Dispatch& work) const {
  const std::scoped_lock lock(mutex_);
  return best_.contains(key_of(work));
}

const Dispatch& Tuning::best(const Dispatch& work) const {
  if (work.candidates.empty()) return work;
  const std::scoped_lock lock(mutex_);
  const auto found = best_.find(key_of(work));
  // The file may contain any number.
  if (found == best_.end() || found->second == 0 || found->second > work.candidates.size())
    return work;
  return work.candidates[found->second - 1];
}

void Tuning::learn(const Dispatch& work, std::uint32_t candidate) {
  const std::scoped_lock lock(mutex_);
  best_[key_of(work)] = candidate;
  is_new_ = true;
}

}  // namespace quern::vulkan
