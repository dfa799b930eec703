// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/problem/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/expect.h"
#include "tests/graph/memory/bank_problems.h"

namespace quern {
namespace {

std::string error_of(std::string_view text) {
  auto p = read_memory_csv(text);
  return p ? "no error" : std::string(p.error().message());
}

TEST(Csv, ReadsColumnsInAnyOrder) {
  auto p = read_memory_csv("size,id,upper,lower,hint\n8,a,3,1,-1\n16,b,4,2,5\n\nnot read");
  ASSERT_TRUE(p) << p.error().message();
  ASSERT_EQ(p->intervals.size(), 2U);
  EXPECT_EQ(p->intervals[0],
            (Interval{.name = "a", .size = 8, .alignment = 1, .first = 1, .end = 3}));
}

TEST(Csv, ReadsTheInclusiveDialect) {
  auto p = read_memory_csv("buffer_id,start,end,size,gaps\r\n7,0,4,64,1-2 3-3@0:8\r\n");
  ASSERT_TRUE(p) << p.error().message();
  const Interval& i = p->intervals.at(0);
  EXPECT_EQ(i.end, 5);
  ASSERT_EQ(i.gaps.size(), 2U);
  EXPECT_EQ(i.gaps[0], (Gap{1, 3, 0, 0}));
  EXPECT_EQ(i.gaps[1], (Gap{3, 4, 0, 8}));
  EXPECT_TRUE(read_memory_csv("buffer,begin,upper,size\nx,0,1,1\n"));
}

TEST(Csv, NamesTheLineOfAFault) {
  const std::string head = "id,lower,upper,size,alignment,gaps,offset\n";
  EXPECT_CONTAINS(error_of(""), "line 1");
  EXPECT_CONTAINS(error_of("id,lower,upper\n"), "line 1: no column for size");
  EXPECT_CONTAINS(error_of("id,lower,upper,end,size\n"), "two columns for upper");
  EXPECT_CONTAINS(error_of("id,lower,upper,size,colour\n"), "unknown column \"colour\"");
  EXPECT_CONTAINS(error_of(std::string(100000, ',')), "64 columns");
  EXPECT_CONTAINS(error_of(head + "a,0,1,1,1,,\nb,0,1\n"), "line 3: 3 cells");
  EXPECT_CONTAINS(error_of(head + "a,0,1,-1,1,,\n"), "line 2: size is \"-1\"");
  EXPECT_CONTAINS(error_of(head + "a,0,1,9223372036854775808,1,,\n"), "line 2: size");
  EXPECT_CONTAINS(error_of(head + "a,0,99999999999999999999,1,1,,\n"), "line 2: upper");
  EXPECT_CONTAINS(error_of(head + "a,0,1,0x10,1,,\n"), "line 2: size");
  EXPECT_CONTAINS(error_of(head + "a,,1,1,1,,\n"), "line 2: lower");
  EXPECT_CONTAINS(error_of(head + "a,2,1,1,1,,\n"), "line 2: buffer 'a': ends at 1");
  EXPECT_CONTAINS(error_of(head + "a,0,1,1,0,,\n"), "line 2: alignment is \"0\"");
  EXPECT_CONTAINS(error_of(head + "a,0,1,1,1,,\na,0,1,1,1,,\n"), "also on line 2");
  EXPECT_CONTAINS(error_of(head + "a,0,4,1,1,2,\n"), "line 2: gap \"2\"");
  EXPECT_CONTAINS(error_of(head + "a,0,4,1,1,1-2@,\n"), "line 2: gap");
  EXPECT_CONTAINS(error_of(head + "a,0,4,1,1,1-9,\n"), "line 2: buffer 'a': gap 1 to 9");
  EXPECT_CONTAINS(error_of(head + "a,0,4,1,8,,4\n"), "line 2: buffer 'a': its fixed offset 4");
  EXPECT_CONTAINS(error_of(head + "a,0,4,8,1,,0\nb,0,4,8,1,,4\n"), "'a' and 'b'");
  const std::string big = std::to_string((std::int64_t{1} << 60) - 10);
  EXPECT_CONTAINS(error_of(head + "a,0,4," + big + ",1,,\nb,8,9," + big + ",1,,\n"),
                  "'b': the sizes");
}

TEST(Csv, ReadsWhatItWrites) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    MemoryProblem p = random_problem(
        seed % 12, seed,
        {.alignments = true, .gaps = true, .parts = true, .zeros = true, .fixed = true});
    for (std::size_t i = 0; i < p.intervals.size(); ++i)
      p.intervals[i].name = "b" + std::to_string(i);
    if (!check(p).ok()) continue;
    const std::string text = write_memory_csv(p, nullptr);
    auto again = read_memory_csv(text);
    ASSERT_TRUE(again) << again.error().message() << "\n" << text;
    // Gaps in which all is live, or what the writer leaves out, would differ here.
    EXPECT_EQ(*again, p) << text;
  }
}

TEST(Csv, KeepsNamesApart) {
  MemoryProblem p{{interval(0, 1, 1), interval(0, 1, 1), interval(0, 1, 1)}};
  p.intervals[0].name = p.intervals[1].name = "a,b\n";
  p.intervals[2].name = "";
  const MemoryPlan plan{{0, 1, 2}, 3};
  auto again = read_memory_csv(write_memory_csv(p, &plan));
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->intervals.at(2).fixed_offset, 2U);
}

// A million rows are read, and so is a fault in the last of them.
TEST(Csv, TakesAMillionRows) {
  std::string text = "id,lower,upper,size\n";
  for (int i = 0; i < 1000000; ++i) {
    const std::string n = std::to_string(i);
    text += n + "," + n + "," + std::to_string(i + 3) + ",64\n";
  }
  auto p = read_memory_csv(text);
  ASSERT_TRUE(p) << p.error().message();
  EXPECT_EQ(p->intervals.size(), 1000000U);
  EXPECT_EQ(lower_bound(*p), 192U);
  p = read_memory_csv(text + "999999,1,2,64\n");
  ASSERT_FALSE(p);
  EXPECT_CONTAINS(p.error().message(), "line 1000002");
}

// Bytes of a good file changed, dropped and doubled: an answer or an error with a line, no crash.
TEST(Csv, SurvivesMutations) {
  const std::string good = write_memory_csv(
      random_problem(10, 3, {.alignments = true, .gaps = true, .parts = true, .fixed = true}),
      nullptr);
  std::size_t errors = 0;
  for (unsigned seed = 0; seed < 20000; ++seed) {
    Random random(seed);
    std::string text = good;
    for (std::uint64_t k = 0; k <= random.below(4); ++k) {
      const std::size_t at = random.below(text.size());
      switch (random.below(4)) {
        case 0: text[at] = static_cast<char>(random.below(256)); break;
        case 1: text.erase(at, 1 + random.below(8)); break;
        case 2: text.insert(at, text.substr(random.below(text.size()), random.below(30))); break;
        default: text[at] = "0123456789-,@: \n"[random.below(16)];
      }
      if (text.empty()) break;
    }
    auto p = read_memory_csv(text);
    if (p) {
      EXPECT_TRUE(check(*p).ok());
    } else {
      ++errors;
      EXPECT_CONTAINS(p.error().message(), "csv");
    }
  }
  EXPECT_GT(errors, 5000U);
}

constexpr std::string_view two_banks = "bank,capacity,cost\nsram,64,1\npsram,,4\n\n";

TEST(Csv, ReadsBanks) {
  auto p = read_memory_csv(std::string(two_banks) +
                           "id,lower,upper,size,banks,separation,colocation,bank\n"
                           "a,0,2,8,psram sram,1,,\nb,0,2,8,,1,7,sram\nc,1,3,8,,,7,\n");
  ASSERT_TRUE(p) << p.error().message();
  EXPECT_EQ(p->banks, (std::vector<Bank>{{.name = "sram", .capacity = 64, .cost = 1},
                                         {.name = "psram", .cost = 4}}));
  EXPECT_EQ(p->choices, (std::vector<BankChoice>{{{0, 1}, 1, 0}, {{0}, 1, 7}, {{}, 0, 7}}));
  p = read_memory_csv("\xef\xbb\xbf" + std::string(two_banks) + "id,lower,upper,size\na,0,2,8\n");
  ASSERT_TRUE(p) << p.error().message();
  EXPECT_EQ(p->banks.size(), 2U);
  EXPECT_TRUE(p->choices.empty());
}

TEST(Csv, NamesTheLineOfAFaultOfBanks) {
  const std::string head = "id,lower,upper,size,banks,bank,separation\n";
  const std::string all = std::string(two_banks) + head;
  EXPECT_CONTAINS(error_of("bank,capacity,colour\n"), "line 1: unknown column \"colour\"");
  EXPECT_CONTAINS(error_of("bank,capacity,bank\n"), "line 1: two columns for bank");
  EXPECT_CONTAINS(error_of("capacity\n"), "line 1: no column \"bank\"");
  EXPECT_CONTAINS(error_of("bank,capacity\n\n" + head), "a table of banks without a bank");
  EXPECT_CONTAINS(error_of("bank,capacity\na,1\n,1\n"), "line 3: bank 1 has no name");
  EXPECT_CONTAINS(error_of("bank,capacity\na,1\na,1\n"), "line 3: bank 'a': two banks");
  EXPECT_CONTAINS(error_of("bank,capacity\na b,1\n"), "line 2: bank 'a b': its name");
  EXPECT_CONTAINS(error_of("bank,capacity\na,-1\n"), "line 2: capacity is \"-1\"");
  EXPECT_CONTAINS(error_of("bank,capacity\na,1x\n"), "line 2: capacity is \"1x\"");
  EXPECT_CONTAINS(error_of("bank,capacity,alignment\na,1,0\n"), "line 2: alignment is \"0\"");
  EXPECT_CONTAINS(error_of("bank,capacity\na\n"), "line 2: 1 cells");
  EXPECT_CONTAINS(error_of("bank,capacity" + std::string(90, ',')), "64 columns");
  EXPECT_CONTAINS(error_of("bank,capacity\na,1\n"), "csv line");
  EXPECT_CONTAINS(error_of(all + "a,0,1,1,dram,,\n"), "line 6: no bank \"dram\"");
  EXPECT_CONTAINS(error_of(all + "a,0,1,1,sram sram,,\n"), "line 6: bank \"sram\" is named twice");
  EXPECT_CONTAINS(error_of(all + "a,0,1,1,sram,psram,\n"), "line 6: bank \"psram\" is none of");
  EXPECT_CONTAINS(error_of(all + "a,0,1,1,,sram psram,\n"), "line 6: bank has several names");
  EXPECT_CONTAINS(error_of(all + "a,0,1,1,,,-1\n"), "line 6: separation is \"-1\"");
  EXPECT_CONTAINS(error_of(all + "a,0,1,1,,,4294967296\n"), "line 6: separation is 4294967296");
  EXPECT_CONTAINS(error_of(head + "a,0,1,1,sram,,\n"),
                  "line 2: no bank \"sram\", there is no table");
  EXPECT_CONTAINS(error_of(head + "a,0,1,1,,,2\n"), "line 2: separation is 2 and there is no");
  const std::string dear = "bank,capacity,cost\na,,1152921504606846976\n\n";
  EXPECT_CONTAINS(error_of(dear + "id,lower,upper,size\nx,0,1,9\n"), "bank 'a': with cost");
  std::string many = "bank,capacity\n";
  for (int b = 0; b < 65; ++b) many += "b" + std::to_string(b) + ",1\n";
  EXPECT_CONTAINS(error_of(many), "line 66: 65 banks, wanted at most 64");
}

TEST(Csv, ReadsTheBanksThatItWrites) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    MemoryProblem p = random_bank_problem(1 + seed % 9, seed,
                                          {.banks = 1 + seed % 3,
                                           .capacity = 90,
                                           .alignments = true,
                                           .choices = seed % 3 != 0,
                                           .reuse = true});
    for (std::size_t i = 0; i < p.intervals.size(); ++i)
      p.intervals[i].name = "b" + std::to_string(i);
    auto again = read_memory_csv(write_memory_csv(p, nullptr));
    ASSERT_TRUE(again) << again.error().message();
    const bool is_free =
        std::ranges::all_of(p.choices, [](const BankChoice& c) { return c == BankChoice{}; });
    if (is_free) p.choices.clear();
    EXPECT_EQ(*again, p);
    // A plan is read as a problem with one plan: this one.
    const PlanAnswer answer = default_strategy().plan(p, {.seconds = 60, .steps = 5000});
    if (answer.found != Found::plan) continue;
    auto fixed = read_memory_csv(write_memory_csv(p, &answer.plan));
    ASSERT_TRUE(fixed) << fixed.error().message();
    EXPECT_EQ(find_strategy("greedy-by-size")->plan(*fixed, {}).plan, answer.plan);
  }
}

}  // namespace
}  // namespace quern
