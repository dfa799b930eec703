// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include <quern/c/quern.h>
#include <quern/c/tuning.h>

#include "tests/expect.h"

namespace {

class TunedDigits : public ::testing::Test {
 protected:
  TunedDigits() {
    EXPECT_EQ(quern_model_load(QUERN_SOURCE_DIR "/examples/digits/digits.onnx", nullptr, &model_),
              QUERN_OK);
    x_.dtype = QUERN_F32;
    x_.rank = 4;
    const std::array<std::int64_t, 4> dims = {1, 1, 28, 28};
    std::copy(dims.begin(), dims.end(), x_.dims);
    x_.data = pixels_.data();
    x_.bytes = pixels_.size() * sizeof(float);
    options_.threads = 1;
    how_.file = path_.c_str();
  }
  ~TunedDigits() override {
    quern_model_destroy(model_);
    std::filesystem::remove(path_);
  }

  quern_status tune(quern_tune_report* report) {
    return quern_model_tune(model_, &options_, &x_, 1, &how_, report);
  }

  const std::string path_ =
      (std::filesystem::temp_directory_path() / ("c-tuning-" + std::to_string(getpid()))).string();
  std::vector<float> pixels_ = std::vector<float>(28 * 28, 0.5F);
  quern_model* model_ = nullptr;
  quern_tensor x_ = QUERN_TENSOR_INIT;
  quern_compile_options options_ = QUERN_COMPILE_OPTIONS_INIT;
  quern_tune_options how_ = QUERN_TUNE_OPTIONS_INIT;
};

TEST_F(TunedDigits, AreMeasuredOnceAndCompiledByTheFile) {
  quern_tune_report report = QUERN_TUNE_REPORT_INIT;
  ASSERT_EQ(tune(&report), QUERN_OK) << quern_last_error();
  EXPECT_GT(report.measured, 0U);
  EXPECT_LE(report.changed, report.measured);
  EXPECT_EQ(report.is_complete, 1);
  EXPECT_GT(std::filesystem::file_size(path_), 0U);
  ASSERT_EQ(tune(&report), QUERN_OK) << quern_last_error();
  EXPECT_EQ(report.measured, 0U);
  ASSERT_EQ(tune(nullptr), QUERN_OK) << quern_last_error();

  options_.tuning = path_.c_str();
  quern_executable* executable = nullptr;
  ASSERT_EQ(quern_executable_compile(model_, &options_, &executable), QUERN_OK)
      << quern_last_error();
  quern_executable_destroy(executable);
}

TEST_F(TunedDigits, AreRefusedInWords) {
  const auto refused = [&](const quern_model* model, const quern_tensor* inputs, size_t count,
                           const quern_tune_options* how) {
    return quern_model_tune(model, nullptr, inputs, count, how, nullptr) == QUERN_INVALID_ARGUMENT;
  };
  EXPECT_TRUE(refused(nullptr, &x_, 1, &how_));
  EXPECT_TRUE(refused(model_, nullptr, 1, &how_));
  EXPECT_CONTAINS(std::string(quern_last_error()), "inputs is null");
  EXPECT_TRUE(refused(model_, &x_, 1, nullptr));
  const quern_tensor two[] = {x_, x_};
  EXPECT_TRUE(refused(model_, two, 2, &how_));
  EXPECT_TRUE(refused(model_, &x_, 0, &how_));
  how_.file = nullptr;
  EXPECT_TRUE(refused(model_, &x_, 1, &how_));
  EXPECT_CONTAINS(std::string(quern_last_error()), "file of quern_tune_options is null");
  options_.tuning = QUERN_SOURCE_DIR "/README.md";
  quern_executable* executable = nullptr;
  EXPECT_EQ(quern_executable_compile(model_, &options_, &executable), QUERN_INVALID_ARGUMENT);
  EXPECT_CONTAINS(std::string(quern_last_error()), "is no tuning");
}

}  // namespace
