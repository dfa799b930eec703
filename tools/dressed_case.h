// SPDX-License-Identifier: Apache-2.0
// A case in one other dress: what the dressed model gives against what the case wants, and against
// `reference` where the case does not say.
#pragma once

#include <memory>
#include <vector>

#include <quern/device.h>
#include <quern/model.h>
#include <quern/status.h>

#include "tools/data_set.h"
#include "tools/dress/dress.h"

namespace quern::tools {

struct DressedCase {
  const Model& model;
  const DataSet& set;
  std::shared_ptr<Device> device;
  int threads = 0;
  // The tolerance for each output.
  std::vector<Criterion> criteria;
};

// An error describes the failure of this dress.
Status run_dressed(const Dress& dress, const DressedCase& c);

}  // namespace quern::tools
