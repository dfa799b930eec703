// SPDX-License-Identifier: Apache-2.0
// These tests cover the decoders that turn outputs into letters, faces and lines.
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "examples/faces/blazeface.h"
#include "examples/lines/mlsd.h"
#include "examples/ocr/ctc.h"

namespace examples {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::vector<std::string> letters = {"", "a", "b", " "};

// One slice for each class named.
std::vector<float> slices(const std::vector<std::size_t>& best) {
  std::vector<float> result;
  for (const std::size_t chosen : best) {
    for (std::size_t i = 0; i < letters.size(); ++i) result.push_back(i == chosen ? 0.7F : 0.1F);
  }
  return result;
}

TEST(Ctc, JoinsRepeatsAndDropsNothing) {
  const Reading reading = decode_ctc(slices({0, 1, 1, 0, 1, 2, 3, 3, 2, 0}), letters);
  EXPECT_EQ(reading.text, "aab b");
  EXPECT_FLOAT_EQ(reading.confidence, 0.7F);
}

TEST(Ctc, ReadsNothingFromNothing) {
  EXPECT_EQ(decode_ctc({}, letters).text, "");
  EXPECT_EQ(decode_ctc(slices({0, 0}), letters).confidence, 0);
}

TEST(Ctc, LoadsCharactersBetweenNothingAndSpace) {
  const auto path = std::filesystem::temp_directory_path() / "quern_characters_test.txt";
  std::ofstream(path) << "a\n\u00e4\nb";  // the last line may lack its end
  const auto characters = load_characters(path.string());
  std::filesystem::remove(path);
  ASSERT_TRUE(characters);
  EXPECT_THAT(*characters, ElementsAre("", "a", "\u00e4", "b", " "));
  EXPECT_FALSE(load_characters("no/such/file"));
}

TEST(BlazeFace, PlacesBoxesAroundTheirAnchors) {
  std::vector<float> scores(8, -100), boxes(8 * 16);
  scores[5] = 4;           // 2 x 2 cells of 2 anchors: the cell at the lower left
  boxes[5 * 16 + 0] = 10;  // to the right of the anchor
  boxes[5 * 16 + 2] = 50;
  boxes[5 * 16 + 3] = 25;
  boxes[5 * 16 + 5] = -10;  // the first mark, above the anchor
  const auto faces = decode_faces({2, 2, scores, boxes}, 100, 0.5F);
  ASSERT_THAT(faces, SizeIs(1));
  EXPECT_NEAR(faces[0].middle.x, 0.35F, 1e-6F);
  EXPECT_NEAR(faces[0].middle.y, 0.75F, 1e-6F);
  EXPECT_NEAR(faces[0].size.x, 0.5F, 1e-6F);
  EXPECT_NEAR(faces[0].marks[0].y, 0.65F, 1e-6F);
  EXPECT_NEAR(faces[0].score, 0.982F, 1e-3F);
}

Face face(float x, float score, float size = 0.2F) {
  return {.middle = {x, 0.5F}, .size = {size, size}, .score = score};
}

TEST(BlazeFace, MixesFacesThatOverlap) {
  const auto merged = merge_faces({face(0.2F, 0.6F), face(0.8F, 0.7F), face(0.23F, 0.9F)});
  ASSERT_THAT(merged, SizeIs(2));
  EXPECT_NEAR(merged[0].middle.x, (0.2F * 0.6F + 0.23F * 0.9F) / 1.5F, 1e-6F);
  EXPECT_FLOAT_EQ(merged[0].score, 0.9F);
  EXPECT_NEAR(merged[1].middle.x, 0.8F, 1e-6F);
  EXPECT_THAT(merge_faces({}), IsEmpty());
  EXPECT_THAT(merge_faces({face(0.2F, 0.9F, 0), face(0.7F, 0.6F)}), SizeIs(2));
}

TEST(BlazeFace, MeasuresOverlap) {
  EXPECT_NEAR(overlap(face(0.2F, 1), face(0.2F, 1)), 1, 1e-6F);
  EXPECT_NEAR(overlap(face(0.2F, 1), face(0.3F, 1)), 1 / 3.0F, 1e-5F);
  EXPECT_EQ(overlap(face(0.2F, 1), face(0.9F, 1)), 0);
}

TEST(Mlsd, FollowsOffsetsFromTheMiddle) {
  std::vector<float> scores(16), offsets(16 * 4);
  scores[6] = 0.5F;  // x 2, y 1 of 4 x 4
  offsets[6 * 4 + 0] = -2;
  offsets[6 * 4 + 2] = 2;
  offsets[6 * 4 + 3] = 3;
  scores[9] = 0.9F;   // no length
  scores[3] = 0.05F;  // below the threshold
  const auto segments = decode_segments(scores, offsets, 4);
  ASSERT_THAT(segments, SizeIs(1));
  EXPECT_FLOAT_EQ(segments[0].from.x, 0);
  EXPECT_FLOAT_EQ(segments[0].from.y, 0.25F);
  EXPECT_FLOAT_EQ(segments[0].to.x, 1);
  EXPECT_FLOAT_EQ(segments[0].to.y, 1);
}

TEST(Mlsd, KeepsTheBest) {
  std::vector<float> scores(16), offsets(16 * 4, 1.0F);
  for (std::size_t i = 0; i < 16; ++i) {
    scores[i] = 0.2F + 0.01F * static_cast<float>(i);
    offsets[i * 4] = -1;
  }
  const auto segments = decode_segments(scores, offsets, 4, {.max_count = 3});
  ASSERT_THAT(segments, SizeIs(3));
  EXPECT_FLOAT_EQ(segments[0].score, 0.35F);
  EXPECT_FLOAT_EQ(segments[2].score, 0.33F);
}

}  // namespace
}  // namespace examples
