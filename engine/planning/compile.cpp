// SPDX-License-Identifier: Apache-2.0
#include <quern/executable.h>

#include "engine/compile/executable_impl.h"
#include "engine/planning/planning.h"
#include "engine/vocabulary/guarded.h"
#include "engine/vocabulary/host_memory.h"
#include "graph/passes/few_bits.h"
#include "graph/passes/pipeline.h"
#include "graph/passes/precision.h"
#include "graph/passes/quantized.h"
#include "kernels/contract/integer_products.h"

namespace quern {

Result<std::shared_ptr<const Executable>> Executable::compile(Model model,
                                                              std::shared_ptr<Device> device,
                                                              const CompileOptions& options) {
  return guarded([&]() -> Result<std::shared_ptr<const Executable>> {
    const HostScope scope(options.host);
    const Stop stop({.deadline = options.deadline});
    QUERN_ASSIGN(auto impl, begin_executable(std::move(model), std::move(device), options));
    QUERN_ASSIGN(PlanOptions plan, searching_plan_options(options, impl->device->info()));
    Graph& graph = impl->model.graph();
    if (impl->device->info().kind != DeviceInfo::Kind::cpu) QUERN_TRY(widen_block_quantized(graph));
    if (plan.optimize) {
      plan.half_products = multiplies_f16(graph);
      QUERN_TRY(widen_f16(graph));  // the kernels are f32
      // Plans fuse, once their shapes show every pattern.
      QUERN_TRY(run_passes(graph, {.fuse = false, .stop = &stop}));
      if (plan.convolve_integers) QUERN_TRY(convolve_dequantized(graph, faster_in_int8));
    }
    return finish_executable(std::move(impl), std::move(plan), nullptr);
  });
}

}  // namespace quern
