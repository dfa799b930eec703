// SPDX-License-Identifier: Apache-2.0
#include "tools/data_set.h"

#include <algorithm>
#include <filesystem>

#include "engine/vocabulary/readable.h"
#include "engine/vocabulary/text_util.h"

namespace quern::tools {
namespace {

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

}  // namespace

Result<DataSet> read_set(const std::string& folder, const std::vector<ValueSpec>& inputs,
                         const std::vector<ValueSpec>& outputs) {
  DataSet set{.name = std::filesystem::path(folder).filename().string()};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string path = cat(folder, "/input_", i, ".pb");
    if (!exists(path))
      return Status(Code::not_found,
                    cat("no input_", i, ".pb for input '", shown(inputs[i].name), "'"));
    QUERN_ASSIGN(set.inputs.emplace_back(), read_value(path, inputs[i]));
  }
  bool any = false;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string path = cat(folder, "/output_", i, ".pb");
    auto& expected = set.outputs.emplace_back();
    if (!exists(path)) continue;
    QUERN_ASSIGN(expected, read_value(path, outputs[i]));
    any = true;
  }
  if (!any) return Status(Code::not_found, "no output_0.pb: nothing to compare with");
  return set;
}

Result<std::vector<TensorView>> output_views(const Session& session, std::size_t output) {
  QUERN_ASSIGN(const std::size_t count, session.output_count(output));
  std::vector<TensorView> views;
  for (std::size_t k = 0; k < count; ++k) {
    QUERN_ASSIGN(views.emplace_back(), session.output_element(output, k));
  }
  return views;
}

std::vector<TensorView> views_of(std::span<const Tensor> tensors) {
  std::vector<TensorView> views;
  for (const Tensor& t : tensors) views.push_back(t.view());
  return views;
}

Comparison compare_lists(std::span<const TensorView> got, std::span<const TensorView> wanted,
                         const Criterion& criterion) {
  if (got.size() != wanted.size())
    return {false, cat("got ", got.size(), " tensors, wanted ", wanted.size())};
  Comparison all;
  for (std::size_t k = 0; k < got.size(); ++k) {
    Comparison c = compare(got[k], wanted[k], criterion);
    all.outside += c.outside;
    all.max_abs = std::max(all.max_abs, c.max_abs);
    all.mean_abs = std::max(all.mean_abs, c.mean_abs);
    if (!c.ok && all.ok) {
      all.ok = false;
      all.reason = got.size() > 1 ? cat("element ", k, ": ", c.reason) : std::move(c.reason);
    }
  }
  return all;
}

}  // namespace quern::tools
