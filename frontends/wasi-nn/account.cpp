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

// An answer that ends, or fills its context, is one.
bool has_answer(Errno outcome) {
  return outcome == Errno::success || outcome == Errno::end_of_sequence ||
         outcome == Errno::context_full;
}

}  // namespace

Activity::Calls Activity::one(Errno outcome) {
  Calls calls;
  (has_answer(outcome)           ? calls.ok
   : outcome == Errno::timed_out ? calls.timed_out
   : outcome == Errno::too_large ? calls.refused
                                 : calls.failed) = 1;
  return calls;
}

Activity& Activity::operator+=(const Activity& more) {
  const auto add = [](Calls& to, const Calls& from) {
    to.ok += from.ok;
    to.timed_out += from.timed_out;
    to.refused += from.refused;
    to.failed += from.failed;
  };
  add(loads, more.loads);
  add(computes, more.computes);
  load_time += more.load_time;
  compile_time += more.compile_time;
  compute_time += more.compute_time;
  return *this;
}

Error Account::check(Resource resource, std::uint64_t from, std::uint64_t to) const {
  const std::uint64_t others = figures_.used.*resource - from;
  const std::uint64_t most = limits_.most.*resource;
  if (to <= from || (to <= most && others <= most - to)) return {};
  return {Errno::too_large, sentence(name_of(resource), ": ", others, " are used and ", to,
                                     " wanted, the limit is ", most)};
}

Error Account::change(Resource resource, std::uint64_t from, std::uint64_t to, Reach reach) {
  const std::lock_guard lock(mutex_);
  QUERN_NN_TRY(check(resource, from, to));
  if (above_ && reach == Reach::all) QUERN_NN_TRY(above_->change(resource, from, to));
  take(resource, from, to);
  return {};
}

Error Account::change(const KindBytes& from, const KindBytes& to, Reach reach) {
  const std::lock_guard lock(mutex_);
  QUERN_NN_TRY(check(&Counts::resident_bytes, from.total(), to.total()));
  if (above_ && reach == Reach::all) QUERN_NN_TRY(above_->change(from, to));
  take(&Counts::resident_bytes, from.total(), to.total());
  for (std::size_t i = 0; i < kind_count; ++i) {
    const auto kind = static_cast<Kind>(i);
    figures_.resident[kind] += to[kind] - from[kind];
  }
  return {};
}

void Account::take(Resource resource, std::uint64_t from, std::uint64_t to) {
  std::uint64_t& used = figures_.used.*resource;
  std::uint64_t& peak = figures_.peak.*resource;
  used += to - from;
  peak = std::max(peak, used);
}

void Account::note(const Activity& activity) {
  if (above_) return above_->note(activity);
  const std::lock_guard lock(mutex_);
  figures_.activity += activity;
}

Counts Account::usage() const {
  const std::lock_guard lock(mutex_);
  return figures_.used;
}

Figures Account::figures() const {
  const std::lock_guard lock(mutex_);
  return figures_;
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
  return std::min(above, limit - figures_.used.*resource);
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
  QUERN_NN_TRY(account_->change(resource_, amount_, amount, reach_));
  amount_ = amount;
  return {};
}

ResidentCharge::~ResidentCharge() {
  if (amount_ != KindBytes()) (void)set({});
}

Error ResidentCharge::set(const KindBytes& amount) {
  if (amount == amount_) return {};
  QUERN_NN_TRY(account_->change(amount_, amount, reach_));
  amount_ = amount;
  return {};
}

}  // namespace quern::wasi_nn
