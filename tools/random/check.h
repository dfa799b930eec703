// SPDX-License-Identifier: Apache-2.0
// A random model on a device in several ways, held to the reference; in the calling process or in
// one of its own.
#pragma once

#include <span>
#include <string>

#include "tools/levers.h"
#include "tools/random/judge.h"

namespace quern::tools {

struct Verdict {
  enum class Kind : std::uint8_t {
    right,
    refused,   // by the reference: the model is not valid, or the reference is wrong
    error,     // the device says no where the reference says yes
    wrong,     // other elements
    unstable,  // the same inputs gave other bits later in the session
    crashed,
    hung,
    reference_outside,  // of the oracle's bound: one of those two is wrong
  };
  Kind kind = Kind::right;
  std::string levers;
  std::string output;
  std::string reason;
  Share share;  // of the floats that rounding touches: what the oracle judges

  bool ok() const { return kind == Kind::right; }
  std::string text() const;  // one line
  // True if the other verdict is of the same kind and its error text equals this one except for
  // numbers.
  bool same_failure(const Verdict& other) const;
  std::string serialise() const;
  static Verdict parse(const std::string& text);
};
std::string_view name_of(Verdict::Kind kind);

// `verdict`, unless it is right or about an output for which the reference itself is outside of the
// oracle's bound: then that is what there is to tell.
Verdict blamed(Verdict verdict, const Judge& judge);
// All ways must be for the same process. What turns the process must have been applied to it.
Verdict check_here(const RandomModel& model, const std::string& device,
                   std::span<const Levers> ways);
// In a child that takes `timeout_s` at most.
Verdict check_apart(const RandomModel& model, const std::string& device, const Levers& way,
                    double timeout_s);

}  // namespace quern::tools
