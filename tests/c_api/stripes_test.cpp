// SPDX-License-Identifier: Apache-2.0
// Plans in stripes of rows that stay in the cache, through the C API.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <quern/c/quern.h>

#include "engine/vocabulary/platform/process.h"
#include "tests/onnx-parser/onnx_writer.h"

namespace quern {
namespace {

using namespace onnx_test;

// f32[1, 8, 896, 56], widened to 64 channels, filtered and narrowed again: maps of 12.8 MB
// and 3.2, which the caches of most cores do not hold; they do hold a few dozen of the short rows.
std::string wide_maps() {
  const auto weights = [](std::string_view name, const std::vector<std::int64_t>& dims) {
    std::int64_t count = 1;
    Message m;
    for (const std::int64_t d : dims) m.number(1, d), count *= d;
    const std::vector<float> ones(static_cast<std::size_t>(count), 0.125F);
    const std::string_view bytes(reinterpret_cast<const char*>(ones.data()), ones.size() * 4);
    return m.number(2, f32).text(8, name).text(9, bytes);
  };
  GraphParts g;
  g.inputs = {value("x", f32, {1, 8, 896, 56})};
  g.initializers = {weights("widen", {64, 8, 1, 1}), weights("filter", {64, 1, 3, 3}),
                    weights("narrow", {8, 64, 1, 1})};
  const auto block = [&](std::string_view x, const std::array<std::string_view, 6>& v) {
    g.nodes.push_back(node("Conv", {x, "widen"}, {v[0]}));
    g.nodes.push_back(node("Relu", {v[0]}, {v[1]}));
    g.nodes.push_back(
        node("Conv", {v[1], "filter"}, {v[2]},
             {integer("group", 64), integers("pads", {1, 1, 1, 1}), integers("strides", {2, 2})}));
    g.nodes.push_back(node("Relu", {v[2]}, {v[3]}));
    g.nodes.push_back(node("Conv", {v[3], "narrow"}, {v[4]}));
    g.nodes.push_back(node("Relu", {v[4]}, {v[5]}));
  };
  block("x", {"a", "b", "c", "d", "e", "f"});
  block("f", {"g", "h", "i", "j", "k", "y"});
  g.outputs = {Message().text(1, "y")};
  return make_model(g);
}

// The bytes of the arena of a run with one thread.
std::size_t arena_of(const quern_model* model, std::int32_t no_stripes) {
  quern_compile_options options = QUERN_COMPILE_OPTIONS_INIT;
  options.threads = 1;
  options.no_stripes = no_stripes;
  quern_executable* executable = nullptr;
  quern_session* session = nullptr;
  EXPECT_EQ(quern_executable_compile(model, &options, &executable), QUERN_OK) << quern_last_error();
  EXPECT_EQ(quern_session_create(executable, 0, &session), QUERN_OK) << quern_last_error();
  const std::vector<float> x(std::size_t{8} * 896 * 56, 1.0F);
  quern_tensor in = QUERN_TENSOR_INIT;
  in.rank = 4;
  std::ranges::copy(std::array{1, 8, 896, 56}, in.dims);
  in.data = x.data();
  in.bytes = x.size() * sizeof(float);
  EXPECT_EQ(quern_session_set_input(session, 0, &in, QUERN_BORROW), QUERN_OK);
  EXPECT_EQ(quern_session_prepare(session), QUERN_OK) << quern_last_error();
  quern_plan_info plan = QUERN_PLAN_INFO_INIT;
  EXPECT_EQ(quern_session_plan_info(session, &plan), QUERN_OK);
  quern_session_destroy(session);
  quern_executable_destroy(executable);
  return plan.arena_bytes;
}

TEST(CApiStripes, AreTakenUnlessOptionsSayNo) {
  const std::size_t cache = platform::second_level_cache();
  if (cache != 0 && (cache < 1U << 20 || cache > 4U << 20)) GTEST_SKIP() << "a cache of " << cache;
  const std::string bytes = wide_maps();
  quern_model* model = nullptr;
  ASSERT_EQ(quern_model_load_bytes(bytes.data(), bytes.size(), nullptr, &model), QUERN_OK)
      << quern_last_error();
  EXPECT_LT(arena_of(model, 0), arena_of(model, 1));
  quern_model_destroy(model);
}

}  // namespace
}  // namespace quern
