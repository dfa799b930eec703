// SPDX-License-Identifier: Apache-2.0
// Limits and usage. The account of an instance has that of its tenant above it: an amount is
// charged to both or to neither.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>

#include "frontends/wasi-nn/error.h"

namespace quern::wasi_nn {

// Amounts of each resource; names without `bytes` are numbers of objects.
struct Counts {
  std::uint64_t graphs = 0;    // handles of graphs, and the named models of a tenant
  std::uint64_t contexts = 0;  // handles of contexts
  std::uint64_t model_bytes = 0;
  std::uint64_t tensor_bytes = 0;    // inputs that contexts hold, and tensors of WIT
  std::uint64_t resident_bytes = 0;  // models, plans, weights, arenas, tensors and handles
  std::uint64_t parallel_computes = 0;

  bool operator==(const Counts&) const = default;
};
using Resource = std::uint64_t Counts::*;

inline constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

enum class Target : std::uint8_t { cpu = 0, gpu = 1, tpu = 2 };

struct Limits {
  Counts most = {no_limit, no_limit, no_limit, no_limit, no_limit, no_limit};
  std::chrono::microseconds deadline{0};  // of one compute, checked between kernels; 0: none
  std::uint8_t targets = 0b11;            // bit 1 << Target
  bool names_only = false;                // guests may not load models of their own

  bool allows(Target target) const { return (targets >> static_cast<unsigned>(target) & 1) != 0; }
};

// What a guest needs that does nothing unusual; more is for its host to allow.
inline Limits usual_limits() {
  Limits limits;
  limits.most.graphs = 16;
  limits.most.contexts = 64;
  return limits;
}

// Any thread.
class Account {
 public:
  Account(const Limits& limits, std::shared_ptr<Account> above)
      : limits_(limits), above_(std::move(above)) {}

  // Changes a charge from `from` to `to`. Errors: too_large; nothing is changed then.
  Error change(Resource resource, std::uint64_t from, std::uint64_t to);
  const Limits& limits() const { return limits_; }
  Counts usage() const;

  // The strictest limit of this account and the accounts above it.
  std::uint64_t most(Resource resource) const;
  // What may still be charged; no_limit if nothing limits it.
  std::uint64_t headroom(Resource resource) const;
  std::chrono::microseconds deadline() const;
  bool allows(Target target) const;
  bool names_only() const;

 private:
  mutable std::mutex mutex_;
  const Limits limits_;
  Counts used_;
  const std::shared_ptr<Account> above_;
};

// A charged amount of one resource; the destructor releases it. Movable; one thread at a time.
class Charge {
 public:
  Charge(std::shared_ptr<Account> account, Resource resource)
      : account_(std::move(account)), resource_(resource) {}
  Charge(Charge&& other) noexcept
      : account_(std::move(other.account_)),
        resource_(other.resource_),
        amount_(std::exchange(other.amount_, 0)) {}
  Charge& operator=(Charge&&) = delete;
  ~Charge();

  // Errors: too_large; the amount stays as it was.
  Error set(std::uint64_t amount);
  std::uint64_t amount() const { return amount_; }

 private:
  std::shared_ptr<Account> account_;
  Resource resource_;
  std::uint64_t amount_ = 0;
};

}  // namespace quern::wasi_nn
