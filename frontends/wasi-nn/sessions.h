// SPDX-License-Identifier: Apache-2.0
// Sessions that the contexts of a graph borrow for a compute: a context itself holds only its
// inputs and outputs, so that many of them take little more memory than those.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <quern/session.h>

#include "frontends/wasi-nn/account.h"

namespace quern::wasi_nn {

// The types of a context's inputs; nullopt for one that is left out.
using InputTypes = std::vector<std::optional<TensorType>>;

// Plans, states of kernels and an arena, with their charge. One thread at a time.
class ChargedSession {
 public:
  // Errors: too_large, and those of a session.
  static Error create(const std::shared_ptr<const Executable>& executable,
                      const SessionOptions& options, const std::shared_ptr<Account>& account,
                      std::unique_ptr<ChargedSession>* session);

  Session& session() { return *session_; }
  const InputTypes& types() const { return types_; }
  // Makes the plan for the bound inputs, which have these types, and charges its memory, if that
  // was not done last. Errors: those of Session::prepare(), as an Error of a run; too_large.
  Error plan(const InputTypes& types, std::chrono::steady_clock::time_point deadline);
  // Errors: those of Session::run_until(); too_large, if memory that depends on data passes the
  // limit.
  Error run(std::chrono::steady_clock::time_point deadline);
  // The bytes of weights and tables that belong to the graph, after plan() and run().
  const KindBytes& compiled_bytes() const { return compiled_bytes_; }

 private:
  ChargedSession(std::unique_ptr<Session> session, const std::shared_ptr<Account>& account)
      : session_(std::move(session)), account_(account), resident_bytes_(account) {}
  Error charge(std::uint64_t arena_bytes);
  void find_compiled_bytes(const PlanInfo& info);

  const std::unique_ptr<Session> session_;
  const std::shared_ptr<Account> account_;
  ResidentCharge resident_bytes_;
  InputTypes types_;               // of the last plan that was charged
  std::uint64_t arena_bytes_ = 0;  // as charged
  KindBytes compiled_bytes_;
  bool has_one_plan_ = false;  // otherwise runs make plans, too
};

// The sessions of one graph that nobody uses now. Any thread.
class SessionPool {
 public:
  explicit SessionPool(SessionOptions options) : options_(std::move(options)) {}
  // An idle session of this executable, rather one that is planned for these types, or a new one.
  // Errors: those of ChargedSession::create().
  Error take(const std::shared_ptr<const Executable>& executable,
             const std::shared_ptr<Account>& account, const InputTypes& types,
             std::unique_ptr<ChargedSession>* session);
  void give(std::unique_ptr<ChargedSession> session);
  void drop_all();

 private:
  const SessionOptions options_;  // of all
  std::mutex mutex_;
  std::vector<std::unique_ptr<ChargedSession>> idle_;  // the last used at the end
};

}  // namespace quern::wasi_nn
