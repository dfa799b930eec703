// SPDX-License-Identifier: Apache-2.0
#include <quern/artefact.h>
#include <quern/c/quern.h>

#include "engine/c_api/handles.h"
#include "engine/c_api/options.h"

using namespace quern;
using namespace quern::c_api;

namespace {

// Shapes one after the other, as the caller lists them: of each plan those of all inputs.
Result<std::vector<std::vector<Shape>>> shapes_of(const quern_save_options& o, std::size_t inputs) {
  std::vector<std::vector<Shape>> plans(o.plan_count);
  const int64_t* dims = o.dims;
  std::size_t at = 0;
  for (std::vector<Shape>& plan : plans)
    for (std::size_t i = 0; i < inputs; ++i, ++at) {
      const std::size_t rank = o.ranks[at];
      if (rank > Shape::max_rank)
        return Status(Code::invalid_argument, "shape " + std::to_string(at) + " has rank " +
                                                  std::to_string(rank) + ", at most " +
                                                  std::to_string(Shape::max_rank) + " is possible");
      plan.emplace_back(std::span<const std::int64_t>(dims, rank));
      dims += rank;
    }
  return plans;
}

}  // namespace

quern_status quern_executable_save(const quern_executable* executable, const char* path,
                                   const quern_save_options* options) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(executable);
    QUERN_NOT_NULL(path);
    QUERN_ASSIGN(const quern_save_options o, read_struct(options));
    if (o.plan_count > 0) {
      QUERN_NOT_NULL(o.ranks);
      QUERN_NOT_NULL(o.dims);
    }
    ArtefactOptions save{.shapes = {}, .is_portable = o.portable != 0};
    QUERN_ASSIGN(save.shapes, shapes_of(o, executable->inputs.size()));
    QUERN_ASSIGN(const Artefact artefact, Artefact::make(executable->executable, save));
    return artefact.write(path);
  });
}

quern_status quern_executable_load(const char* path, const quern_load_options* load,
                                   const quern_compile_options* options,
                                   quern_executable** executable) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(path);
    QUERN_NOT_NULL(executable);
    QUERN_ASSIGN(const quern_load_options l, read_struct(load));
    QUERN_ASSIGN(const quern_compile_options o, read_struct(options));
    QUERN_ASSIGN(auto device, device_of(o));
    LoadOptions how{.files = onnx_options(l).files};
    QUERN_ASSIGN(how.compile, compile_options(o));
    QUERN_ASSIGN(auto loaded, load_artefact(path, std::move(device), how));
    *executable = new quern_executable(std::move(loaded));
    return {};
  });
}
