// SPDX-License-Identifier: Apache-2.0
#include "tools/npy.h"

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace quern::tools {
namespace {

Result<Tensor> parse(const std::string& bytes) {
  return parse_npy(std::as_bytes(std::span(bytes)));
}

// A file of version 1 with this header and data.
std::string file(std::string header, const std::string& data, char version = 1) {
  header += '\n';
  std::string s = "\x93NUMPY";
  s += version;
  s += '\0';
  s += static_cast<char>(header.size() & 255);
  s += static_cast<char>(header.size() >> 8);
  if (version > 1) s += std::string(2, '\0');
  return s + header + data;
}

std::string npy_floats(const std::vector<float>& v) {
  return {reinterpret_cast<const char*>(v.data()), v.size() * sizeof(float)};
}

TEST(Npy, ReadsWhatNumpyWrites) {
  const auto t = parse(file("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
                            npy_floats({1, 2, 3, 4, 5, 6})));
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_EQ(t->type(), (TensorType{DType::f32, {2, 3}}));
  EXPECT_EQ(t->span<float>()[5], 6);
}

TEST(Npy, ReadsColumnsFirst) {
  const auto t = parse(file("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }",
                            npy_floats({1, 4, 2, 5, 3, 6})));
  ASSERT_TRUE(t) << t.error().message();
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(t->span<float>()[static_cast<std::size_t>(i)], static_cast<float>(i + 1));
}

TEST(Npy, ReadsScalarsAndVectorsAndOtherVersions) {
  const auto scalar =
      parse(file("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", npy_floats({7})));
  ASSERT_TRUE(scalar);
  EXPECT_EQ(scalar->shape().rank(), 0U);
  const auto vector = parse(
      file("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", npy_floats({7, 8}), 3));
  ASSERT_TRUE(vector) << vector.error().message();
  EXPECT_EQ(vector->shape(), (Shape{2}));
  const auto empty = parse(file("{'descr': '|u1', 'fortran_order': True, 'shape': (0, 4), }", ""));
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->shape(), (Shape{0, 4}));
}

TEST(Npy, WritesWhatItReads) {
  for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8, DType::i64,
                      DType::u16, DType::boolean}) {
    const TensorType type{dtype, {3, 1, 2}};
    std::vector<std::byte> bytes(type.bytes());
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<std::byte>(dtype == DType::boolean ? i & 1 : i * 7);
    const TensorView view{type, bytes.data()};
    const auto file_bytes = npy_bytes(view);
    ASSERT_TRUE(file_bytes);
    EXPECT_EQ((file_bytes->size() - bytes.size()) % 64, 0U) << "numpy wants the data aligned";
    const auto back = parse(*file_bytes);
    ASSERT_TRUE(back) << back.error().message();
    EXPECT_EQ(back->type(), type);
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), back->data()));
  }
}

TEST(Npy, RefusesWhatIsBroken) {
  const std::string good =
      file("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", npy_floats({1, 2}));
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_FALSE(parse(good.substr(0, length))) << length;
  EXPECT_FALSE(
      parse(file("{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", npy_floats({1, 2}))));
  EXPECT_FALSE(
      parse(file("{'descr': '<U3', 'fortran_order': False, 'shape': (2,), }", npy_floats({1, 2}))));
  EXPECT_FALSE(parse(file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }",
                          npy_floats({1, 2}))));
  EXPECT_FALSE(parse(file("{'descr': '<f4', 'shape': (-2,), }", npy_floats({1, 2}))));
  EXPECT_FALSE(parse(
      file("{'descr': '<f4', 'shape': (9999999999999, 9999999999999), }", npy_floats({1, 2}))));
  EXPECT_FALSE(parse(file("{'descr': '<f4', 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2), }",
                          npy_floats({1, 2}))));
  EXPECT_FALSE(parse("<html>"));
  EXPECT_EQ(read_npy("/nowhere/x.npy").error().code(), Code::not_found);
}

TEST(Npy, RefusesStrings) {
  EXPECT_EQ(npy_bytes({{DType::string, {0}}, nullptr}).error().code(), Code::unsupported);
}

}  // namespace
}  // namespace quern::tools
