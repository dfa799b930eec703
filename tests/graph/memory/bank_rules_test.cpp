// SPDX-License-Identifier: Apache-2.0
// What is asked of banks, of plans over them, and what these cost.
#include "graph/memory/problem/bank_rules.h"

#include <gtest/gtest.h>

#include "tests/expect.h"
#include "tests/graph/memory/problems.h"

namespace quern {
namespace {

// Two buffers that live at one time, a third after them.
MemoryProblem small_problem() {
  MemoryProblem p{{interval(0, 2, 8), interval(0, 2, 4), interval(2, 4, 8)}};
  for (std::size_t i = 0; i < p.intervals.size(); ++i)
    p.intervals[i].name = std::string(1, "abc"[i]);
  p.banks = {{.name = "sram", .capacity = 12, .alignment = 4, .cost = 1, .reuse = 5},
             {.name = "psram", .cost = 3}};
  p.choices.resize(3);
  return p;
}

MemoryPlan small_plan() {
  return {{0, 8, 0}, 12, {0, 0, 0}, {12, 0}};
}

std::string fault(const MemoryProblem& p, const MemoryPlan& plan) {
  return std::string(validate(p, plan).message());
}

TEST(BankRules, APlanKeepsAllOfThem) {
  MemoryProblem p = small_problem();
  EXPECT_TRUE(check(p).ok());
  EXPECT_TRUE(validate(p, small_plan()).ok());
  EXPECT_CONTAINS(fault(p, {{0, 8, 0}, 12}), "wrong number of banks");
  EXPECT_CONTAINS(fault(p, {{0, 8, 0}, 12, {0, 0, 2}, {12, 0}}), "'c' lies in bank 2");
  EXPECT_CONTAINS(fault(p, {{0, 8, 0}, 13, {0, 0, 0}, {12, 0}}), "its size is 13, its banks' 12");
  EXPECT_CONTAINS(fault(p, {{0, 12, 0}, 16, {0, 0, 0}, {16, 0}}), "'sram' takes 16 bytes of 12");
  EXPECT_CONTAINS(fault(p, {{0, 4, 0}, 12, {0, 0, 0}, {12, 0}}),
                  "bank 'sram': memory plan: buffers");
  EXPECT_CONTAINS(fault(p, {{0, 6, 0}, 12, {0, 0, 0}, {12, 0}}), "'b' at 6 is misaligned");
  EXPECT_TRUE(validate(p, {{0, 1, 0}, 13, {0, 1, 0}, {8, 5}}).ok());
  p.choices[0].banks = {1};
  EXPECT_CONTAINS(fault(p, small_plan()), "'a' lies in bank 0, which it may not");
  p = small_problem();
  p.choices[0].separation = p.choices[2].separation = 9;
  EXPECT_CONTAINS(fault(p, small_plan()), "'a' and 'c' are separated and lie in one bank");
  p = small_problem();
  p.choices[0].colocation = p.choices[1].colocation = 9;
  EXPECT_TRUE(validate(p, small_plan()).ok());
  EXPECT_CONTAINS(fault(p, {{0, 0, 0}, 12, {0, 1, 0}, {8, 4}}), "'a' and 'b' belong together");
}

TEST(BankRules, AProblemKeepsAllOfThem) {
  const auto fault_of = [](const auto& change) {
    MemoryProblem p = small_problem();
    change(p);
    return std::string(check(p).message());
  };
  EXPECT_CONTAINS(fault_of([](auto& p) { p.banks.clear(); }), "choices of banks and no banks");
  EXPECT_CONTAINS(fault_of([](auto& p) { p.choices.pop_back(); }), "2 choices of banks for 3");
  EXPECT_CONTAINS(fault_of([](auto& p) { p.banks[1].name = "sram"; }), "two banks have this name");
  EXPECT_CONTAINS(fault_of([](auto& p) { p.banks[1].name = ""; }), "bank 1 has no name");
  EXPECT_CONTAINS(fault_of([](auto& p) { p.banks[1].alignment = 0; }), "alignment 0");
  EXPECT_CONTAINS(fault_of([](auto& p) { p.banks[1].cost = any_capacity; }), "more than 2^62");
  EXPECT_CONTAINS(fault_of([](auto& p) { p.banks[1].reuse = any_capacity; }), "more than 2^62");
  EXPECT_CONTAINS(fault_of([](auto& p) { p.choices[1].banks = {2}; }), "'b': bank 2, there are 2");
  EXPECT_CONTAINS(fault_of([](auto& p) {
                    p.choices[1].banks = {1, 0};
                  }),
                  "each once and ascending");
  EXPECT_CONTAINS(fault_of([](auto& p) {
                    p.banks[0].alignment = std::uint64_t{1} << 60;
                    p.intervals[0].alignment = 3;
                  }),
                  "more than 2^60 bytes");
  EXPECT_CONTAINS(fault_of([](auto& p) {
                    p.choices[0].banks = p.choices[1].banks = {1};
                    p.intervals[0].fixed_offset = p.intervals[1].fixed_offset = 4;
                  }),
                  "fixed offsets: ");
  // In banks that differ they may do so.
  EXPECT_EQ(fault_of([](auto& p) {
              p.choices[0].banks = {0};
              p.intervals[0].fixed_offset = p.intervals[1].fixed_offset = 4;
            }),
            "");
  EXPECT_CONTAINS(fault_of([](auto& p) { p.banks.resize(65, {.name = "x"}); }), "65 banks");
}

TEST(BankRules, ABufferPaysOnceForBytesThatOthersHeld) {
  MemoryProblem p = small_problem();
  p.banks[0].capacity = any_capacity;
  EXPECT_EQ(cost_of(p, small_plan()), 20U + 5U);  // c has the bytes of a
  p.intervals[2].size = 12;                       // and those of b
  EXPECT_EQ(cost_of(p, small_plan()), 24U + 5U);
  EXPECT_EQ(reused_buffers(p, small_plan()), (std::vector<char>{0, 0, 1}));
  EXPECT_EQ(cost_of(p, {{0, 8, 12}, 24, {0, 0, 0}, {24, 0}}), 24U);
  EXPECT_EQ(cost_of(p, {{0, 8, 0}, 24, {0, 0, 1}, {12, 12}}), 12U + 36U);
  // In a bank without a price it pays nothing.
  EXPECT_EQ(cost_of(p, {{0, 8, 0}, 12, {1, 1, 1}, {0, 12}}), 72U);
  // A buffer that lends its bytes takes them up again, and pays; its own bytes are no others'.
  MemoryProblem lends{{interval(0, 6, 8), interval(2, 4, 4)}};
  lends.intervals[0].gaps = {{2, 4, 0, 0}};
  lends.banks = {{.name = "one", .reuse = 7}};
  EXPECT_EQ(cost_of(lends, {{0, 4}, 8, {0, 0}, {8}}), 14U);
  EXPECT_EQ(cost_of(lends, {{0, 8}, 12, {0, 0}, {12}}), 0U);
  // The lower half is held all the time.
  lends.intervals[0].gaps = {{2, 4, 0, 4}};
  EXPECT_EQ(cost_of(lends, {{0, 4}, 8, {0, 0}, {8}}), 14U);
}

TEST(BankRules, WhatDoesNotFitPaysTheDifference) {
  MemoryProblem p = small_problem();
  EXPECT_EQ(cost_bound(p), 20U);
  p.banks[0].capacity = 10;
  EXPECT_EQ(cost_bound(p), 20U + 2 * 2U);  // two bytes of a and b
  p.banks[0].capacity = 6;                 // a and c fit by themselves nowhere else
  EXPECT_EQ(cost_bound(p), 3 * 16U + 4U);
  p.banks[1].capacity = 7;
  EXPECT_EQ(cost_bound(p), std::nullopt);
  p.banks[1].capacity = 8;
  EXPECT_EQ(cost_bound(p), 52U);
  p.choices[1].banks = {1};
  // Both a and b would lie in the second: a search sees that, this bound does not.
  EXPECT_EQ(cost_bound(p), 60U);
  EXPECT_EQ(find_strategy("exact")->plan(p, {}).found, Found::no_plans);
}

}  // namespace
}  // namespace quern
