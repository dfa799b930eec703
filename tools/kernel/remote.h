// SPDX-License-Identifier: Apache-2.0
// A contender in a process of its own, whose environment allows fewer instructions: loops and
// oneDNN choose theirs once in a process.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/vocabulary/platform/programs.h"
#include "tools/kernel/contender.h"
#include "tools/options.h"

namespace quern::tools::lab {

class RemoteContender final : public Contender {
 public:
  // Starts this program again for one problem and one implementation, at a level of QUERN_SIMD.
  // `args` are those of the command. Errors: internal, where the process does not start; what it
  // says of the problem.
  static Result<std::unique_ptr<Contender>> start(const std::string& problem,
                                                  const KernelArgs& args, std::string_view entry,
                                                  std::string_view level);
  // It ends when nobody can ask it any more.
  ~RemoteContender() override;

  Result<Sample> call() override;
  Result<std::int64_t> repeat(double seconds) override;
  Status check_idle() override;

 private:
  RemoteContender() = default;
  template <class IsDone>
  Status move_until(std::string_view& to_write, const IsDone& is_done);
  Result<Json> ask(std::string_view question);
  Result<std::string> read_line();
  Status take_info(const Json& answer);

  platform::Program process_;
  std::string unread_;
};

// Answers the questions of a RemoteContender on the standard streams, until they end.
void serve(Contender& contender);

// "rows@avx2": an implementation and a level; the level is empty without one.
struct LeveledName {
  std::string entry;
  std::string level;
};
LeveledName parse_leveled(std::string_view name);

}  // namespace quern::tools::lab
