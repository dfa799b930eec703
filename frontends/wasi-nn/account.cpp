// SPDX-License-Identifier: Apache-2.0
#include "frontends/wasi-nn/account.h"

#include <algorithm>

namespace quern::wasi_nn {
namespace {

std::string_view name_of(Resource resource) {
  if (resource == &Counts::graphs) return "graphs";
  if (resource == &Counts::contexts) return "contexts";
  if (resource == &Counts::model_bytes) return "model bytes";
  if (resource == &Counts::tensor_bytes) return "tensor bytes";
  if (resource == &Counts::resident_bytes) return "resident bytes";
  return "parallel computes";
}

}  // namespace

Error Account::change(Resource resource, std::uint64_t from, std::uint64_t to) {
  const std::lock_guard lock(mutex_);
  std::uint64_t& used = used_.*resource;
  const std::uint64_t others = used - from;
  const std::uint64_t most = limits_.most.*resource;
  if (to > from && (to > most || others > most - to))
    return {Errno::too_large, sentence(name_of(resource), ": ", others, " are used and ", to,
                                       " wanted, the limit is ", most)};
  if (above_) QUERN_NN_TRY(above_->change(resource, from, to));
  used = others + to;
  return {};
}

Counts Account::usage() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

std::uint64_t Account::most(Resource resource) const {
  const std::uint64_t mine = limits_.most.*resource;
  return above_ ? std::min(mine, above_->most(resource)) : mine;
}

std::uint64_t Account::headroom(Resource resource) const {
  const std::uint64_t above = above_ ? above_->headroom(resource) : no_limit;
  const std::uint64_t limit = limits_.most.*resource;
  if (limit == no_limit) return above;
  const std::lock_guard lock(mutex_);
  return std::min(above, limit - used_.*resource);
}

std::chrono::microseconds Account::deadline() const {
  const auto mine = limits_.deadline;
  const auto others = above_ ? above_->deadline() : std::chrono::microseconds(0);
  if (mine.count() == 0 || others.count() == 0) return std::max(mine, others);
  return std::min(mine, others);
}

bool Account::allows(Target target) const {
  return limits_.allows(target) && (!above_ || above_->allows(target));
}

bool Account::names_only() const {
  return limits_.names_only || (above_ && above_->names_only());
}

Charge::~Charge() {
  if (amount_ > 0) (void)set(0);
}

Error Charge::set(std::uint64_t amount) {
  if (amount == amount_) return {};
  QUERN_NN_TRY(account_->change(resource_, amount_, amount));
  amount_ = amount;
  return {};
}

}  // namespace quern::wasi_nn
