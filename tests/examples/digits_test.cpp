// SPDX-License-Identifier: Apache-2.0
// The shipped model on the shipped pictures, by the public API.
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "examples/common/image.h"
#include "examples/common/model.h"

namespace examples {
namespace {

using ::testing::Contains;
using ::testing::Pair;

struct Sample {
  const char* picture;
  std::size_t digit;
};
constexpr Sample samples[] = {{"zero", 0},       {"one", 1},  {"two", 2},       {"three", 3},
                              {"four", 4},       {"five", 5}, {"six", 6},       {"seven", 7},
                              {"eight", 8},      {"nine", 9}, {"paper_two", 2}, {"paper_five", 5},
                              {"paper_seven", 7}};

std::string file(const std::string& name) {
  const auto root = std::filesystem::path(__FILE__).parent_path().parent_path().parent_path();
  return (root / "examples/digits" / name).string();
}

// Appends the picture in grey, 28 x 28, 0..1.
void append_picture(const std::string& name, std::vector<float>& values) {
  const auto image = load_image(file(name + ".png"));
  ASSERT_TRUE(image) << image.error().message();
  for (const Color& c : resize(*image, 28, 28).pixels) {
    values.push_back(static_cast<float>(c.g) / 255);
  }
}

void expect_digit(std::span<const float> probabilities, const Sample& sample) {
  const auto best = std::max_element(probabilities.begin(), probabilities.end());
  EXPECT_EQ(best - probabilities.begin(), sample.digit) << sample.picture;
  EXPECT_GT(*best, 0.9F) << sample.picture;
}

TEST(Digits, SaysWhatItIs) {
  const auto session = open_model(file("digits.onnx"));
  ASSERT_TRUE(session) << session.error().message();
  const auto& executable = (*session)->executable();
  ASSERT_EQ(executable.inputs().size(), 1U);
  EXPECT_EQ(executable.inputs()[0].name, "image");
  EXPECT_EQ(executable.inputs()[0].symbols[0], "N");
  EXPECT_THAT(executable.metadata().properties, Contains(Pair("quern.input.range", "0..1")));
  EXPECT_THAT(executable.metadata().properties, Contains(Pair("labels", "0,1,2,3,4,5,6,7,8,9")));
}

TEST(Digits, ReadsEveryPictureAlone) {
  const auto session = open_model(file("digits.onnx"));
  ASSERT_TRUE(session) << session.error().message();
  for (const Sample& sample : samples) {
    std::vector<float> values;
    append_picture(sample.picture, values);
    const auto input = quern::Tensor::from_values<float>(quern::DType::f32, {1, 1, 28, 28}, values);
    ASSERT_TRUE(run(**session, input).ok());
    const auto probabilities = output(**session, "probabilities");
    ASSERT_TRUE(probabilities);
    expect_digit(probabilities->span<float>(), sample);
  }
}

TEST(Digits, ReadsAllPicturesInOneBatch) {
  const auto session = open_model(file("digits.onnx"));
  ASSERT_TRUE(session) << session.error().message();
  std::vector<float> values;
  for (const Sample& sample : samples) append_picture(sample.picture, values);
  const auto count = static_cast<std::int64_t>(std::size(samples));
  const auto input =
      quern::Tensor::from_values<float>(quern::DType::f32, {count, 1, 28, 28}, values);
  ASSERT_TRUE(run(**session, input).ok());
  const auto probabilities = output(**session, "probabilities");
  ASSERT_TRUE(probabilities);
  ASSERT_EQ(probabilities->type.shape, quern::Shape({count, 10}));
  for (std::size_t i = 0; i < std::size(samples); ++i) {
    expect_digit(probabilities->span<float>().subspan(10 * i, 10), samples[i]);
  }
}

TEST(Digits, SaysWhyAModelCannotBeOpened) {
  const auto missing = open_model("no/such/model.onnx");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), quern::Code::not_found);
}

}  // namespace
}  // namespace examples
