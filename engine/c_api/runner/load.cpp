// SPDX-License-Identifier: Apache-2.0
// Of a runner: plans are those of the file, and what it lacks is an error.
#include "engine/artefact/load.h"

#include <quern/artefact.h>

#include "engine/compile/executable_impl.h"

namespace quern {

namespace {

Result<PlanOptions> saved_plans_only(const CompileOptions& options, const DeviceInfo& device) {
  return plan_options(options, device);
}

}  // namespace

Result<std::shared_ptr<const Executable>> parse_artefact(std::span<const std::byte> bytes,
                                                         std::shared_ptr<const void> owner,
                                                         std::shared_ptr<Device> device,
                                                         const LoadOptions& options) {
  return artefact::load(bytes, std::move(owner), std::move(device), options, saved_plans_only);
}

Result<std::shared_ptr<const Executable>> load_artefact(const std::string& path,
                                                        std::shared_ptr<Device> device,
                                                        const LoadOptions& options) {
  return artefact::load_file(path, std::move(device), options, saved_plans_only);
}

}  // namespace quern
