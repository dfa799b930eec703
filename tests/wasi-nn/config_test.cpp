// SPDX-License-Identifier: Apache-2.0
// Tenants from files of JSON: each key, and what is said of files that are wrong.
#include "frontends/wasi-nn/config.h"

#include <filesystem>
#include <fstream>
#include <random>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/expect.h"
#include "tests/wasi-nn/models.h"

namespace quern::wasi_nn_test {
namespace {

using namespace quern::wasi_nn;  // NOLINT

Config must_read(std::string_view text) {
  Config config;
  const Error error = read_config(text, "here", &config);
  EXPECT_TRUE(error.ok()) << error.text;
  return config;
}

// The sentence, without the file's name before it.
std::string refusal(std::string_view text) {
  Config config;
  config.options.threads = 77;
  const Error error = read_config(text, "here", &config);
  EXPECT_EQ(error.code, Errno::invalid_argument) << text;
  EXPECT_TRUE(error.text.starts_with("here: ")) << error.text;
  EXPECT_EQ(config.options.threads, 77) << "changed by " << text;
  return error.text.substr(std::min<std::size_t>(error.text.size(), 6));
}

TEST(Config, HasAllLimitsAndOptions) {
  const Config c = must_read(R"( {
    "graphs": 1, "contexts": 2, "model_bytes": 3, "tensor_bytes": 18446744073709551615,
    "resident_bytes": 5, "parallel_computes": 0, "deadline_ms": 50, "targets": ["gpu"],
    "names_only": true, "threads": 3, "any_encoding": true, "gpu_or_nothing": true, "guest_pictures": true, "share_graphs": true, "thread_pool": true, "weight": 9, "math": "bf16",
    "everywhere": "gpu", "gpu": "vulkan:two words", "models": {"a": "a.onnx", "\u00e4\n": "/b"}
  } )");
  EXPECT_EQ(c.options.limits.most, (Counts{1, 2, 3, no_limit, 5, 0}));
  EXPECT_EQ(c.options.limits.deadline, std::chrono::milliseconds(50));
  EXPECT_EQ(c.options.limits.targets, 0b10);
  EXPECT_TRUE(c.options.limits.names_only);
  EXPECT_EQ(c.options.threads, 3);
  EXPECT_TRUE(c.options.any_encoding && c.options.gpu_or_nothing && c.options.share_graphs &&
              c.options.guest_pictures);
  EXPECT_TRUE(c.shares_threads);
  EXPECT_EQ(c.weight, 9);
  EXPECT_EQ(c.options.math, Math::bf16);
  EXPECT_EQ(c.options.everywhere, Target::gpu);
  EXPECT_EQ(c.options.gpu, "vulkan:two words");
  EXPECT_EQ(c.models, (std::map<std::string, std::string>{{"a", "a.onnx"}, {"\xc3\xa4\n", "/b"}}));
}

TEST(Config, LeavesWhatItDoesNotName) {
  const Config none = must_read("{}");
  EXPECT_EQ(none.options.limits.most, usual_limits().most);
  EXPECT_EQ(none.options.limits.targets, usual_limits().targets);
  EXPECT_FALSE(none.options.limits.names_only || none.options.any_encoding ||
               none.options.guest_pictures);
  const Config lifted = must_read(
      R"({"graphs":null,"contexts":null,"deadline_ms":null,"threads":null,"everywhere":null,)"
      R"("targets":[]})");
  EXPECT_EQ(lifted.options.limits.most.graphs, no_limit);
  EXPECT_EQ(lifted.options.limits.most.contexts, no_limit);
  EXPECT_EQ(lifted.options.limits.targets, 0);
}

TEST(Config, NamesKeyFoundAndWanted) {
  EXPECT_EQ(refusal(R"({"graphs": "many"})"),
            "the value of 'graphs' is '\"many\"', wanted: a whole number from 0 to 2^64 - 1, or "
            "null for no limit");
  EXPECT_EQ(refusal(R"({"threads": ")" + std::string(100, 'x') + R"("})"),
            "the value of 'threads' is '\"" + std::string(59, 'x') +
                "...', wanted: a whole number from 1 to 1024, or null for all CPUs");
  EXPECT_TRUE(refusal(R"({"cats": 1})").starts_with("there is no key 'cats'; there are graphs, "));
  for (const char* bad : {R"("graphs": -1)",
                          R"("graphs": 1.5)",
                          R"("graphs": 1e3)",
                          R"("graphs": 18446744073709551616)",
                          R"("graphs": true)",
                          R"("graphs": [])",
                          R"("graphs": {})",
                          R"("deadline_ms": 0)",
                          R"("deadline_ms": "soon")",
                          R"("deadline_ms": true)",
                          R"("deadline_ms": 4294967296)",
                          R"("threads": 0)",
                          R"("threads": 1025)",
                          R"("threads": "two")",
                          R"("threads": true)",
                          R"("names_only": 1)",
                          R"("names_only": null)",
                          R"("targets": ["tpu"])",
                          R"("targets": "cpu")",
                          R"("targets": [1])",
                          R"("targets": [["cpu"]])",
                          R"("everywhere": "tpu")",
                          R"("gpu": "")",
                          R"("models": ["a"])",
                          R"("models": {"": "a"})",
                          R"("models": {"a": ""})",
                          R"("models": {"a": 1})",
                          R"("models": {"a": {}})",
                          R"("models": {"a": "b\u0000c"})"}) {
    const std::string text = refusal(std::string("{") + bad + "}");
    EXPECT_CONTAINS(text, "', wanted: ");
    EXPECT_TRUE(text.starts_with("the value of '")) << text;
  }
}

TEST(Config, IsStrictJson) {
  for (const char* bad : {"",
                          " ",
                          "{",
                          "{\"graphs\"",
                          "{\"graphs\":",
                          "{\"graphs\":}",
                          "{\"graphs\":1",
                          "{\"graphs\":1,}",
                          "{graphs:1}",
                          "{'graphs':1}",
                          "{\"graphs\" 1}",
                          "{\"graphs\":01}",
                          "{\"graphs\":+1}",
                          "{\"graphs\":.5}",
                          "{\"graphs\":1.}",
                          "{\"graphs\":1e}",
                          "{\"graphs\":nul}",
                          "{\"graphs\":NaN}",
                          "{} {}",
                          "{}x",
                          "// c\n{}",
                          "{\"gpu\":\"x}",
                          "{\"gpu\":\"\n\"}",
                          "{\"gpu\":\"\\x\"}",
                          "{\"gpu\":\"\\u12\"}",
                          "{\"gpu\":\"\\u-123\"}",
                          "{\"gpu\":\"\\ud800\"}",
                          "{\"gpu\":\"\\ud800\\u0041\"}",
                          "{\"gpu\":\"\\udc00\"}",
                          "{\"targets\":[\"cpu\",]}"})
    EXPECT_CONTAINS(refusal(bad), "line ");
  EXPECT_EQ(refusal("[]"), "the file is of type array, wanted: object");
  EXPECT_EQ(refusal("7"), "the file is of type number, wanted: object");
  EXPECT_EQ(refusal("{\"graphs\":1,\n\n\"graphs\":2}"), "the key 'graphs' stands twice");
  EXPECT_EQ(refusal("{\"models\":{\"a\":\"b\",\"a\":\"c\"}}"), "the key 'a' stands twice");
  EXPECT_CONTAINS(refusal("{\n\"graphs\":\n!}"), "no JSON: 'line 3, column 1: ");
  EXPECT_EQ(must_read(R"({"gpu": "\"\\\/\b\f\n\r\t\u0041\ud83d\ude00"})").options.gpu,
            "\"\\/\b\f\n\r\tA\xf0\x9f\x98\x80");
  const std::string deep(100'000, '[');
  EXPECT_CONTAINS(refusal("{\"targets\":" + deep), "line 1");
  EXPECT_CONTAINS(refusal("{\"targets\":" + deep + std::string(100'000, ']') + "}"),
                  "more than three deep");
  EXPECT_CONTAINS(refusal("{\"gpu\":" + std::string("\"\0\"}", 4)), "line 1");
}

// Bytes changed, dropped and doubled anywhere: an answer, and a sentence where it is a refusal.
TEST(Config, AnswersMutants) {
  const std::string whole =
      R"({"graphs": 12, "targets": ["cpu", "gpu"], "gpu": "\u00e4\ud83d\ude00\n", "threads": null,)"
      R"( "names_only": true, "models": {"a": "b", "c": "d"}, "deadline_ms": 1e3})";
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string text = whole;
    for (unsigned n = 1 + random() % 3; n > 0; --n) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0: text[at] = static_cast<char>(random()); break;
        case 1: text.erase(at, 1 + random() % 4); break;
        default: text.insert(at, text.substr(at, 1 + random() % 9)); break;
      }
      if (text.empty()) text = "{";
    }
    Config config;
    const Error error = read_config(text, "here", &config);
    ASSERT_EQ(error.ok(), error.text.empty()) << text;
    ASSERT_LT(error.text.size(), 1000U);
  }
}

// ---- files -------------------------------------------------------------------------------------

class ConfigFile : public ::testing::Test {
 protected:
  ConfigFile()
      : folder_(std::filesystem::temp_directory_path() /
                ("quern-config-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_ / "models");
  }
  ~ConfigFile() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, std::string_view text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }
  static std::string refused(const std::string& path, Errno code) {
    Config config;
    const Error error = read_config_file(path, &config);
    EXPECT_EQ(error.code, code) << error.text;
    EXPECT_CONTAINS(error.text, path);
    return error.text;
  }

  const std::filesystem::path folder_;
};

TEST_F(ConfigFile, ModelsAreRelativeToIt) {
  write("models/id.onnx", identity_model());
  Config config;
  config.models["other"] = (folder_ / "models/id.onnx").string();
  const std::string path =
      write("tenant.json", R"({"names_only": true, "models": {"id": "models/id.onnx"}})");
  ASSERT_TRUE(read_config_file(path, &config).ok());
  std::shared_ptr<Tenant> tenant;
  const Error error = create_tenant(config, &tenant);
  ASSERT_TRUE(error.ok()) << error.text;
  EXPECT_ELEMENTS(tenant->names(), "id", "other");
  EXPECT_TRUE(tenant->account()->names_only());
}

TEST_F(ConfigFile, IsRefusedWithItsName) {
  refused((folder_ / "none.json").string(), Errno::not_found);
  refused(folder_.string(), Errno::not_found);
  refused(write("empty.json", ""), Errno::invalid_argument);
  refused(write("bad.json", "{\"graphs\": \"x\"}"), Errno::invalid_argument);
  const std::string large =
      refused(write("large.json", std::string((1 << 20) + 1, ' ')), Errno::invalid_argument);
  EXPECT_CONTAINS(large, "more than 1048576 bytes");
}

TEST_F(ConfigFile, AModelThatCannotBeAddedLeavesNoTenant) {
  std::shared_ptr<Tenant> tenant;
  Config config;
  config.models["net"] = (folder_ / "none.onnx").string();
  const Error error = create_tenant(config, &tenant);
  EXPECT_EQ(error.code, Errno::not_found);
  EXPECT_CONTAINS(error.text, "model 'net': ");
  EXPECT_EQ(tenant, nullptr);
}

}  // namespace
}  // namespace quern::wasi_nn_test
