// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/expect.h"
#include "tests/onnx-parser/import_test.h"

namespace quern::onnx_test {
namespace {

namespace fs = std::filesystem;

class ExternalData : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "quern-external-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    fs::create_directories(root_ / "model" / "sub");
    write(root_ / "outside.bin", std::string(64, 'x'));
    write(root_ / "model" / "w.bin", "...." + bytes_of<float>({1, 2, 3}));
    write(root_ / "model" / "sub" / "w.bin", bytes_of<float>({4}));
  }
  void TearDown() override { fs::remove_all(root_); }

  static void write(const fs::path& path, std::string_view bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  static Message external(std::int64_t dtype, std::initializer_list<std::int64_t> dims,
                          std::initializer_list<std::pair<std::string_view, std::string_view>> e) {
    Message m = tensor_header("w", dtype, dims);
    for (const auto& [key, value] : e) m.message(13, Message().text(1, key).text(2, value));
    return m.number(14, 1);
  }
  // Writes the model into the folder and loads it from there.
  std::string load(const Message& tensor) {
    const std::string bytes = make_model(GraphParts{.nodes = {node("Identity", {"w"}, {"y"})},
                                                    .outputs = {Message().text(1, "y")},
                                                    .initializers = {tensor}});
    write(root_ / "model" / "model.onnx", bytes);
    const auto m = load_onnx((root_ / "model" / "model.onnx").string(), builtin_ops());
    if (!m) return "error: " + std::string(m.error().message());
    return body_of(to_text(m->graph, {.names = false}));
  }
  std::string load_location(std::string_view location) {
    return load(external(f32, {1}, {{"location", location}}));
  }

  fs::path root_;
};

TEST_F(ExternalData, IsFoundInTheModelsFolderAndBelow) {
  EXPECT_CONTAINS(
      load(external(
          f32, {2},
          {{"location", "w.bin"}, {"offset", "8"}, {"length", "8"}, {"checksum", "ignored"}})),
      "f32[2] = {2, 3}");
  EXPECT_CONTAINS(load(external(f32, {3}, {{"location", "./w.bin"}, {"offset", "4"}})),
                  "f32[3] = {1, 2, 3}");
  EXPECT_CONTAINS(load_location("sub/w.bin"), "f32[1] = {4}");
  EXPECT_CONTAINS(load_location("sub//w.bin"), "f32[1] = {4}");
}

TEST_F(ExternalData, FourBitIntegersAreUnpacked) {
  EXPECT_CONTAINS(load(external(u4, {3}, {{"location", "outside"}})), "No such file");
  write(root_ / "model" / "q.bin", "\x21\x03");
  EXPECT_CONTAINS(load(external(u4, {3}, {{"location", "q.bin"}})), "u4[3] = {1, 2, 3}");
}

// A small model may have large tensors where their bytes are there.
TEST_F(ExternalData, ItsBytesCountForTheLimit) {
  constexpr std::int64_t count = 8192;
  write(root_ / "model" / "q.bin", "");
  fs::resize_file(root_ / "model" / "q.bin", count / 2);
  const std::string bytes =
      make_model(GraphParts{.nodes = {node("Identity", {"w"}, {"y"})},
                            .outputs = {Message().text(1, "y")},
                            .initializers = {external(u4, {count}, {{"location", "q.bin"}})}});
  const std::string path = (root_ / "model" / "model.onnx").string();
  write(path, bytes);
  ImportOptions few;
  few.max_import_bytes = 4096;
  const auto m = load_onnx(path, builtin_ops(), few);
  EXPECT_TRUE(m) << m.error().message();
}

// An error of an earlier call is none of the file's.
TEST_F(ExternalData, IsReadWhateverErrnoHoldsBefore) {
  errno = EINTR;
  const auto file = open_file((root_ / "model" / "w.bin").string(), FileBytes::read);
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->text(), "...." + bytes_of<float>({1, 2, 3}));
}

TEST_F(ExternalData, NothingOutsideOfTheFolderIsOpened) {
  EXPECT_CONTAINS(load_location("../outside.bin"), "'..' is refused");
  EXPECT_CONTAINS(load_location("sub/../w.bin"), "'..' is refused");
  EXPECT_CONTAINS(load_location((root_ / "outside.bin").string()), "absolute paths are refused");
  EXPECT_CONTAINS(load_location(""), "the location is empty");
  EXPECT_CONTAINS(load_location("./"), "names no file");
  EXPECT_CONTAINS(load_location(std::string_view("w.bin\0x", 7)), "zero byte");
}

TEST_F(ExternalData, SymbolicLinksAreRefusedWhereverTheyStand) {
  fs::create_symlink(root_ / "outside.bin", root_ / "model" / "link.bin");
  fs::create_directory_symlink(root_, root_ / "model" / "up");
  fs::create_symlink(root_ / "model" / "w.bin", root_ / "model" / "inner.bin");
  EXPECT_CONTAINS(load_location("link.bin"), "symbolic links are refused");
  EXPECT_CONTAINS(load_location("up/outside.bin"), "symbolic links are refused");
  EXPECT_CONTAINS(load_location("inner.bin"), "symbolic links are refused");
}

TEST_F(ExternalData, OnlyRegularFilesAreRead) {
  ASSERT_EQ(::mkfifo((root_ / "model" / "pipe").c_str(), 0600), 0);
  EXPECT_CONTAINS(load_location("pipe"), "not a regular file");
  EXPECT_CONTAINS(load_location("sub"), "not a regular file");
  EXPECT_CONTAINS(load_location("missing.bin"), "No such file");
  EXPECT_CONTAINS(load_location("w.bin/x"), "Not a directory");
}

TEST_F(ExternalData, OffsetAndLengthAreCheckedAgainstTheFile) {
  const auto with = [&](std::string_view offset, std::string_view length) {
    return load(
        external(f32, {2}, {{"location", "w.bin"}, {"offset", offset}, {"length", length}}));
  };
  EXPECT_CONTAINS(with("12", "8"), "offset 12 and length 8 reach past the 16 bytes");
  EXPECT_CONTAINS(with("18446744073709551615", "8"), "reach past");
  EXPECT_CONTAINS(with("8", "18446744073709551615"), "reach past");
  EXPECT_CONTAINS(with("0", "4"), "has 4 bytes, but f32[2] takes 8");
  EXPECT_CONTAINS(with("-1", "8"), "offset is '-1', wants a number");
  EXPECT_CONTAINS(with("8x", "8"), "offset is '8x', wants a number");
  EXPECT_CONTAINS(with("99999999999999999999", "8"), "wants a number");
}

TEST_F(ExternalData, StringsCannotBeExternal) {
  EXPECT_CONTAINS(load(external(onnx_test::text, {1}, {{"location", "w.bin"}})),
                  "strings cannot be external data");
}

TEST_F(ExternalData, AModelFromMemoryHasNone) {
  const std::string bytes =
      make_model(GraphParts{.initializers = {external(f32, {1}, {{"location", "w.bin"}})}});
  EXPECT_CONTAINS(error_of(bytes), "not read from a file");
  const auto m = import(bytes, {}, (root_ / "model").string());
  EXPECT_TRUE(m) << m.error().message();
}

TEST_F(ExternalData, FilesThatAreNoModelsAreExplained) {
  const auto why = [&](std::string_view bytes) {
    write(root_ / "model" / "m.onnx", bytes);
    return std::string(
        load_onnx((root_ / "model" / "m.onnx").string(), builtin_ops()).error().message());
  };
  EXPECT_CONTAINS(why("version https://git-lfs.github.com/spec/v1\n"), "Git LFS pointer");
  EXPECT_CONTAINS(why("<!DOCTYPE html><html>"), "web page");
  EXPECT_CONTAINS(why(""), "it is empty");
  EXPECT_CONTAINS(why("\x08\x08"), "it has no graph");
  EXPECT_CONTAINS(std::string(load_onnx("no/such/file.onnx", builtin_ops()).error().message()),
                  "no/such/file.onnx: No such file");
  EXPECT_CONTAINS(
      std::string(load_onnx((root_ / "model").string(), builtin_ops()).error().message()),
      "not a regular file");
}

}  // namespace
}  // namespace quern::onnx_test
