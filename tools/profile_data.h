// SPDX-License-Identifier: Apache-2.0
// The measurements of `quern profile`, and the files that it writes.
#pragma once

#include <string>
#include <vector>

#include <quern/session.h>

#include "tools/json.h"
#include "tools/roof.h"

namespace quern::tools {

// One kernel, over all its executions in a run (a loop's body runs many times).
struct ProfiledStep {
  StepInfo step;  // flops and bytes of one execution
  std::size_t calls = 0;
  double ms = 0;        // of a run, all executions; median over the runs
  double begin_ms = 0;  // of the first execution, in the run of the timeline

  double flops() const { return step.flops * static_cast<double>(calls); }
  double bytes() const { return step.bytes * static_cast<double>(calls); }
  double gflops() const { return ms > 0 ? flops() / ms * 1e-6 : 0; }
  double gbytes() const { return ms > 0 ? bytes() / ms * 1e-6 : 0; }
};

struct Profile {
  std::string model, device;
  int threads = 0;
  int runs = 0;
  double run_ms = 0;                // median of the whole run, kernels and what lies between them
  std::vector<ProfiledStep> steps;  // in the order of their first execution
  std::vector<Session::Timing> timeline;  // the run whose time is the median
  Roof roof;

  double kernel_ms() const;
  // Time of a lane of the timeline; the gaps are those between consecutive kernels and copies of a
  // device.
  double lane_ms(StepInfo::Lane lane) const;
  double gaps_ms() const;
  // The performance of a step as a share of the roof, by its arithmetic or its bytes; 0 if unknown.
  double roof_share(const ProfiledStep& step) const;
};

// Errors: those of Session::profile().
Result<Profile> take_profile(Session& session, int runs);

// Sums by operator, slowest first; step.op is the group, the other texts are empty.
std::vector<ProfiledStep> by_operator(const Profile& profile);

Json profile_json(const Profile& profile);
std::string chrome_trace(const Profile& profile);
// One page that loads nothing from elsewhere.
std::string html_page(const Profile& profile);
// Log-log: work per byte against rate, a dot per operator, its area the share of the time.
std::string roofline_svg(const Profile& profile);

}  // namespace quern::tools
