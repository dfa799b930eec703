// SPDX-License-Identifier: Apache-2.0
#include "frontends/wasi-nn/sessions.h"

#include <algorithm>
#include <utility>

namespace quern::wasi_nn {
namespace {

// Converts an error of a plan or a run: invalid_argument, invalid_encoding and not_found become
// runtime_error.
Error run_error(const Status& status) {
  Error error(status);
  if (error.code == Errno::invalid_argument || error.code == Errno::invalid_encoding ||
      error.code == Errno::not_found)
    error.code = Errno::runtime_error;
  return error;
}

}  // namespace

Error ChargedSession::create(const std::shared_ptr<const Executable>& executable,
                             const SessionOptions& options, const std::shared_ptr<Account>& account,
                             std::unique_ptr<ChargedSession>* session) {
  auto made = Session::create(executable, options);
  if (!made) return Error(made.error());
  std::unique_ptr<ChargedSession> charged(new ChargedSession(std::move(*made), account));
  QUERN_NN_TRY(charged->charge(0));
  *session = std::move(charged);
  return {};
}

Error ChargedSession::charge(std::uint64_t arena_bytes) {
  KindBytes bytes(Kind::tables, sizeof *this + session_->table_bytes());
  bytes[Kind::arenas] = arena_bytes;
  QUERN_NN_TRY(resident_bytes_.set(bytes));
  arena_bytes_ = arena_bytes;
  return {};
}

void ChargedSession::find_compiled_bytes(const PlanInfo& info) {
  compiled_bytes_[Kind::weights] = info.weight_bytes;
  compiled_bytes_[Kind::tables] = session_->executable().table_bytes();
}

Error ChargedSession::plan(const InputTypes& types,
                           std::chrono::steady_clock::time_point deadline) {
  if (types == types_) return {};
  if (const Status status = session_->prepare(deadline); !status.ok()) return run_error(status);
  const PlanInfo info = session_->plan_info();
  // Arenas of earlier shapes are still held.
  QUERN_NN_TRY(charge(std::max(info.arena_bytes, session_->resident_bytes())));
  find_compiled_bytes(info);
  has_one_plan_ = info.memory.is_complete;
  types_ = types;
  return {};
}

Error ChargedSession::run(std::chrono::steady_clock::time_point deadline) {
  if (const std::uint64_t left = account_->headroom(&Counts::resident_bytes); left != no_limit)
    session_->limit_memory(
        static_cast<std::size_t>(std::max<std::uint64_t>(left + arena_bytes_, 1)));
  if (const Status status = session_->run_until(deadline); !status.ok()) return run_error(status);
  if (!has_one_plan_) find_compiled_bytes(session_->plan_info());
  // Memory that depends on data is known only now.
  const std::uint64_t held = session_->resident_bytes();
  if (held <= arena_bytes_ && has_one_plan_) return {};
  Error error = charge(std::max(held, arena_bytes_));
  if (!error.ok()) {
    session_->trim();
    types_.clear();
  }
  return error;
}

Error SessionPool::take(const std::shared_ptr<const Executable>& executable,
                        const std::shared_ptr<Account>& account, const InputTypes& types,
                        std::unique_ptr<ChargedSession>* session) {
  const auto fits = [&](const auto& s) { return &s->session().executable() == executable.get(); };
  const auto is_planned = [&](const auto& s) { return fits(s) && s->types() == types; };
  {
    const std::lock_guard lock(mutex_);
    auto found = std::find_if(idle_.rbegin(), idle_.rend(), is_planned);
    if (found == idle_.rend()) found = std::find_if(idle_.rbegin(), idle_.rend(), fits);
    if (found != idle_.rend()) {
      *session = std::move(*found);
      idle_.erase(std::next(found).base());
      return {};
    }
  }
  return ChargedSession::create(executable, options_, account, session);
}

void SessionPool::give(std::unique_ptr<ChargedSession> session) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(session));
}

void SessionPool::drop_all() {
  std::vector<std::unique_ptr<ChargedSession>> dropped;
  const std::lock_guard lock(mutex_);
  dropped.swap(idle_);
}

}  // namespace quern::wasi_nn
