// SPDX-License-Identifier: Apache-2.0
// One case of `quern verify`, in the process that calls.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <quern/custom_ops.h>
#include <quern/device.h>
#include <quern/status.h>

#include "tools/cases.h"
#include "tools/dress/dress.h"
#include "tools/json.h"
#include "tools/levers.h"

namespace quern::tools {

struct CaseOptions {
  std::shared_ptr<Device> device;
  std::vector<int> threads = {0};  // one session each
  Levers levers;                   // but for threads
  const Json* index = nullptr;     // of index.json; null: the usual criterion
  std::shared_ptr<const CustomOps> ops = nullptr;
  // Tried once the case has passed as it is.
  std::vector<const Dress*> dresses;
};

struct CaseResult {
  enum class Outcome : std::uint8_t { passed, failed, skipped };

  Outcome outcome = Outcome::passed;
  double ms = 0;
  std::string reason;                // why not
  std::vector<std::string> dresses;  // names of those in which it fails
  std::vector<std::string> details;  // a line per output and data set

  static CaseResult failure(const Status& why);

  // For the pipe between a child process and its parent.
  std::string serialise() const;
  static CaseResult parse(const std::string& text);
};

CaseResult run_case(const Case& c, const CaseOptions& options);

}  // namespace quern::tools
