// SPDX-License-Identifier: Apache-2.0
#include "tools/through_artefact.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace quern::tools {

Result<std::shared_ptr<const Executable>> through_artefact(
    std::shared_ptr<const Executable> executable, std::shared_ptr<Device> device,
    const ArtefactOptions& options, const CompileOptions& compile) {
  QUERN_ASSIGN(const Artefact artefact, Artefact::make(std::move(executable), options));
  constexpr std::size_t alignment = 64;
  const std::size_t room = (artefact.contents().bytes + alignment - 1) / alignment * alignment;
  const std::shared_ptr<std::byte> file(
      static_cast<std::byte*>(std::aligned_alloc(alignment, room)), std::free);
  if (!file) return Status(Code::out_of_memory, "no memory for the artefact");
  std::byte* at = file.get();
  for (const std::string_view piece : artefact.pieces())
    at = std::ranges::copy(std::as_bytes(std::span(piece)), at).out;
  return parse_artefact({file.get(), at}, file, std::move(device), {.compile = compile});
}

}  // namespace quern::tools
