// SPDX-License-Identifier: Apache-2.0
// From an unallocated program to the addresses of its operands.
#include "engine/lowering/arenas.h"

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "engine/planning/place.h"
#include "tests/engine/lowering/unallocated_programs.h"

namespace quern::lowering {
namespace {

using testing::Base;
using testing::floats;
using testing::piece;
using testing::step;

Program placed(UnallocatedProgram unallocated, std::size_t outputs, ArenaOptions options = {}) {
  options.place = place;  // with a search
  Program program;
  program.outputs.resize(outputs, {DType::f32, {64}});
  auto meanings = place_in_arenas(std::move(unallocated), options, program);
  EXPECT_TRUE(meanings.has_value()) << std::move(meanings).status().message();
  return program;
}

// Whether so many bytes at one place and at the other have none in common.
bool are_apart(std::uint64_t a, std::uint64_t b, std::uint64_t bytes) {
  return a + bytes <= b || b + bytes <= a;
}

std::vector<std::string> nodes_of(const Program& program) {
  std::vector<std::string> nodes;
  for (const Step& s : program.steps) nodes.push_back(s.node);
  return nodes;
}

TEST(Arenas, OperandsAreWhereTheirBuffersLie) {
  const std::array<std::byte, 256> weights{};
  UnallocatedProgram d;
  const Place x = piece(d, Base::input, 64, "x");
  const Place w =
      floats(d.add({.base = Base::constant, .constant = weights.data(), .bytes = 256}), 16, 64);
  const Place a = piece(d, Space::host, 64, "a");
  const Place y = piece(d, Base::output, 64, "y");
  step(d, "first", {x, w, Place()}, {a});
  step(d, "second", {a, floats(a.buffer, 16, 128)}, {y});
  const Program p = placed(std::move(d), 1);
  ASSERT_EQ(p.steps.size(), 2U);
  const auto& [first_in, first_out] = std::tie(p.steps[0].inputs, p.steps[0].outputs);
  EXPECT_EQ(first_in[0].base, Base::input);
  EXPECT_EQ(first_in[1].base, Base::constant);
  EXPECT_EQ(first_in[1].constant, weights.data() + 64);
  EXPECT_EQ(first_in[2].base, Base::none);
  ASSERT_EQ(first_out[0].base, Base::arena);
  EXPECT_EQ(p.steps[1].inputs[0].offset, first_out[0].offset);
  EXPECT_EQ(p.steps[1].inputs[1].offset, first_out[0].offset + 128);
  // A run may bind outputs elsewhere: they are no offsets, but have one.
  EXPECT_EQ(p.steps[1].outputs[0].base, Base::output);
  EXPECT_EQ(p.steps[1].outputs[0].offset, 0U);
  ASSERT_EQ(p.output_offsets.size(), 1U);
  EXPECT_TRUE(are_apart(p.output_offsets[0], first_out[0].offset, 256));
  EXPECT_EQ(p.arena_bytes, 512U);
}

// Far more buffers than are searched, of sizes that no stack of them fits: the lists do better.
TEST(Arenas, VeryManyBuffersAreListed) {
  std::mt19937_64 random(7);
  UnallocatedProgram d;
  std::vector<Place> live = {piece(d, Base::input, 64, "x")};
  for (int i = 0; i < 6000; ++i) {
    const auto count = static_cast<std::int64_t>(64 + random() % 4000);
    const Place y = piece(d, Space::host, count, "");
    const Place& x = live[random() % live.size()];
    step(d, "", {x}, {y});
    if (live.size() < 24)
      live.push_back(y);
    else
      live[random() % live.size()] = y;
  }
  const Place y = piece(d, Base::output, 64, "y");
  for (const Place& x : live) step(d, "", {x}, {y});
  const Program p = placed(std::move(d), 1);
  EXPECT_FALSE(p.is_searched);
  const auto bound = static_cast<double>(lower_bound(p.memory_problem));
  EXPECT_LT(static_cast<double>(p.arena_bytes), 1.2 * bound);
}

TEST(Arenas, AResultLiesOverAnOperandThatDies) {
  UnallocatedProgram d;
  const Place x = piece(d, Base::input, 64, "x");
  const Place a = piece(d, Space::host, 64, "a");
  const Place b = piece(d, Space::host, 64, "b");
  const Place y = piece(d, Base::output, 64, "y");
  step(d, "makes a", {x}, {a});
  step(d, "may be in place", {a}, {b}, {.sharing = {{0, 0, Alias::may}}});
  step(d, "ends", {b}, {y});
  const Program p = placed(std::move(d), 1);
  ASSERT_EQ(p.steps.size(), 3U);
  EXPECT_EQ(p.steps[1].outputs[0].offset, p.steps[1].inputs[0].offset);
  EXPECT_EQ(p.arena_bytes, 512U);
}

TEST(Arenas, AResultLiesOverNoPartOfABuffer) {
  UnallocatedProgram d;
  const Place a = piece(d, Space::host, 128, "a");
  const Place b = piece(d, Space::host, 64, "b");
  const KernelChoice in_place{.sharing = {{0, 0, Alias::may}}};
  step(d, "of a half", {floats(a.buffer, 64, 256)}, {b}, in_place);
  step(d, "of all", {a}, {piece(d, Space::host, 128, "c")}, in_place);
  EXPECT_TRUE(d.steps[0].shares.empty());
  EXPECT_EQ(d.steps[1].shares.size(), 1U);
}

// y = [a, b], each made by a step.
UnallocatedProgram concatenation() {
  UnallocatedProgram d;
  const Place x = piece(d, Base::input, 64, "x");
  const Place a = piece(d, Space::host, 64, "a");
  const Place b = piece(d, Space::host, 64, "b");
  const Place y = piece(d, Base::output, 128, "y");
  step(d, "makes a", {x}, {a});
  step(d, "makes b", {x}, {b});
  step(d, "joins", {a, b}, {y}, {.copies = {{0, 0}, {1, 256}}});
  return d;
}

TEST(Arenas, WhatIsMadeInItsPlaceIsNotCopied) {
  const Program p = placed(concatenation(), 1);
  EXPECT_EQ(nodes_of(p), (std::vector<std::string>{"makes a", "makes b"}));
  EXPECT_EQ(p.steps[0].outputs[0].base, Base::output);
  EXPECT_EQ(p.steps[0].outputs[0].offset, 0U);
  EXPECT_EQ(p.steps[1].outputs[0].base, Base::output);
  EXPECT_EQ(p.steps[1].outputs[0].offset, 256U);
  EXPECT_EQ(p.arena_bytes, 512U);
}

// The second part would begin 60 bytes in, where no kernel may write a result of its own.
TEST(Arenas, APartThatIsNotAlignedIsCopied) {
  UnallocatedProgram d;
  const Place x = piece(d, Base::input, 15, "x");
  const Place a = piece(d, Space::host, 15, "a");
  const Place b = piece(d, Space::host, 15, "b");
  const Place y = piece(d, Base::output, 30, "y");
  step(d, "makes a", {x}, {a});
  step(d, "makes b", {x}, {b});
  step(d, "joins", {a, b}, {y}, {.copies = {{0, 0}, {1, 60}}});
  const Program p = placed(std::move(d), 1);
  ASSERT_EQ(nodes_of(p), (std::vector<std::string>{"makes a", "makes b", "joins"}));
  EXPECT_EQ(p.steps[0].outputs[0].base, Base::output);
  EXPECT_EQ(p.steps[1].outputs[0].base, Base::arena);
  EXPECT_EQ(p.steps[1].outputs[0].offset % 64, 0U);
}

TEST(Arenas, WithoutAliasesCopiesRemain) {
  const Program p = placed(concatenation(), 1, {.alias = false});
  EXPECT_EQ(p.steps.size(), 3U);
  EXPECT_EQ(p.steps[2].inputs[1].base, Base::arena);
  EXPECT_EQ(p.arena_bytes, 1024U);
}

TEST(Arenas, ScratchIsApartFromOperands) {
  UnallocatedProgram d;
  const Place x = piece(d, Base::input, 64, "x");
  const Place a = piece(d, Space::host, 64, "a");
  const Place y = piece(d, Base::output, 64, "y");
  step(d, "first", {x}, {a});
  step(d, "second", {a}, {y}, {.scratch_bytes = 256});
  const Program p = placed(std::move(d), 1);
  const Step& s = p.steps[1];
  EXPECT_TRUE(are_apart(s.scratch_offset, s.inputs[0].offset, 256));
  EXPECT_TRUE(are_apart(s.scratch_offset, p.output_offsets[0], 256));
  EXPECT_EQ(p.arena_bytes, 768U);
}

// x goes up, a part of it is worked on, the result comes down.
UnallocatedProgram round_trip() {
  UnallocatedProgram d;
  const Place x = piece(d, Base::input, 100, "x");
  const Place up = piece(d, Space::device, 100, "x");
  const Place made = piece(d, Space::device, 16, "y");
  const Place y = piece(d, Base::output, 16, "y");
  step(d, "up", {x}, {up}, {}, Step::Kind::upload);
  step(d, "work", {floats(up.buffer, 16, 260)}, {made}, {.scratch_bytes = 20}, Step::Kind::device);
  step(d, "down", {made}, {y}, {}, Step::Kind::download);
  return d;
}

TEST(Arenas, EachMemoryHasItsOwnArena) {
  const Program p = placed(round_trip(), 1, {.device_alignment = 256});
  ASSERT_EQ(nodes_of(p), (std::vector<std::string>{"up", "work", "down"}));
  EXPECT_EQ(p.steps[0].inputs[0].base, Base::input);
  EXPECT_EQ(p.steps[0].outputs[0].base, Base::device_arena);
  EXPECT_EQ(p.steps[0].output_bytes[0], 400U);
  EXPECT_EQ(p.steps[2].inputs[0].offset, p.steps[1].outputs[0].offset);
  EXPECT_EQ(p.steps[2].outputs[0].base, Base::output);
  EXPECT_EQ(p.arena_bytes, 64U);
  // Whole vectors: 512 bytes for the 400 of x, and 256 each for the result and the scratch.
  EXPECT_EQ(p.device_plan.size, 1024U);
  for (std::uint64_t offset : p.device_plan.offsets) EXPECT_EQ(offset % 256, 0U);
  EXPECT_EQ(p.steps[1].scratch_offset % 256, 0U);
}

TEST(Arenas, AnOperandOnADeviceBeginsWhereABindingMay) {
  const Program p = placed(round_trip(), 1, {.device_alignment = 256});
  const Step& work = p.steps[1];
  EXPECT_EQ(work.inputs[0].offset, p.steps[0].outputs[0].offset + 256);
  EXPECT_EQ(work.input_bytes[0], 4U + 64U);
  EXPECT_EQ(work.output_bytes[0], 64U);
}

// x goes up, y = [a, b] of `count` floats each is made of it and comes down.
UnallocatedProgram concatenation_on_device(std::int64_t count) {
  const auto bytes = static_cast<std::size_t>(count) * sizeof(float);
  UnallocatedProgram d;
  const Place x = piece(d, Base::input, 64, "x");
  const Place up = piece(d, Space::device, 64, "x");
  const Place a = piece(d, Space::device, count, "a");
  const Place b = piece(d, Space::device, count, "b");
  const Place joined = piece(d, Space::device, 2 * count, "y");
  step(d, "up", {x}, {up}, {}, Step::Kind::upload);
  step(d, "makes a", {up}, {a}, {}, Step::Kind::device);
  step(d, "makes b", {up}, {b}, {}, Step::Kind::device);
  step(d, "joins", {a, b}, {joined}, {.copies = {{0, 0}, {1, bytes}}}, Step::Kind::device);
  for (std::uint32_t i : {0U, 1U})
    d.steps.back().step.dispatches.push_back(
        {.shader = "copy_32", .buffers = {BufferUse::input(i), BufferUse::output(0)}});
  step(d, "down", {joined}, {piece(d, Base::output, 2 * count, "y")}, {}, Step::Kind::download);
  return d;
}

TEST(Arenas, OnADeviceTooWhatIsMadeInItsPlaceIsNotCopied) {
  const Program p = placed(concatenation_on_device(64), 1, {.device_alignment = 256});
  ASSERT_EQ(nodes_of(p), (std::vector<std::string>{"up", "makes a", "makes b", "down"}));
  EXPECT_EQ(p.steps[2].outputs[0].offset, p.steps[1].outputs[0].offset + 256);
  EXPECT_EQ(p.steps[3].inputs[0].offset, p.steps[1].outputs[0].offset);
  EXPECT_EQ(p.device_plan.size, 768U);
  const Program copied =
      placed(concatenation_on_device(64), 1, {.alias = false, .device_alignment = 256});
  EXPECT_EQ(copied.steps.size(), 5U);
  EXPECT_EQ(copied.steps[3].dispatches.size(), 2U);
  EXPECT_EQ(copied.device_plan.size, 1024U);
}

// The second part would begin where no binding may; the first needs no dispatch.
TEST(Arenas, OnADeviceAPartThatIsNotAlignedIsCopied) {
  const Program p = placed(concatenation_on_device(65), 1, {.device_alignment = 256});
  ASSERT_EQ(p.steps.size(), 5U);
  const Step& joins = p.steps[3];
  EXPECT_EQ(joins.inputs[0].offset, joins.outputs[0].offset);
  EXPECT_EQ(joins.inputs[1].offset % 256, 0U);
  ASSERT_EQ(joins.dispatches.size(), 1U);
  EXPECT_EQ(joins.dispatches[0].buffers[0], BufferUse::input(1));
}

// What follows 32 bytes behind where a binding may begin is copied to 32 bytes before that:
// binding, bytes before it and destination lie so that only their sum says that they are apart.
TEST(Arenas, OnADeviceAPartIsInPlaceOnlyWhereItBegins) {
  UnallocatedProgram d;
  const Place x = piece(d, Base::input, 64, "x");
  const Place up = piece(d, Space::device, 64, "x");
  const Place first = piece(d, Space::device, 120, "first");
  const Place y = piece(d, Space::device, 128, "y");
  step(d, "up", {x}, {up}, {}, Step::Kind::upload);
  step(d, "makes", {up}, {first}, {}, Step::Kind::device);
  step(d, "joins", {first, floats(up.buffer, 8, 32)}, {y}, {.copies = {{0, 0}, {1, 480}}},
       Step::Kind::device);
  for (std::uint32_t i : {0U, 1U})
    d.steps.back().step.dispatches.push_back(
        {.shader = "copy_32", .buffers = {BufferUse::input(i), BufferUse::output(0)}});
  step(d, "down", {y}, {piece(d, Base::output, 128, "y")}, {}, Step::Kind::download);
  const Program p = placed(std::move(d), 1, {.device_alignment = 256});
  const auto joins = std::ranges::find(p.steps, "joins", &Step::node);
  ASSERT_NE(joins, p.steps.end());
  // The case that this is about: x lies behind y.
  ASSERT_EQ(joins->inputs[1].offset, joins->outputs[0].offset + 512);
  ASSERT_EQ(joins->input_bytes[1], 32U + 32U);
  ASSERT_EQ(joins->dispatches.size(), 1U);
  EXPECT_EQ(joins->dispatches[0].buffers[0], BufferUse::input(1));
}

// y = [a, b] and z = [a]: where a lies in y it is not all that lies there, and what is copied to z
// may spoil what follows.
TEST(Arenas, OnADeviceAPartOfOneResultIsNotMovedToAnother) {
  UnallocatedProgram d;
  const Place x = piece(d, Base::input, 1, "x");
  const Place up = piece(d, Space::device, 1, "x");
  const Place a = piece(d, Space::device, 1, "a");
  const Place b = piece(d, Space::device, 1, "b");
  const Place y = piece(d, Space::device, 2, "y");
  const Place z = piece(d, Space::device, 1, "z");
  step(d, "up", {x}, {up}, {}, Step::Kind::upload);
  step(d, "makes a", {up}, {a}, {}, Step::Kind::device);
  step(d, "makes b", {up}, {b}, {}, Step::Kind::device);
  step(d, "joins", {a, b}, {y}, {.copies = {{0, 0}, {1, 4}}}, Step::Kind::device);
  step(d, "copies", {a}, {z}, {.copies = {{0, 0}}}, Step::Kind::device);
  step(d, "down", {y}, {piece(d, Base::output, 2, "y")}, {}, Step::Kind::download);
  step(d, "down", {z}, {piece(d, Base::output, 1, "z")}, {}, Step::Kind::download);
  const Program p = placed(std::move(d), 2, {.order = false, .device_alignment = 256});
  const auto joins = std::ranges::find(p.steps, "joins", &Step::node);
  const auto copies = std::ranges::find(p.steps, "copies", &Step::node);
  ASSERT_TRUE(joins != p.steps.end() && copies != p.steps.end());
  EXPECT_EQ(joins->inputs[0].offset, joins->outputs[0].offset);
  EXPECT_TRUE(are_apart(copies->outputs[0].offset, joins->outputs[0].offset, 256));
}

// Two large results of which each is only wanted for a small one: in the model's order both are
// live at a time.
UnallocatedProgram wide_program(Step::Kind last) {
  UnallocatedProgram d;
  const Place x = piece(d, Base::input, 64, "x");
  const Place up = piece(d, Space::device, 64, "x");
  step(d, "up", {x}, {up}, {}, Step::Kind::upload);
  std::vector<Place> large;
  std::vector<Place> small;
  for (const std::string n : {"0", "1"}) {
    large.push_back(piece(d, Space::device, 1024, "large " + n));
    small.push_back(piece(d, Space::device, 64, "small " + n));
  }
  for (std::size_t i : {0U, 1U})
    step(d, "widens " + std::to_string(i), {up}, {large[i]}, {}, Step::Kind::device);
  for (std::size_t i : {0U, 1U})
    step(d, "narrows " + std::to_string(i), {large[i]}, {small[i]}, {}, Step::Kind::device);
  const Place sum = piece(d, Space::device, 64, "sum");
  step(d, "adds", {small[0], small[1]}, {sum}, {}, Step::Kind::device);
  const Place down = piece(d, Space::host, 64, "sum");
  step(d, "down", {sum}, {down}, {}, Step::Kind::download);
  const Place again = piece(d, Space::device, 64, "sum");
  if (last == Step::Kind::upload) {
    step(d, "up again", {down}, {again}, {}, Step::Kind::upload);
    step(d, "down again", {again}, {piece(d, Base::output, 64, "y")}, {}, Step::Kind::download);
  } else {
    step(d, "on the host", {down}, {piece(d, Base::output, 64, "y")});
  }
  return d;
}

TEST(Arenas, StepsOfADeviceAreOrderedForLessMemory) {
  const Program p = placed(wide_program(Step::Kind::upload), 1, {.device_alignment = 256});
  const std::vector<std::string> nodes = nodes_of(p);
  ASSERT_EQ(nodes.size(), 9U);
  EXPECT_TRUE(nodes[1].starts_with("widens") && nodes[2].starts_with("narrows"));
  EXPECT_LT(p.device_plan.size, 2 * 4096U);
  // The host's memory keeps these in order.
  EXPECT_EQ(nodes[6], "down");
  EXPECT_EQ(nodes[7], "up again");
  const Program plain =
      placed(wide_program(Step::Kind::upload), 1, {.order = false, .device_alignment = 256});
  EXPECT_GE(plain.device_plan.size, 2 * 4096U);
}

TEST(Arenas, AStepOfTheHostKeepsTheOrder) {
  const Program p = placed(wide_program(Step::Kind::host), 1, {.device_alignment = 256});
  EXPECT_EQ(nodes_of(p), (std::vector<std::string>{"up", "widens 0", "widens 1", "narrows 0",
                                                   "narrows 1", "adds", "down", "on the host"}));
}

// Both memories count the steps that are left.
TEST(Arenas, TimesOfBothMemoriesAreSteps) {
  const Program p = placed(concatenation_on_device(64), 1, {.device_alignment = 256});
  const auto last = static_cast<std::int64_t>(p.steps.size());
  std::int64_t end = 0;
  for (const Interval& i : p.device_problem.intervals) end = std::max(end, i.end);
  EXPECT_EQ(end, last);
  ASSERT_EQ(p.memory_problem.intervals.size(), 1U);
  EXPECT_EQ(p.memory_problem.intervals[0].first, last - 1);
}

}  // namespace
}  // namespace quern::lowering
