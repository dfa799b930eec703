// SPDX-License-Identifier: Apache-2.0
#include "tools/kernel/own.h"

#include <algorithm>
#include <chrono>

#include "engine/vocabulary/platform/programs.h"
#include "engine/vocabulary/text_util.h"
#include "graph/text.h"
#include "tools/kernel/words.h"
#include "tools/parse.h"

namespace quern::tools::lab {
namespace {

// "axis=-1" as the text of an attribute of a host's operator, "axis=i:-1".
std::string custom_attribute(std::string_view word) {
  const std::size_t equal = word.find('=');
  const std::string_view name = word.substr(0, equal);
  std::string_view value = word.substr(equal + 1);
  const auto as = [&](std::string_view kind, std::string_view text) {
    return cat(name, "=", kind, ":", text);
  };
  if (value == "true" || value == "false") return as("i", value == "true" ? "1" : "0");
  if (value.starts_with('[')) {
    value = value.substr(1, value.size() - 2);
    const std::vector<std::string> parts = split_list(value);
    const bool are_integers = std::ranges::all_of(
        parts, [](const std::string& part) { return parse_integer(part).has_value(); });
    return as(are_integers ? "is" : "fs", value);
  }
  if (parse_integer(value)) return as("i", value);
  if (parse_number(value)) return as("f", value);
  if (value.starts_with('"')) value = value.substr(1, value.size() - 2);
  return as("s", value);
}

// "kind=softmax", "axis=-1", ...
std::vector<std::string> attribute_words(const Op& op) {
  auto words = words_of(attributes_text(op));
  return words ? std::move(*words) : std::vector<std::string>();
}

// Those that differ from the default.
std::string custom_attributes(const Problem& problem) {
  const auto op = make_op(problem.op, problem.attributes);
  const auto plain = make_op(problem.op, "");
  if (!op || !plain) return "[]";
  const std::vector<std::string> defaults = attribute_words(*plain);
  std::string list;
  for (const std::string& word : attribute_words(*op))
    if (std::ranges::find(defaults, word) == defaults.end())
      list += cat(list.empty() ? "" : ",", in_quotes(custom_attribute(word)));
  return cat("[", list, "]");
}

}  // namespace

std::vector<OwnKernel> own_kernels(const Problem& problem, const CustomOps& ops) {
  std::vector<OwnKernel> kernels;
  for (const CustomOpInfo& info : ops.list()) {
    if (info.name != problem.op) continue;
    OwnKernel own{info.domain.empty() ? cat("own ", info.name) : cat(info.domain, ".", info.name),
                  problem};
    own.problem.op = info.is_deterministic ? "Custom" : "CustomRandom";
    own.problem.attributes = cat("domain=", in_quotes(info.domain), " name=", in_quotes(info.name),
                                 " opset=", std::max<std::int64_t>(info.first_opset, 1),
                                 " attributes=", custom_attributes(problem));
    kernels.push_back(std::move(own));
  }
  return kernels;
}

Status validate_own_shaders(std::string_view device) {
  constexpr auto patience = std::chrono::minutes(2);
  for (const std::string& option : split_list(device)) {
    if (!option.starts_with("shader=")) continue;
    const std::size_t equal = option.find('=', std::string_view("shader=").size());
    if (equal == std::string::npos) continue;  // the device says so
    const std::string file = option.substr(equal + 1);
    const std::string named = file.starts_with('-') ? "./" + file : file;  // no option of its own
    platform::Program validator;
    if (!validator.start({"spirv-val", "--target-env", "vulkan1.1", named})) return {};
    validator.close_input();
    const auto end = validator.wait(patience);
    if (!end) return {Code::device_lost, "spirv-val does not end"};
    if (end->is_success() || end->code == platform::Program::not_started) continue;
    return {Code::device_lost, cat("spirv-val refuses '", printable(file), "'")};
  }
  return {};
}

}  // namespace quern::tools::lab
