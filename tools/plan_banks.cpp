// SPDX-License-Identifier: Apache-2.0
#include "tools/plan_banks.h"

#include <algorithm>

#include "engine/vocabulary/text_util.h"
#include "tools/parse.h"
#include "tools/plan_pools.h"

namespace quern::tools {
namespace {

constexpr std::uint64_t most_number = std::uint64_t{1} << 60;

Status wrong_bank(const std::string& text, std::string_view what) {
  return {Code::invalid_argument, cat("--bank '", shown(text), "': ", what,
                                      ", wanted NAME=BYTES, NAME=BYTES:COST or "
                                      "NAME=BYTES:COST:REUSE, such as sram=64KiB:1")};
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  const std::optional<std::int64_t> n = parse_integer(text);
  if (!n || *n < 0 || static_cast<std::uint64_t>(*n) > most_number) return std::nullopt;
  return static_cast<std::uint64_t>(*n);
}

Result<Bank> bank_of(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return wrong_bank(text, "no name and '='");
  Bank bank{.name = text.substr(0, equals)};
  std::vector<std::string> parts;
  std::string_view rest = std::string_view(text).substr(equals + 1);
  for (;;) {
    const std::size_t colon = rest.find(':');
    parts.emplace_back(rest.substr(0, colon));
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  if (parts.size() > 3) return wrong_bank(text, cat(parts.size(), " parts after '='"));
  if (parts[0] != "any") {
    const std::optional<std::size_t> bytes = parse_bytes(parts[0]);
    if (!bytes || *bytes > most_number) return wrong_bank(text, cat("bytes '", parts[0], "'"));
    bank.capacity = *bytes;
  }
  for (std::size_t k = 1; k < parts.size(); ++k) {
    const std::optional<std::uint64_t> n = number_of(parts[k]);
    if (!n) return wrong_bank(text, cat(k == 1 ? "cost '" : "price of reuse '", parts[k], "'"));
    (k == 1 ? bank.cost : bank.reuse) = *n;
  }
  return bank;
}

std::string bytes_of(std::uint64_t n) {
  return bytes_text(static_cast<double>(n));
}

}  // namespace

Status set_banks(const std::vector<std::string>& texts, MemoryProblem& problem) {
  if (texts.empty()) return {};
  if (!problem.choices.empty())
    return {Code::invalid_argument,
            "--bank: the buffers of this file choose among banks of their own"};
  problem.banks.clear();
  for (const std::string& text : texts) {
    QUERN_ASSIGN(problem.banks.emplace_back(), bank_of(text));
  }
  return {};
}

std::string banks_table(const MemoryProblem& problem, const std::vector<BanksRow>& rows,
                        const Console& console) {
  std::vector<Table::Column> columns = {{"strategy"},
                                        {"cost", Table::Align::right},
                                        {"over the bound", Table::Align::right},
                                        {"all banks", Table::Align::right}};
  for (const Bank& b : problem.banks) columns.push_back({b.name, Table::Align::right});
  columns.push_back({"time", Table::Align::right});
  columns.push_back({"proof"});
  Table t(columns);
  std::uint64_t bound = 0;
  for (const BanksRow& r : rows) bound = std::max(bound, r.answer->cost_bound);
  for (const BanksRow& r : rows) {
    const PlanAnswer& a = *r.answer;
    std::vector<std::string> cells = {r.strategy};
    if (a.found == Found::plan) {
      const bool is_ratio = bound > 0;
      cells.push_back(std::to_string(a.cost));
      cells.push_back(is_ratio ? percent_text(ratio(a.cost, bound) - 1) : std::string("-"));
      cells.push_back(bytes_of(a.plan.size));
      for (const std::uint64_t size : a.plan.bank_sizes) cells.push_back(bytes_of(size));
    } else {
      cells.resize(cells.size() + 3 + problem.banks.size(), "-");
    }
    cells.push_back(time_text(r.plan_ms));
    cells.push_back(std::string(name_of(status_of(a))));
    t.add(std::move(cells));
  }
  std::string text = t.text(console);
  for (const Bank& b : problem.banks)
    text += cat(
        "bank ", shown(b.name), ": ",
        b.capacity == any_capacity ? std::string("any number of bytes") : cat(bytes_of(b.capacity)),
        ", cost ", b.cost, " a byte",
        b.reuse > 0 ? cat(", ", b.reuse, " a buffer that is reused") : std::string(), "\n");
  const bool is_impossible = std::ranges::any_of(
      rows, [](const BanksRow& r) { return r.answer->found == Found::no_plans; });
  if (is_impossible) return text + "no plan fits the banks\n";
  return cat(text, "no plan costs less than ", bound, "\n");
}

void add_banks(Json& json, const MemoryProblem& problem, const PlanAnswer& answer) {
  json["has_plan"] = answer.found == Found::plan;
  json["cost"] = answer.cost;
  json["cost_bound"] = answer.cost_bound;
  json["banks"] = Json::array();
  for (std::size_t b = 0; b < problem.banks.size(); ++b) {
    Json bank;
    bank["name"] = problem.banks[b].name;
    if (problem.banks[b].capacity != any_capacity) bank["capacity"] = problem.banks[b].capacity;
    bank["bytes"] = answer.found == Found::plan ? answer.plan.bank_sizes[b] : 0;
    json["banks"].push(std::move(bank));
  }
}

}  // namespace quern::tools
