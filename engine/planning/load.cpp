// SPDX-License-Identifier: Apache-2.0
#include "engine/artefact/load.h"

#include <quern/artefact.h>

#include "engine/planning/planning.h"

namespace quern {

Result<std::shared_ptr<const Executable>> parse_artefact(std::span<const std::byte> bytes,
                                                         std::shared_ptr<const void> owner,
                                                         std::shared_ptr<Device> device,
                                                         const LoadOptions& options) {
  return artefact::load(bytes, std::move(owner), std::move(device), options,
                        searching_plan_options);
}

Result<std::shared_ptr<const Executable>> load_artefact(const std::string& path,
                                                        std::shared_ptr<Device> device,
                                                        const LoadOptions& options) {
  return artefact::load_file(path, std::move(device), options, searching_plan_options);
}

}  // namespace quern
