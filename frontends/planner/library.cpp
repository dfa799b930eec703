// SPDX-License-Identifier: Apache-2.0
// Versions, names, errors and texts.
#include <algorithm>
#include <array>
#include <cstring>

#include "engine/vocabulary/text_util.h"
#include "frontends/planner/handles.h"

namespace quern::planner {
namespace {

thread_local std::array<char, 2048> last_error{};

static_assert(QUERN_PLANNER_INVALID_ARGUMENT == static_cast<int>(Code::invalid_argument));
static_assert(QUERN_PLANNER_NOT_FOUND == static_cast<int>(Code::not_found));
static_assert(QUERN_PLANNER_OUT_OF_MEMORY == static_cast<int>(Code::out_of_memory));
static_assert(QUERN_PLANNER_BUSY == static_cast<int>(Code::busy));
static_assert(QUERN_PLANNER_INTERNAL == static_cast<int>(Code::internal));
static_assert(QUERN_PLANNER_OPTIMAL == static_cast<int>(PlanStatus::optimal));
static_assert(QUERN_PLANNER_UNKNOWN == static_cast<int>(PlanStatus::unknown));

// The field of a row of a table, or null behind its end. Rows are literals, which end with a zero.
template <class Table, class Row>
const char* text_at(const Table& table, std::size_t index, std::string_view Row::*field) {
  return index < table.size() ? (table[index].*field).data() : nullptr;
}

}  // namespace

quern_planner_status report(const Status& status) noexcept {
  if (status.ok()) return QUERN_PLANNER_OK;
  const std::string_view message = status.message();
  const std::size_t n = std::min(message.size(), last_error.size() - 1);
  std::memcpy(last_error.data(), message.data(), n);
  last_error[n] = '\0';
  return static_cast<quern_planner_status>(status.code());
}

Status null_argument(const char* name) {
  return {Code::invalid_argument, cat(name, " is null")};
}

Result<std::string_view> text_of(const char* data, std::size_t bytes, std::string_view name) {
  if (!data && bytes > 0)
    return Status(Code::invalid_argument, cat(name, " is null, with ", bytes, " bytes"));
  return data ? std::string_view(data, bytes) : std::string_view();
}

quern_planner_text* new_text(std::string text) {
  return new quern_planner_text{std::move(text)};
}

}  // namespace quern::planner

using namespace quern;           // NOLINT
using namespace quern::planner;  // NOLINT

uint32_t quern_planner_api_version(void) {
  return QUERN_PLANNER_API_VERSION;
}
const char* quern_planner_version(void) {
  return QUERN_VERSION;
}

const char* quern_planner_status_name(quern_planner_status status) {
  if (status < 0 || status > static_cast<int>(Code::timed_out)) return "unknown";
  return code_name(static_cast<Code>(status)).data();
}

const char* quern_planner_last_error(void) {
  return last_error.data();
}

const char* quern_planner_text_data(const quern_planner_text* text) {
  return text ? text->text.c_str() : "";
}
size_t quern_planner_text_size(const quern_planner_text* text) {
  return text ? text->text.size() : 0;
}
void quern_planner_text_destroy(quern_planner_text* text) {
  delete text;
}

const char* quern_planner_strategy_name(size_t index) {
  return text_at(strategies(), index, &Strategy::name);
}
const char* quern_planner_strategy_summary(size_t index) {
  return text_at(strategies(), index, &Strategy::summary);
}
const char* quern_planner_pool_name(size_t index) {
  return text_at(pools(), index, &MemoryPoolKind::name);
}
const char* quern_planner_pool_summary(size_t index) {
  return text_at(pools(), index, &MemoryPoolKind::summary);
}

const char* quern_planner_proof_name(quern_planner_proof proof) {
  if (proof < QUERN_PLANNER_OPTIMAL || proof > QUERN_PLANNER_UNKNOWN) return "unknown";
  return name_of(static_cast<PlanStatus>(proof)).data();
}
