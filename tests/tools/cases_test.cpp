// SPDX-License-Identifier: Apache-2.0
#include "tools/cases.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "engine/vocabulary/text_util.h"
#include "tools/children.h"
#include "tools/json.h"
#include "tools/verify_case.h"

namespace quern::tools {
namespace {

namespace fs = std::filesystem;

class Cases : public ::testing::Test {
 protected:
  Cases() : root_(fs::path(::testing::TempDir()) / ("quern_cases_" + std::to_string(getpid()))) {
    fs::create_directories(root_);
  }
  ~Cases() override { fs::remove_all(root_); }
  void add(const std::string& name, int sets) const {
    for (int i = 0; i < sets; ++i)
      fs::create_directories(root_ / name / ("test_data_set_" + std::to_string(i)));
    fs::create_directories(root_ / name);
    std::ofstream(root_ / name / "model.onnx") << "x";
  }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(root_ / name) << text;
    return (root_ / name).string();
  }
  fs::path root_;
};

TEST_F(Cases, AreFoundBelowAFolder) {
  add("node/test_b", 1);
  add("node/test_a", 12);
  add("other", 0);
  const auto cases = find_cases({root_.string()});
  ASSERT_TRUE(cases) << cases.error().message();
  ASSERT_EQ(cases->size(), 3U);
  EXPECT_EQ((*cases)[0].name, "node/test_a");
  ASSERT_EQ((*cases)[0].sets.size(), 12U);
  EXPECT_TRUE((*cases)[0].sets[11].ends_with("test_data_set_11")) << "by number, not by text";
  EXPECT_TRUE((*cases)[2].sets.empty());
}

TEST_F(Cases, MayBeNamedThemselves) {
  add("one", 1);
  for (const std::string& path :
       {root_.string() + "/one", root_.string() + "/one/", root_.string() + "/one/model.onnx"}) {
    const auto cases = find_cases({path});
    ASSERT_TRUE(cases) << path;
    EXPECT_EQ((*cases)[0].name, "one");
  }
  EXPECT_EQ(find_cases({root_.string() + "/none"}).error().code(), Code::not_found);
  fs::create_directories(root_ / "empty");
  EXPECT_EQ(find_cases({root_.string() + "/empty"}).error().code(), Code::not_found);
}

TEST_F(Cases, GapsMatchTheEndOfTheFolder) {
  const auto gaps =
      Gaps::read(write("gaps.txt", "# a comment\ntest_a\ttoo hard\nnode/test_b\tlater\n"));
  ASSERT_TRUE(gaps) << gaps.error().message();
  EXPECT_EQ(gaps->reason({"test_a", "/x/node/test_a", {}}), "too hard");
  EXPECT_EQ(gaps->reason({"test_b", "/x/node/test_b", {}}), "later");
  EXPECT_FALSE(gaps->reason({"test_b", "/x/other/test_b", {}}));
  EXPECT_FALSE(gaps->reason({"xtest_a", "/x/xtest_a", {}}));
  const Case closed{"test_a", "/x/node/test_a", {}};
  EXPECT_EQ(gaps->text_without({&closed}), "# a comment\nnode/test_b\tlater\n");
}

TEST_F(Cases, GapsWantAReason) {
  EXPECT_FALSE(Gaps::read(write("a.txt", "test_a\n")));
  EXPECT_FALSE(Gaps::read(write("b.txt", "test_a\t\n")));
}

TEST(CaseResult, SurvivesThePipe) {
  const CaseResult r{CaseResult::Outcome::failed, 1.5, "line\nbreak", {"concat"}, {"a", "b"}};
  const CaseResult back = CaseResult::parse(r.serialise());
  EXPECT_EQ(back.outcome, r.outcome);
  EXPECT_EQ(back.ms, 1.5);
  EXPECT_EQ(back.dresses, r.dresses);
  EXPECT_EQ(back.details.size(), 2U);
  EXPECT_EQ(CaseResult::parse("").outcome, CaseResult::Outcome::failed);
}

TEST(Children, SurviveCrashesAndHangs) {
  std::vector<ChildResult> results(4);
  run_in_children(
      4, {.jobs = 3, .timeout_s = 0.5},
      [](std::size_t i) -> std::string {
        if (i == 0) std::raise(SIGKILL);
        if (i == 1) std::this_thread::sleep_for(std::chrono::hours(1));
        if (i == 2) return std::string(100000, 'x');
        _exit(3);
      },
      [&](std::size_t i, const ChildResult& r) { results[i] = r; });
  EXPECT_EQ(results[0].how, ChildResult::How::crashed);
  EXPECT_NE(results[0].why.find("SIGKILL"), std::string::npos);
  EXPECT_EQ(results[1].how, ChildResult::How::timed_out);
  EXPECT_EQ(results[2].how, ChildResult::How::finished);
  EXPECT_EQ(results[2].answer.size(), 100000U);
  EXPECT_EQ(results[3].why, "exit code 3");
}

TEST(Children, DoManyWorksAndOnlyTheOneThatCrashedFails) {
  for (const std::size_t per_child : {std::size_t{1}, std::size_t{3}, std::size_t{100}}) {
    std::vector<ChildResult> results(20);
    std::vector<int> told(20);
    run_in_children(
        20,
        {.jobs = 3,
         .timeout_s = 2,
         .per_child = per_child,
         .ends_child = [](const std::string& answer) { return answer.starts_with("last"); }},
        [](std::size_t i) -> std::string {
          static int works = 0;  // of this process
          ++works;
          if (i == 4) std::raise(SIGKILL);
          if (i == 5) _exit(0);
          if (i == 9) std::this_thread::sleep_for(std::chrono::hours(1));
          if (i == 12) return cat("last ", works);
          return cat(getpid(), " ", works);
        },
        [&](std::size_t i, const ChildResult& r) {
          results[i] = r;
          ++told[i];
        });
    EXPECT_EQ(told, std::vector<int>(20, 1));
    for (std::size_t i = 0; i < 20; ++i) {
      const auto how = i == 9             ? ChildResult::How::timed_out
                       : i == 4 || i == 5 ? ChildResult::How::crashed
                                          : ChildResult::How::finished;
      EXPECT_EQ(results[i].how, how) << i << " of " << per_child;
    }
    const auto process = [&](std::size_t i) {
      return results[i].answer.substr(0, results[i].answer.find(' '));
    };
    EXPECT_EQ(process(0) == process(2), per_child > 1);
    EXPECT_EQ(process(16) == process(17), per_child > 1);
    EXPECT_TRUE(results[6].answer.ends_with(" 1")) << "the first of a new process";
    EXPECT_TRUE(results[13].answer.ends_with(" 1")) << "the answer before ended its process";
  }
}

}  // namespace
}  // namespace quern::tools
