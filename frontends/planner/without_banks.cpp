// SPDX-License-Identifier: Apache-2.0
// Stands in libquern_plan.so, which is to be small, where graph/memory/banks, banks_csv.cpp and
// with_banks.cpp stand elsewhere: banks are refused, so that no planner is asked for a problem that
// has some.
#include <algorithm>

#include "engine/vocabulary/text_util.h"
#include "frontends/planner/handles.h"
#include "graph/memory/banks/over_banks.h"
#include "graph/memory/problem/banks_csv.h"
#include "graph/memory/problem/csv_rows.h"

namespace quern {
namespace {

Status refused(std::string_view what) {
  return {Code::unsupported, cat(what,
                                 ", wanted one memory in this library; libquern_plan_banks.so, "
                                 "libquern_plan.a and `quern plan` take banks")};
}

}  // namespace

namespace planner {

Status read_banks(const quern_planner_buffers& buffers, MemoryProblem&) {
  const bool has_some =
      buffers.bank_count > 0 || buffers.allowed_banks || buffers.separations || buffers.colocations;
  return has_some ? refused("banks") : Status();
}
Result<PlanAnswer> answer_over_banks(const MemoryProblem&, std::span<const std::uint64_t>,
                                     std::span<const std::uint32_t>) {
  return refused("banks");
}

}  // namespace planner

Result<std::vector<Bank>> take_bank_table(std::string_view& rest, std::size_t&) {
  const auto names = split_cells(rest.substr(0, rest.find('\n')));
  if (std::ranges::find(names, "capacity") == names.end()) return std::vector<Bank>();
  return refused("csv line 1: a table of banks");
}
Result<std::vector<std::uint32_t>> banks_in_cell(std::string_view, std::span<const Bank>) {
  return std::vector<std::uint32_t>();
}
std::string bank_table(std::span<const Bank>) {
  return "";
}
std::string bank_names(std::span<const std::uint32_t>, std::span<const Bank>) {
  return "";
}

PlanAnswer list_over_banks(const MemoryProblem&, OrderFn, Fit) {
  return {.found = Found::nothing};
}
PlanAnswer packed_over_banks(const MemoryProblem&, const PlanLimits&, PackFn) {
  return {.found = Found::nothing};
}
PlanAnswer unshared_over_banks(const MemoryProblem&, const PlanLimits&) {
  return {.found = Found::nothing};
}
PlanAnswer exact_over_banks(const MemoryProblem&, const PlanLimits&) {
  return {.found = Found::nothing};
}
PlanAnswer auto_over_banks(const MemoryProblem&, const PlanLimits&) {
  return {.found = Found::nothing};
}

}  // namespace quern
