// SPDX-License-Identifier: Apache-2.0
#include "tools/options.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/expect.h"
#include "tools/closest.h"

namespace quern::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Options : public ::testing::Test {
 protected:
  Status parse(const std::string& verb, const std::vector<std::string>& words) {
    return parse_arguments(*std::ranges::find(verbs, verb, &Verb::name), words);
  }
  Arguments args;
  std::vector<Verb> verbs = make_verbs(args);
};

TEST_F(Options, RunTakesFilesShapesAndNumbers) {
  const Status status = parse(
      "run", {"m.onnx", "--input", "a=1.npy", "--input", "b=2.npy", "--shape", "c=1x2", "--top",
              "5", "--range", "-1..1", "--mean", "-0.5,0,1", "-t", "2", "--order=bgr"});
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(args.run.model, "m.onnx");
  EXPECT_THAT(args.run.inputs.inputs, ElementsAre("a=1.npy", "b=2.npy"));
  EXPECT_EQ(args.run.top, 5);
  EXPECT_EQ(args.run.inputs.preparation.range, "-1..1");
  EXPECT_EQ(args.run.inputs.preparation.mean, "-0.5,0,1");
  EXPECT_EQ(args.run.inputs.preparation.order, "bgr");
  EXPECT_EQ(args.run.device.threads, 2);
}

TEST_F(Options, ListsDoNotSwallowPositionals) {
  ASSERT_TRUE(parse("run", {"--input", "a=1.npy", "m.onnx"}).ok());
  EXPECT_EQ(args.run.model, "m.onnx");
  ASSERT_TRUE(parse("verify", {"a", "--threads", "1,2", "b"}).ok());
  EXPECT_THAT(args.verify.paths, ElementsAre("a", "b"));
  EXPECT_EQ(args.verify.threads, "1,2");
}

TEST_F(Options, RefusesWhatIsWrong) {
  EXPECT_CONTAINS(std::string(parse("run", {}).message()), "MODEL");
  EXPECT_CONTAINS(std::string(parse("run", {"m", "--tpo", "5"}).message()), "--tpo");
  EXPECT_FALSE(parse("run", {"m", "--top", "many"}).ok());
  EXPECT_FALSE(parse("run", {"m", "--top", "0"}).ok());
  EXPECT_FALSE(parse("run", {"m", "--order", "grb"}).ok());
  EXPECT_FALSE(parse("run", {"m", "--threads", "-1"}).ok());
  EXPECT_FALSE(parse("run", {"m", "n"}).ok());
  EXPECT_FALSE(parse("run", {"m", "--top", "1", "--top", "2"}).ok());
}

TEST_F(Options, AWrongOptionIsGuessed) {
  const auto refusal = [&](const std::string& verb, const std::string& word) {
    return std::string(parse(verb, {"m.onnx", word}).message());
  };
  EXPECT_EQ(refusal("optimize", "--levle"), "no option '--levle'; did you mean '--level'?");
  EXPECT_EQ(refusal("optimize", "--extrnal-above=5"),
            "no option '--extrnal-above'; did you mean '--external-above'?");
  EXPECT_EQ(refusal("kernel", "--serv"),
            "no option '--serv'; did you mean '--seed'?");  // not --serve
  EXPECT_EQ(refusal("run", "--frobnicate"), "no option '--frobnicate'");
  EXPECT_EQ(refusal("run", "--" + std::string(100, 'x')).find("did you mean"), std::string::npos);
  EXPECT_EQ(refusal("run", "n.onnx"), "'n.onnx' is one word too many");
}

TEST(Closest, CountsLettersThatWereLeftOutPutInChangedOrSwapped) {
  const std::vector<std::string_view> names = {"fold_constants", "fold_shape", "merge_casts"};
  EXPECT_EQ(did_you_mean("fold_shape", names), "; did you mean 'fold_shape'?");
  for (const char* word : {"fold_shpe", "fold_shaape", "fold_shane", "fodl_shape", "foldshapes"})
    EXPECT_EQ(did_you_mean(word, names), "; did you mean 'fold_shape'?") << word;
  EXPECT_EQ(did_you_mean("merge_clips", names), "; did you mean 'merge_casts'?");
  EXPECT_EQ(did_you_mean("shape", names), "");
  EXPECT_EQ(did_you_mean("", names), "");
  EXPECT_EQ(did_you_mean("fold", {}), "");
}

TEST_F(Options, HelpAndManualHoldEveryOption) {
  const std::string manual = man_page(verbs, "1.0");
  for (const Verb& verb : verbs) {
    const std::string help = help_text(verb);
    EXPECT_FALSE(verb.examples.empty()) << verb.name;
    EXPECT_CONTAINS(help, "Exit codes:");
    EXPECT_CONTAINS(overview_text(verbs), verb.name);
    for (const OptionRow& row : verb.options) {
      const std::string name = row.names.substr(row.names.find(',') + 1);
      EXPECT_EQ(help.find(name) != std::string::npos, !row.hidden) << verb.name << " " << name;
    }
  }
  EXPECT_CONTAINS(manual, "\\-\\-update\\-gaps");
  EXPECT_THAT(manual, ::testing::Not(HasSubstr("cold\\-sample")));
}

TEST_F(Options, CompletionHoldsEveryOption) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = completion(verbs, shell).value();
    for (const Verb& verb : verbs)
      for (const OptionRow& row : verb.options) {
        if (row.positional()) continue;
        const std::string name = row.names.substr(row.names.find(',') + 1);
        const std::string shown =
            shell == std::string("fish") ? "-l " + name.substr(2) + " " : name;
        EXPECT_EQ(script.find(shown) != std::string::npos, !row.hidden) << shell << " " << name;
      }
  }
  EXPECT_EQ(completion(verbs, "tcsh").error().code(), Code::invalid_argument);
}

TEST_F(Options, HelpLinesAreNotTooLong) {
  for (const Verb& verb : verbs) {
    const std::string help = help_text(verb);
    const std::string prose = help.substr(0, help.find("Examples:"));
    for (std::size_t at = 0; at < prose.size();) {
      const std::size_t end = std::min(prose.find('\n', at), prose.size());
      EXPECT_LE(end - at, 100U) << prose.substr(at, end - at);
      at = end + 1;
    }
  }
}

}  // namespace
}  // namespace quern::tools
