// SPDX-License-Identifier: Apache-2.0
// Files of results over time.
#include "tools/kernel/history.h"

#include <chrono>

#include <gtest/gtest.h>

#include "tests/expect.h"

namespace quern::tools::lab {
namespace {

// Forty samples about a time, and a clock of the wall that says twice as much.
Record record_of(const std::string& kernel, double us, const std::string& date) {
  Record r{.problem = "matmul:m4n5k6",
           .kernel = kernel,
           .device = "cpu",
           .mode = "warm",
           .math = "f32",
           .date = date};
  for (int i = 0; i < 40; ++i) {
    r.processor_us.push_back(us * (1 + 1e-4 * i));
    r.wall_us.push_back(2 * r.processor_us.back());
  }
  return r;
}

SavedFile file_of(const std::string& path, const std::string& date, std::vector<Record> records) {
  return {path, date, std::move(records)};
}

constexpr const char* monday = "2026-11-23T10:00:00Z";
constexpr const char* tuesday = "2026-11-24T10:00:00Z";
constexpr const char* friday = "2026-11-27T10:00:00Z";

History three_days(const ComparisonOptions& options = {}) {
  Record broken = record_of("rows", 9, friday);
  broken.kernel = "onednn";
  broken.refused = "wrong <answer>";
  std::vector<SavedFile> files;
  files.push_back(file_of("c.jsonl", friday, {record_of("rows", 30, friday), broken}));
  files.push_back(file_of("a.jsonl", monday, {record_of("rows", 21, monday)}));
  files.push_back(file_of("b.jsonl", tuesday,
                          {record_of("onednn", 8, tuesday), record_of("rows", 10, tuesday)}));
  files[0].records[0].machine["cpu"] = "another";
  return history_of(std::move(files), options).value();
}

TEST(KernelHistory, DatesAreInTheOrderOfTime) {
  using namespace std::chrono;
  EXPECT_EQ(date_text(system_clock::time_point()), "1970-01-01T00:00:00Z");
  EXPECT_EQ(date_text(sys_days{2026y / 2 / 3} + 4h + 5min + 6s + 999ms), "2026-02-03T04:05:06Z");
}

TEST(KernelHistory, HasALineForEachKernelInTheOrderOfDates) {
  const History h = three_days();
  ASSERT_EQ(h.files.size(), 3U);
  EXPECT_EQ(h.files[0].path, "a.jsonl");
  EXPECT_EQ(h.files[2].path, "c.jsonl");
  EXPECT_FALSE(h.files[1].is_other_machine);
  EXPECT_TRUE(h.files[2].is_other_machine);
  ASSERT_EQ(h.lines.size(), 2U);
  const HistoryLine& rows = h.lines[0];
  EXPECT_EQ(rows.record.kernel, "rows");
  ASSERT_EQ(rows.points.size(), 3U);
  EXPECT_NEAR(rows.points[0].time.median, 21, 0.1);
  EXPECT_NEAR(rows.points[1].time.median, 10, 0.1);
  EXPECT_NEAR(rows.points[2].time.median, 30, 0.1);
  EXPECT_EQ(rows.overall.verdict, ComparedKernel::Verdict::slower);
  EXPECT_NEAR(rows.overall.change(), 30.0 / 21 - 1, 1e-6);
  const HistoryLine& onednn = h.lines[1];
  ASSERT_EQ(onednn.points.size(), 2U);
  EXPECT_EQ(onednn.points[0].file, 1U);
  EXPECT_EQ(onednn.points[1].refused, "wrong <answer>");
  EXPECT_EQ(onednn.overall.verdict, ComparedKernel::Verdict::not_believed);
}

TEST(KernelHistory, GoesByTheClockThatAllHave) {
  EXPECT_NEAR(three_days({.by_wall = true}).lines[0].points[0].time.median, 42, 0.1);
  Record gpu = record_of("vulkan:0", 5, monday);
  gpu.processor_us.assign(gpu.processor_us.size(), 0);
  std::vector<SavedFile> files;
  files.push_back(file_of("a", monday, {gpu}));
  files.push_back(file_of("b", friday, {record_of("vulkan:0", 5, friday)}));
  const History h = history_of(std::move(files), {}).value();
  EXPECT_TRUE(h.lines[0].by_wall);
  EXPECT_NEAR(h.lines[0].points[1].time.median, 10, 0.1);
  EXPECT_EQ(h.lines[0].overall.verdict, ComparedKernel::Verdict::same);
}

TEST(KernelHistory, RefusesAKernelThatStandsTwice) {
  std::vector<SavedFile> files;
  files.push_back(
      file_of("a.jsonl", monday, {record_of("rows", 1, monday), record_of("rows", 2, monday)}));
  const auto h = history_of(std::move(files), {});
  ASSERT_FALSE(h);
  EXPECT_CONTAINS(std::string(h.error().message()), "a.jsonl");
  EXPECT_CONTAINS(std::string(h.error().message()), "stands twice");
}

TEST(KernelHistory, TheTableHasABarForEachFile) {
  const std::string text = history_text(three_days(), {}, {});
  EXPECT_CONTAINS(text, "▅▁█");
  EXPECT_CONTAINS(text, "21.0 us");
  EXPECT_CONTAINS(text, "+42.9 %");
  EXPECT_CONTAINS(text, "slower");
  EXPECT_CONTAINS(text, "x\n");  // not believed
  EXPECT_CONTAINS(text, "c.jsonl is of another machine or build");
  // Noise is no change: in a range of a tenth all bars are as high.
  std::vector<SavedFile> files;
  for (const double us : {10.0, 10.05, 9.96})
    files.push_back(file_of("f", monday, {record_of("rows", us, monday)}));
  EXPECT_CONTAINS(history_text(history_of(std::move(files), {}).value(), {}, {}), "▄▅▄");
}

TEST(KernelHistory, ThePageHasAPictureForEachLine) {
  const std::string page = history_page(three_days(), {});
  EXPECT_CONTAINS(page, "data-verdict=\"slower\"");
  EXPECT_CONTAINS(page, "data-verdict=\"not believed\"");
  EXPECT_CONTAINS(page, "wrong &lt;answer&gt;");
  // The greatest above, the least below: 21, 10 and 30 us over a width of 264.
  EXPECT_CONTAINS(page, "class=\"median\" d=\"M8.0 ");
  EXPECT_CONTAINS(page, "L140.0 ");
  EXPECT_CONTAINS(page, "L272.0 ");
}

}  // namespace
}  // namespace quern::tools::lab
