// SPDX-License-Identifier: Apache-2.0
// A program of one dispatch that is right; with one number changed it is refused.
#include "engine/compile/dispatch_check.h"

#include <functional>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/expect.h"

namespace quern {
namespace {

using Base = Step::Operand::Base;

// 64 bytes at 0 and a constant of 32 bytes become 64 bytes at 256; scratch lies behind them.
Program right() {
  static const std::uint64_t constant_bytes = 32;
  Program p;
  p.device_plan.size = 1024;
  p.device_constants.emplace_back(std::shared_ptr<const void>(), &constant_bytes);
  Step s;
  s.kind = Step::Kind::device;
  s.node = "sum";
  s.op = "Binary";
  s.inputs = {{.base = Base::device_arena}, {.base = Base::device_constant}};
  s.input_bytes = {64, 32};
  s.outputs = {{.base = Base::device_arena, .offset = 256}};
  s.output_bytes = {64};
  s.scratch_offset = 512;
  s.scratch_bytes = 48;
  s.gpu_constants = {0};
  s.dispatches = {
      {.shader = "binary",
       .buffers = {BufferUse::input(0), BufferUse::input(1), BufferUse::constant(0),
                   BufferUse::scratch(16, 32, BufferAccess::write), BufferUse::output(0)}}};
  p.steps.push_back(std::move(s));
  return p;
}

Status check(const Program& p) {
  return check_dispatches(
      p,
      {.target = {.max_groups = 100}, .alignment = 256, .constant_bytes = [](const void* constant) {
         return *static_cast<const std::uint64_t*>(constant);
       }});
}

// Every message names the node; `part` is what else it says.
void expect_refused(const std::function<void(Program&, Step&)>& change, std::string_view part) {
  Program p = right();
  change(p, p.steps[0]);
  const Status found = check(p);
  EXPECT_EQ(found.code(), Code::internal) << part;
  EXPECT_CONTAINS(found.message(), "node 'sum' (Binary): ");
  EXPECT_CONTAINS(found.message(), part);
}

TEST(DispatchCheck, TakesWhatStaysInside) {
  const Status found = check(right());
  EXPECT_TRUE(found.ok()) << found.message();
}

TEST(DispatchCheck, KnowsWhereOperandsMayBe) {
  expect_refused([](Program&, Step& s) { s.outputs[0].offset = 300; },
                 "output 0 begins at 300, wants a multiple of 256");
  expect_refused([](Program&, Step& s) { s.outputs[0].offset = 1024; },
                 "output 0 wants bytes 1024 to 1088 of 1024");
  expect_refused([](Program&, Step& s) { s.input_bytes[0] = 1025; },
                 "input 0 wants bytes 0 to 1025 of 1024");
  expect_refused([](Program&, Step& s) { s.input_bytes[1] = 33; },
                 "input 1 wants bytes 0 to 33 of 32");
  expect_refused([](Program&, Step& s) { s.inputs[1].index = 1; },
                 "input 1 is device constant 1 of 1");
  expect_refused([](Program&, Step& s) { s.scratch_offset = 1000; },
                 "scratch wants bytes 1000 to 1048 of 1024");
  expect_refused([](Program&, Step& s) { s.outputs[0].offset = ~std::uint64_t{255}; },
                 "output 0 wants bytes");
}

TEST(DispatchCheck, LetsTransfersBeginAnywhere) {
  Program p = right();
  Step download;
  download.kind = Step::Kind::download;
  download.inputs = {{.base = Base::device_arena, .offset = 260}};
  download.input_bytes = {8};
  download.outputs = {{.base = Base::arena}};
  download.output_bytes = {8};
  p.steps.push_back(std::move(download));
  const Status found = check(p);
  EXPECT_TRUE(found.ok()) << found.message();
}

TEST(DispatchCheck, KnowsWhatABufferOfADispatchMaySee) {
  const auto buffer = [](std::size_t i, BufferUse use) {
    return [i, use](Program&, Step& s) { s.dispatches[0].buffers[i] = use; };
  };
  expect_refused(buffer(0, BufferUse::input(2)), "binary, input 2 of 2");
  expect_refused(buffer(0, BufferUse::output(1)), "binary, output 1 of 1");
  expect_refused(buffer(0, {BufferUse::Of::input, 0, false, 48, 32}),
                 "binary, input 0 wants bytes 48 to 80 of 64");
  expect_refused(buffer(0, {BufferUse::Of::input, 0, true}), "binary writes input 0");
  expect_refused(buffer(2, {BufferUse::Of::constant, 0, true}), "binary writes constant 0");
  expect_refused(buffer(2, BufferUse::constant(1)), "binary reads constant 1 of 1");
  expect_refused(buffer(2, {BufferUse::Of::constant, 0, false, 16, 32}),
                 "binary, constant 0 wants bytes 16 to 48 of 32");
  expect_refused(buffer(3, BufferUse::scratch(32, 32, BufferAccess::read)),
                 "binary, scratch wants bytes 32 to 64 of 48");
}

TEST(DispatchCheck, KnowsTheLimitsOfADispatch) {
  expect_refused([](Program&, Step& s) { s.dispatches[0].groups[1] = 0; },
                 "binary has 0 groups, wants 1 to 100");
  expect_refused([](Program&, Step& s) { s.dispatches[0].groups[2] = 101; },
                 "binary has 101 groups, wants 1 to 100");
  expect_refused([](Program&, Step& s) { s.dispatches[0].push.resize(33); },
                 "binary pushes 33 words, at most 32");
}

TEST(DispatchCheck, LooksAtCandidatesToo) {
  expect_refused(
      [](Program&, Step& s) {
        Dispatch other = s.dispatches[0];
        other.shader = "binary_tiled";
        other.groups[0] = 101;
        s.dispatches[0].candidates.push_back(std::move(other));
      },
      "binary_tiled has 101 groups");
}

}  // namespace
}  // namespace quern
