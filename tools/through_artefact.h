// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <quern/artefact.h>
#include <quern/status.h>

namespace quern::tools {

// The executable that the artefact of `executable` gives, in memory, on the same device: it
// computes the same. Errors: those of making and loading it.
Result<std::shared_ptr<const Executable>> through_artefact(
    std::shared_ptr<const Executable> executable, std::shared_ptr<Device> device,
    const ArtefactOptions& options, const LoadOptions& load);

}  // namespace quern::tools
