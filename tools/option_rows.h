// SPDX-License-Identifier: Apache-2.0
// The parts of the table of options: rows that several verbs share, and verbs with many options,
// each in a file of its own.
#pragma once

#include <string>
#include <vector>

#include "tools/options.h"

namespace quern::tools {

using OptionRows = std::vector<OptionRow>;

void append(OptionRows& rows, OptionRows more);

OptionRow optional_model_row(std::string& model);
OptionRow model_row(std::string& model);
OptionRow json_row(bool& json);
// With the choices on and off.
OptionRow switch_row(const char* name, const char* help, std::string& target);

OptionRows device_rows(DeviceArgs& a);
OptionRow ops_row(std::vector<std::string>& ops);
OptionRow strategy_row(DeviceArgs& a);
OptionRow thread_pool_row(DeviceArgs& a);
OptionRow scratch_row(DeviceArgs& a);
OptionRow stripes_row(DeviceArgs& a);
OptionRow math_row(DeviceArgs& a);
OptionRow denormals_row(DeviceArgs& a);
OptionRows tuning_rows(DeviceArgs& a);
OptionRows memory_limit_rows(DeviceArgs& a);
OptionRow time_limit_row(double& seconds);
OptionRows pool_rows(PoolArgs& a);
OptionRows shape_rows(InputArgs& a);        // --shape, --dim, --seed
OptionRows input_rows(InputArgs& a);        // and where inputs come from
OptionRows preparation_rows(InputArgs& a);  // how pictures become numbers

Verb verify_row(VerifyArgs& a);
Verb quantize_row(QuantizeArgs& a);
Verb optimize_row(OptimizeArgs& a);
Verb diff_row(DiffArgs& a);
Verb kernel_row(KernelArgs& a);
Verb plan_row(PlanArgs& a);
Verb generate_row(GenerateArgs& a);

}  // namespace quern::tools
