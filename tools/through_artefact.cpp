// SPDX-License-Identifier: Apache-2.0
#include "tools/through_artefact.h"

#include <utility>

namespace quern::tools {

Result<std::shared_ptr<const Executable>> through_artefact(
    std::shared_ptr<const Executable> executable, std::shared_ptr<Device> device,
    const ArtefactOptions& options, const LoadOptions& load) {
  QUERN_ASSIGN(const Artefact artefact, Artefact::make(std::move(executable), options));
  QUERN_ASSIGN(const std::shared_ptr<std::byte> file, artefact.in_memory());
  return parse_artefact({file.get(), artefact.contents().bytes}, file, std::move(device), load);
}

}  // namespace quern::tools
