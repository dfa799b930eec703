// SPDX-License-Identifier: Apache-2.0
// Loading, with or without something that makes the plans which a file lacks.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <quern/artefact.h>

#include "engine/compile/plan.h"
#include "graph/graph.h"

namespace quern::artefact {

// How the plans of an executable are made: plan_options(), or those with a maker of plans.
using PlanOptionsFn = Result<PlanOptions> (*)(const CompileOptions& options,
                                              const DeviceInfo& device);

// As parse_artefact() and load_artefact() of <quern/artefact.h>, which call these.
Result<std::shared_ptr<const Executable>> load(std::span<const std::byte> bytes,
                                               std::shared_ptr<const void> owner,
                                               std::shared_ptr<Device> device,
                                               const LoadOptions& options, PlanOptionsFn plans);
Result<std::shared_ptr<const Executable>> load_file(const std::string& path,
                                                    std::shared_ptr<Device> device,
                                                    const LoadOptions& options,
                                                    PlanOptionsFn plans);

// The graph of the model, then those of the plans.
Result<std::vector<Graph>> graphs_of(std::span<const std::byte> bytes);

}  // namespace quern::artefact
