// SPDX-License-Identifier: Apache-2.0
// Limits and usage. The account of an instance has that of its tenant above it: an amount is
// charged to both or to neither.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>

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

// The kinds of resident bytes.
enum class Kind : std::uint8_t {
  models,   // their files, and the graphs that were read from them
  weights,  // packed for kernels
  tables,   // plans, generated code, states of kernels, handles
  arenas,   // intermediate results of runs
  tensors   // inputs and outputs that contexts hold, and tensors of WIT
};
inline constexpr std::size_t kind_count = 5;

// Resident bytes by kind.
class KindBytes {
 public:
  KindBytes() = default;
  KindBytes(Kind kind, std::uint64_t bytes) { (*this)[kind] = bytes; }
  std::uint64_t& operator[](Kind kind) { return bytes_[static_cast<std::size_t>(kind)]; }
  std::uint64_t operator[](Kind kind) const { return bytes_[static_cast<std::size_t>(kind)]; }
  std::uint64_t total() const {
    return std::accumulate(bytes_.begin(), bytes_.end(), std::uint64_t{0});
  }
  bool operator==(const KindBytes&) const = default;

 private:
  std::array<std::uint64_t, kind_count> bytes_{};
};

// The work done for a tenant. Times are processor times: docs/wasi-nn.md says of which threads.
struct Activity {
  // How calls ended.
  struct Calls {
    std::uint64_t ok = 0;
    std::uint64_t timed_out = 0;
    std::uint64_t refused = 0;  // too_large: a limit, or no memory
    std::uint64_t failed = 0;   // everything else
  };
  Calls loads;  // models that guests brought, and those of the host's names
  Calls computes;
  std::chrono::nanoseconds load_time{0}, compile_time{0}, compute_time{0};

  // Counts one call more.
  static Calls one(Errno outcome);
  Activity& operator+=(const Activity& more);
};

// An account at one moment.
struct Figures {
  Counts used, peak;  // `peak`: the most of each since the account was made
  KindBytes resident;
  Activity activity;
};

inline constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

enum class Target : std::uint8_t { cpu = 0, gpu = 1, tpu = 2 };

struct Limits {
  Counts most = {no_limit, no_limit, no_limit, no_limit, no_limit, no_limit};
  std::chrono::microseconds deadline{0};  // of one compute, checked between kernels; 0: none
  std::uint8_t targets = 0b11;            // bit 1 << Target
  bool names_only = false;                // guests may not load models of their own

  bool allows(Target target) const { return (targets >> static_cast<unsigned>(target) & 1) != 0; }
};

// Enough for a guest that does nothing unusual; its host may allow more.
inline Limits usual_limits() {
  Limits limits;
  limits.most.graphs = 16;
  limits.most.contexts = 64;
  return limits;
}

// The accounts that an amount is charged to.
enum class Reach : std::uint8_t {
  all,  // the account and those above it
  own   // the account alone: above it something else is charged for the same bytes
};

// Any thread.
class Account {
 public:
  Account(const Limits& limits, std::shared_ptr<Account> above)
      : limits_(limits), above_(std::move(above)) {}

  // Changes a charge from `from` to `to`. Errors: too_large; nothing is changed then.
  Error change(Resource resource, std::uint64_t from, std::uint64_t to, Reach reach = Reach::all);
  // The same for resident bytes.
  Error change(const KindBytes& from, const KindBytes& to, Reach reach = Reach::all);
  // Adds to the figures of the topmost account.
  void note(const Activity& activity);
  const Limits& limits() const { return limits_; }
  Counts usage() const;
  Figures figures() const;

  // The strictest limit of this account and the accounts above it.
  std::uint64_t most(Resource resource) const;
  // The amount that may still be charged; no_limit if nothing limits it.
  std::uint64_t headroom(Resource resource) const;
  std::chrono::microseconds deadline() const;
  bool allows(Target target) const;
  bool names_only() const;

 private:
  // Both under the lock.
  Error check(Resource resource, std::uint64_t from, std::uint64_t to) const;
  void take(Resource resource, std::uint64_t from, std::uint64_t to);

  mutable std::mutex mutex_;
  const Limits limits_;
  Figures figures_;
  const std::shared_ptr<Account> above_;
};

// A charged amount of one resource other than resident bytes; the destructor releases it. Movable;
// one thread at a time.
class Charge {
 public:
  Charge(std::shared_ptr<Account> account, Resource resource, Reach reach = Reach::all)
      : account_(std::move(account)), resource_(resource), reach_(reach) {}
  Charge(Charge&& other) noexcept
      : account_(std::move(other.account_)),
        resource_(other.resource_),
        reach_(other.reach_),
        amount_(std::exchange(other.amount_, 0)) {}
  Charge& operator=(Charge&&) = delete;
  ~Charge();

  // Errors: too_large; the amount stays as it was.
  Error set(std::uint64_t amount);
  std::uint64_t amount() const { return amount_; }

 private:
  std::shared_ptr<Account> account_;
  Resource resource_;
  Reach reach_;
  std::uint64_t amount_ = 0;
};

// The same for resident bytes.
class ResidentCharge {
 public:
  explicit ResidentCharge(std::shared_ptr<Account> account, Reach reach = Reach::all)
      : account_(std::move(account)), reach_(reach) {}
  ResidentCharge(ResidentCharge&& other) noexcept
      : account_(std::move(other.account_)),
        reach_(other.reach_),
        amount_(std::exchange(other.amount_, {})) {}
  ResidentCharge& operator=(ResidentCharge&&) = delete;
  ~ResidentCharge();

  // Errors: too_large; the amount stays as it was.
  Error set(const KindBytes& amount);
  const KindBytes& amount() const { return amount_; }

 private:
  std::shared_ptr<Account> account_;
  Reach reach_;
  KindBytes amount_;
};

}  // namespace quern::wasi_nn
