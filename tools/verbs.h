// SPDX-License-Identifier: Apache-2.0
// The verbs: each does what its help says and answers with the exit code; an error is one that
// main() prints, with the exit code of its kind.
#pragma once

#include <quern/status.h>

#include "tools/console.h"
#include "tools/options.h"

namespace quern::tools {

Result<ExitCode> run_verb(const RunArgs& args, const Console& console);
Result<ExitCode> verify_verb(const VerifyArgs& args, const Console& console);
Result<ExitCode> bench_verb(const BenchArgs& args, const Console& console);
Result<ExitCode> compile_verb(const CompileArgs& args, const Console& console);
Result<ExitCode> quantize_verb(const QuantizeArgs& args, const Console& console);
Result<ExitCode> optimize_verb(const OptimizeArgs& args, const Console& console);
Result<ExitCode> diff_verb(const DiffArgs& args, const Console& console);
Result<ExitCode> inspect_verb(const InspectArgs& args, const Console& console);
Result<ExitCode> profile_verb(const ProfileArgs& args, const Console& console);
Result<ExitCode> kernel_verb(const KernelArgs& args, const Console& console);
Result<ExitCode> plan_verb(const PlanArgs& args, const Console& console);
Result<ExitCode> wasm_verb(const WasmArgs& args, const Console& console);
Result<ExitCode> generate_verb(const GenerateArgs& args, const Console& console);
Result<ExitCode> devices_verb(const DevicesArgs& args, const Console& console);
Result<ExitCode> version_verb(const VersionArgs& args, const Console& console);

}  // namespace quern::tools
