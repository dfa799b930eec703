// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <unistd.h>
#include <vector>

#include <quern/c/quern.h>

#include "tests/expect.h"

namespace {

constexpr const char* digits = QUERN_SOURCE_DIR "/examples/digits/digits.onnx";

struct Destroy {
  void operator()(quern_model* m) const { quern_model_destroy(m); }
  void operator()(quern_executable* e) const { quern_executable_destroy(e); }
  void operator()(quern_session* s) const { quern_session_destroy(s); }
};
template <class T>
using Handle = std::unique_ptr<T, Destroy>;

Handle<quern_executable> compiled_digits() {
  quern_model* model = nullptr;
  EXPECT_EQ(quern_model_load(digits, nullptr, &model), QUERN_OK);
  const Handle<quern_model> owner(model);
  quern_executable* executable = nullptr;
  EXPECT_EQ(quern_executable_compile(model, nullptr, &executable), QUERN_OK);
  return Handle<quern_executable>(executable);
}

std::vector<float> answer_of(const quern_executable* executable) {
  quern_session* created = nullptr;
  EXPECT_EQ(quern_session_create(executable, 1, &created), QUERN_OK);
  const Handle<quern_session> session(created);
  std::vector<float> pixels(28 * 28);
  std::iota(pixels.begin(), pixels.end(), 0.0F);
  quern_tensor x = QUERN_TENSOR_INIT;
  x.dtype = QUERN_F32;
  x.rank = 4;
  const std::array<std::int64_t, 4> dims = {1, 1, 28, 28};
  std::copy(dims.begin(), dims.end(), x.dims);
  x.data = pixels.data();
  x.bytes = pixels.size() * sizeof(float);
  EXPECT_EQ(quern_session_set_input(session.get(), 0, &x, QUERN_BORROW), QUERN_OK)
      << quern_last_error();
  EXPECT_EQ(quern_session_run(session.get()), QUERN_OK) << quern_last_error();
  quern_tensor y = QUERN_TENSOR_INIT;
  EXPECT_EQ(quern_session_output(session.get(), 0, &y), QUERN_OK) << quern_last_error();
  const auto* numbers = static_cast<const float*>(y.data);
  return {numbers, numbers + y.bytes / sizeof(float)};
}

class SavedDigits : public ::testing::Test {
 protected:
  ~SavedDigits() override { std::filesystem::remove(path_); }

  Handle<quern_executable> loaded() {
    quern_executable* executable = nullptr;
    status_ = quern_executable_load(path_.c_str(), nullptr, nullptr, &executable);
    return Handle<quern_executable>(executable);
  }

  const std::string path_ = (std::filesystem::temp_directory_path() /
                             ("c-artefact-" + std::to_string(getpid()) + ".quern"))
                                .string();
  quern_status status_ = QUERN_OK;
};

TEST_F(SavedDigits, GiveTheSameAnswer) {
  const auto executable = compiled_digits();
  quern_save_options save = QUERN_SAVE_OPTIONS_INIT;
  const std::array<std::size_t, 2> ranks = {4, 4};
  const std::array<std::int64_t, 8> dims = {1, 1, 28, 28, 3, 1, 28, 28};
  save.plan_count = 2;
  save.ranks = ranks.data();
  save.dims = dims.data();
  ASSERT_EQ(quern_executable_save(executable.get(), path_.c_str(), &save), QUERN_OK)
      << quern_last_error();
  const auto again = loaded();
  ASSERT_EQ(status_, QUERN_OK) << quern_last_error();
  EXPECT_EQ(answer_of(again.get()), answer_of(executable.get()));
}

TEST_F(SavedDigits, AreRefusedInWords) {
  const auto executable = compiled_digits();
  quern_save_options save = QUERN_SAVE_OPTIONS_INIT;
  save.plan_count = 1;
  EXPECT_EQ(quern_executable_save(executable.get(), path_.c_str(), &save), QUERN_INVALID_ARGUMENT);
  EXPECT_CONTAINS(quern_last_error(), "ranks is null");
  const std::size_t rank = 17;
  const std::int64_t dim = 1;
  save.ranks = &rank;
  save.dims = &dim;
  EXPECT_EQ(quern_executable_save(executable.get(), path_.c_str(), &save), QUERN_INVALID_ARGUMENT);
  EXPECT_CONTAINS(quern_last_error(), "rank 17");
  EXPECT_EQ(quern_executable_save(executable.get(), "/nowhere/x.quern", nullptr),
            QUERN_INVALID_ARGUMENT);
  (void)loaded();
  EXPECT_EQ(status_, QUERN_NOT_FOUND);
  std::ofstream(path_) << "no artefact at all";
  (void)loaded();
  EXPECT_EQ(status_, QUERN_INVALID_MODEL);
}

}  // namespace
