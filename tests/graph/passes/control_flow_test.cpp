// SPDX-License-Identifier: Apache-2.0
#include "tests/graph/passes/golden.h"

namespace quern::testing {
namespace {

TEST(InlineIf, TakesTheBranchOfAConstantCondition) {
  expect_becomes({"inline_if"}, R"(
    input %0 "x": f32[2]
    const %1: bool[] = {false}
    %2: f32[2] = If(%1, %0) {
      graph "then" {
        input %0 "c": f32[2]
        output %0 "r"
      }
      graph "else" {
        input %0 "c": f32[2]
        const %1: f32[] = {3}
        %2: f32[2] = Unary(%0) kind=neg | mul(%1)
        output %2 "r"
      }
    }
    output %2 "y")",
                 R"(
    input %0 "x": f32[2]
    const %1: f32[] = {3}
    %2: f32[2] = Unary(%0) kind=neg | mul(%1)
    output %2 "y")");
}

// A body that hands on what is absent has nothing to stand in its place.
TEST(InlineIf, NeedsWhatItsBodyReads) {
  expect_stays({"inline_if"}, R"(
    input %0 "x": f32[2]
    const %1: bool[] = {true}
    %2: f32[2] = If(%1, _) {
      graph "then" {
        input %0 "c": f32[2]
        output %0 "r"
      }
      graph "else" {
        input %0 "c": f32[2]
        output %0 "r"
      }
    }
    output %2 "y")");
}

TEST(InlineIf, NestedAndOutOfBodies) {
  expect_becomes({"inline_if"}, R"(
    input %0 "x": f32[2]
    input %1 "c": bool[]
    %2: f32[2] = If(%1, %0) {
      graph "then" {
        input %0 "c": f32[2]
        const %1: bool[] = {true}
        %2: f32[2] = If(%1, %0) {
          graph "then" {
            input %0 "c": f32[2]
            %1: f32[2] = Unary(%0) kind=exp
            output %1 "r"
          }
          graph "else" {
            input %0 "c": f32[2]
            output %0 "r"
          }
        }
        output %2 "r"
      }
      graph "else" {
        input %0 "c": f32[2]
        output %0 "r"
      }
    }
    output %2 "y")",
                 R"(
    input %0 "x": f32[2]
    input %1 "c": bool[]
    %2: f32[2] = If(%1, %0) {
      graph "then" {
        input %0 "c": f32[2]
        %1: f32[2] = Unary(%0) kind=exp
        output %1 "r"
      }
      graph "else" {
        input %0 "c": f32[2]
        output %0 "r"
      }
    }
    output %2 "y")");
}

TEST(MoveConstantsIntoBodies, WhereTheyFold) {
  expect_becomes({"move_constants_into_bodies", "fold_constants"}, R"(
    input %0 "x": f32[2]
    input %1 "c": bool[]
    const %2: f32[] = {3}
    %3: f32[2] = If(%1, %2, %0) {
      graph "then" {
        input %0 "a": f32[]
        input %1 "b": f32[2]
        %2: f32[] = Unary(%0) kind=neg
        %3: f32[2] = Binary(%1, %2) kind=mul
        output %3 "r"
      }
      graph "else" {
        input %0 "a": f32[]
        input %1 "b": f32[2]
        %2: f32[2] = Binary(%1, %0) kind=add
        output %2 "r"
      }
    }
    output %3 "y")",
                 R"(
    input %0 "x": f32[2]
    input %1 "c": bool[]
    %2: f32[2] = If(%1, %0) {
      graph "then" {
        input %0 "b": f32[2]
        const %1: f32[] = {-3}
        %2: f32[2] = Binary(%0, %1) kind=mul
        output %2 "r"
      }
      graph "else" {
        input %0 "b": f32[2]
        const %1: f32[] = {3}
        %2: f32[2] = Binary(%0, %1) kind=add
        output %2 "r"
      }
    }
    output %2 "y")");
}

TEST(MoveConstantsIntoBodies, OfLoopsButNotTheirState) {
  expect_becomes({"move_constants_into_bodies"}, R"(
    input %0 "n": i64[]
    const %1: f32[2] = {0, 0}
    const %2: f32[2] = {1, 2}
    %3: f32[2] = Loop(%0, _, %1, %2) carried=1 {
      graph "body" {
        input %0 "i": i64[]
        input %1 "c": bool[]
        input %2 "s": f32[2]
        input %3 "k": f32[2]
        %4: f32[2] = Binary(%2, %3) kind=add
        output %1 "c"
        output %4 "s"
      }
    }
    output %3 "y")",
                 R"(
    input %0 "n": i64[]
    const %1: f32[2] = {0, 0}
    %2: f32[2] = Loop(%0, _, %1) carried=1 {
      graph "body" {
        input %0 "i": i64[]
        input %1 "c": bool[]
        input %2 "s": f32[2]
        const %3: f32[2] = {1, 2}
        %4: f32[2] = Binary(%2, %3) kind=add
        output %1 "c"
        output %4 "s"
      }
    }
    output %2 "y")");
}

TEST(DropCaptures, ThatNoBranchReads) {
  expect_becomes({"drop_captures"}, R"(
    input %0 "x": f32[2]
    input %1 "z": f32[2]
    input %2 "c": bool[]
    %3: f32[2] = Unary(%1) kind=exp
    %4: f32[2] = If(%2, %0, %3) {
      graph "then" {
        input %0 "a": f32[2]
        input %1 "b": f32[2]
        %2: f32[2] = Unary(%1) kind=neg
        output %0 "r"
      }
      graph "else" {
        input %0 "a": f32[2]
        input %1 "b": f32[2]
        %2: f32[2] = Unary(%0) kind=neg
        output %2 "r"
      }
    }
    output %4 "y")",
                 R"(
    input %0 "x": f32[2]
    input %1 "z": f32[2]
    input %2 "c": bool[]
    %3: f32[2] = If(%2, %0) {
      graph "then" {
        input %0 "a": f32[2]
        output %0 "r"
      }
      graph "else" {
        input %0 "a": f32[2]
        %1: f32[2] = Unary(%0) kind=neg
        output %1 "r"
      }
    }
    output %3 "y")");
  expect_stays({"drop_captures"}, R"(
    input %0 "x": f32[2]
    input %1 "c": bool[]
    %2: f32[2] = If(%1, %0) {
      graph "then" {
        input %0 "a": f32[2]
        output %0 "r"
      }
      graph "else" {
        input %0 "a": f32[2]
        const %1: f32[2] = {1, 2}
        output %1 "r"
      }
    }
    output %2 "y")");
}

}  // namespace
}  // namespace quern::testing
