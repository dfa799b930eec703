// SPDX-License-Identifier: Apache-2.0
// SPIR-V from files: what fits the dispatches of a shader of the build, and that any bytes have an
// answer.
#include "engine/devices/vulkan/own_shaders.h"

#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

#include "engine/devices/vulkan/spirv_interface.h"
#include "tests/expect.h"

#include "shaders/shaders.h"

namespace quern::vulkan {
namespace {

using SpirvWords = std::vector<std::uint32_t>;

SpirvWords built_words(std::string_view name) {
  const auto all = shaders();
  const auto shader = std::ranges::find(all, name, &Shader::name);
  EXPECT_NE(shader, all.end()) << name;
  return {shader->begin, shader->end};
}

std::string refusal_of(const std::function<void(SpirvWords&)>& change) {
  const SpirvWords built = built_words("softmax");
  SpirvWords own = built;
  change(own);
  return std::string(check_own_shader(own, built).message());
}

// The word behind the first words of a decoration or of an entry point: opcode, then `second`.
std::size_t instruction_at(const SpirvWords& words, std::uint32_t op, std::size_t word,
                           std::uint32_t value) {
  for (std::size_t at = 5; at < words.size(); at += words[at] >> 16)
    if ((words[at] & 0xffff) == op && words[at + word] == value) return at;
  ADD_FAILURE() << "no instruction " << op;
  return 0;
}

constexpr std::uint32_t op_entry = 15, op_capability_ = 17, op_decorate_ = 71;

TEST(OwnShaders, EveryShaderStandsForItself) {
  for (const Shader& s : shaders())
    EXPECT_EQ(check_own_shader(s.words(), s.words()).message(), "") << s.name;
}

TEST(OwnShaders, TheHeaderIsHeldToTheFormat) {
  EXPECT_CONTAINS(refusal_of([](SpirvWords& w) { w.clear(); }), "has 0 words");
  EXPECT_CONTAINS(refusal_of([](SpirvWords& w) { w.resize(4); }), "has 4 words");
  EXPECT_CONTAINS(refusal_of([](SpirvWords& w) { w[0] = 0x464c457f; }), "begins with");
  EXPECT_CONTAINS(refusal_of([](SpirvWords& w) { w[0] = 0x03022307; }), "another order");
  EXPECT_CONTAINS(refusal_of([](SpirvWords& w) { w[1] = 0x00020000; }), "of version 2.0");
  EXPECT_CONTAINS(refusal_of([](SpirvWords& w) { w[1] = 0x00010600; }), "of version 1.6");
  EXPECT_CONTAINS(refusal_of([](SpirvWords& w) { w[3] = 0; }), "ids up to 0");
  EXPECT_CONTAINS(refusal_of([](SpirvWords& w) { w[3] = 0xffffffff; }), "ids up to 4294967295");
  EXPECT_CONTAINS(refusal_of([](SpirvWords& w) { w[4] = 1; }), "schema 1");
}

TEST(OwnShaders, InstructionsFillTheModule) {
  EXPECT_CONTAINS(refusal_of([](SpirvWords& w) { w.pop_back(); }), "before its last function");
  EXPECT_CONTAINS(
      refusal_of([](SpirvWords& w) { w.resize(instruction_at(w, op_entry, 1, 5) + 2); }),
      "instruction of");
  EXPECT_CONTAINS(refusal_of([](SpirvWords& w) { w[5] &= 0xffff; }), "instruction of 0 words");
  EXPECT_CONTAINS(refusal_of([](SpirvWords& w) { w[5] |= 0xffff0000; }), "instruction of 65535");
}

TEST(OwnShaders, TheEntryPointIsMainOfAComputeShader) {
  EXPECT_CONTAINS(refusal_of([](SpirvWords& w) {
                    w[instruction_at(w, op_entry, 1, 5)] += 1;  // OpExecutionMode
                  }),
                  "has 0 entry points");
  EXPECT_CONTAINS(refusal_of([](SpirvWords& w) { w[instruction_at(w, op_entry, 1, 5) + 1] = 4; }),
                  "a compute shader's called main");
  EXPECT_CONTAINS(
      refusal_of([](SpirvWords& w) { w[instruction_at(w, op_entry, 1, 5) + 3] = 0x6e69616e; }),
      "a compute shader's called main");
}

TEST(OwnShaders, TheInterfaceIsThatOfTheShader) {
  constexpr std::uint32_t binding = 33, spec_id = 1, matrices = 6022;
  EXPECT_CONTAINS(
      refusal_of([](SpirvWords& w) { w[instruction_at(w, op_decorate_, 2, binding) + 3] = 7; }),
      "has bindings");
  EXPECT_CONTAINS(
      refusal_of([](SpirvWords& w) { w[instruction_at(w, op_decorate_, 2, spec_id) + 3] = 99; }),
      "specialisation constants");
  EXPECT_CONTAINS(
      refusal_of([](SpirvWords& w) { w[instruction_at(w, op_capability_, 1, 1) + 1] = matrices; }),
      "has capabilities");
  const SpirvWords other = built_words("matmul");
  EXPECT_NE(check_own_shader(other, built_words("softmax")).message(), "");
}

TEST(OwnShaders, OptionsNameAShaderAndAFile) {
  OwnShaders own;
  const auto said = [&](std::string_view option) {
    return std::string(add_own_shader(option, own).message());
  };
  EXPECT_CONTAINS(said("softmax"), "wants NAME=FILE.spv");
  EXPECT_CONTAINS(said("sofmax=a.spv"), "no shader 'sofmax'; there is:");
  EXPECT_CONTAINS(said("softmax=/nowhere/a.spv"), "no file '/nowhere/a.spv'");
  EXPECT_CONTAINS(said("softmax=/"), "no file '/'");
  EXPECT_TRUE(own.empty());
}

// Words are changed, cut and put in at random: an answer comes, whatever they are.
TEST(OwnShaders, AnyWordsHaveAnAnswer) {
  const SpirvWords built = built_words("softmax");
  std::uint64_t state = 11;
  const auto random = [&] {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::uint32_t>(state >> 32);
  };
  for (int i = 0; i < 20000; ++i) {
    SpirvWords own = built;
    for (int changes = 0; changes < 4; ++changes) own[random() % own.size()] = random();
    own[random() % own.size()] &= 0x0007ffff;  // few words, some opcode
    if (i % 3 == 0) own.resize(random() % own.size());
    const auto interface = read_spirv(own);
    if (interface) {
      EXPECT_LE(interface->push_bytes, std::uint64_t{1} << 40);
    }
    (void)check_own_shader(own, built);
  }
}

}  // namespace
}  // namespace quern::vulkan
