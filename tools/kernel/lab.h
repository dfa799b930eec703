// SPDX-License-Identifier: Apache-2.0
// The measurement of problems, as `quern kernel` asks for it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <quern/custom_ops.h>

#include "tools/console.h"
#include "tools/kernel/energy.h"
#include "tools/kernel/floor.h"
#include "tools/kernel/remote.h"
#include "tools/kernel/report.h"
#include "tools/options.h"

namespace quern::tools::lab {

class Lab {
 public:
  // Opens devices and operators of the host, and measures how caches are evicted. Errors:
  // invalid_argument, device_lost.
  static Result<std::unique_ptr<Lab>> open(const KernelArgs& args, const Console& console);

  // Errors: those of the problem. What a contender has wrong stands in the result.
  Result<ProblemResult> run(const Problem& problem);
  // Answers the questions of another process about one implementation of a problem, on the standard
  // streams.
  Status serve(const Problem& problem);
  // What all results have in common.
  ReportContext context() const;

 private:
  explicit Lab(const KernelArgs& args, const Console& console)
      : args_(args), console_(console), energy_(args.powercap) {}
  using Contenders = std::vector<std::unique_ptr<Contender>>;
  struct Task;  // a problem with its graph and its answers

  Result<Task> task_for(const Problem& problem);
  Status enter_all(Task& task, Contenders& into);
  Status enter_leveled(const Task& task, const LeveledName& name, Contenders& into);
  Result<const Answers*> answers_of(Task& task, const Device& device,
                                    std::string_view entry = {}) const;
  Status enter(Task& task, const std::shared_ptr<Device>& device, Contenders& into);
  Status enter_named(Task& task, const std::shared_ptr<Device>& device, std::string_view entry,
                     Contenders& into);
  Status enter_own(Task& task, const std::shared_ptr<Device>& device, Contenders& into);
  void note_own_reference(const Problem& problem) const;
  ContenderOptions options_for(const Device& device, std::string_view entry) const;

  const KernelArgs& args_;
  const Console& console_;
  std::vector<std::shared_ptr<Device>> devices_;
  std::vector<std::string> device_names_;  // of these, as they were asked for
  std::shared_ptr<const CustomOps> ops_;
  CompileOptions compile_;
  std::unique_ptr<CacheEvictor> evictor_;
  std::size_t between_bytes_ = 0;
  std::unique_ptr<OtherMemory> others_;  // null: none is read
  MachineLoad load_before_;
  Roofs roofs_;
  EnergyMeter energy_;
};

// "cpu,vulkan:0,validate" as "cpu" and "vulkan:0,validate".
std::vector<std::string> split_devices(std::string_view list);

}  // namespace quern::tools::lab
