// SPDX-License-Identifier: Apache-2.0
#include "tools/optimize/model_file.h"

#include <array>
#include <filesystem>
#include <span>
#include <utility>
#include <vector>

#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/text_util.h"
#include "engine/vocabulary/whole_file.h"

namespace quern::tools {
namespace {

constexpr std::size_t least_external = 1024;
constexpr std::size_t alignment = 4096;  // so that readers may map each constant

// The message with its large constants named by their places in the second file.
struct SplitModel {
  onnx::ModelProto message;
  std::vector<std::string_view> pieces;  // of the second file
  std::size_t bytes = 0;                 // of it
};

SplitModel split(const EditedModel& model, const std::string& data_name, onnx::TextPool& texts) {
  static const std::string padding(alignment, '\0');
  SplitModel s{.message = model.message()};
  const std::string_view location = texts.keep(std::string(data_name));
  for (onnx::TensorProto& t : s.message.graph[0].initializers) {
    if (!t.has_raw || t.raw.size() < least_external) continue;
    const std::size_t at = round_up(s.bytes, alignment);
    if (at > s.bytes) s.pieces.push_back(std::string_view(padding).substr(0, at - s.bytes));
    s.pieces.push_back(t.raw);
    s.bytes = at + t.raw.size();
    t.external = {{"location", location},
                  {"offset", texts.keep(cat(at))},
                  {"length", texts.keep(cat(t.raw.size()))}};
    t.raw = {};
    t.has_raw = false;
    t.is_external = true;
  }
  return s;
}

}  // namespace

std::size_t constant_bytes(const EditedModel& model) {
  std::size_t bytes = 0;
  for (const onnx::TensorProto& t : model.graph().initializers) {
    bytes += t.name.size() + t.raw.size() + 16;
    if (!t.has_raw)  // the message itself
      for (const std::string_view part : t.parts) bytes += part.size();
  }
  return bytes;
}

Result<WrittenFile> write_model_file(const EditedModel& model, const std::string& path,
                                     std::size_t external_above) {
  std::string whole;
  if (constant_bytes(model) <= external_above) whole = model.bytes();
  if (!whole.empty() && whole.size() <= external_above) {
    const std::array<std::string_view, 1> pieces = {whole};
    QUERN_TRY(write_whole_file(path, pieces, OnSignal::removes));
    return WrittenFile{.bytes = whole.size()};
  }
  const std::string data = path + ".data";
  onnx::TextPool texts;
  const SplitModel s = split(model, std::filesystem::path(data).filename().string(), texts);
  const std::string message = onnx::write_model(s.message);
  if (message.size() > most_message_bytes)
    return Status(Code::unsupported,
                  cat("the file would have ", message.size(),
                      " bytes without its constants, the most is ", most_message_bytes));
  if (!s.pieces.empty()) QUERN_TRY(write_whole_file(data, s.pieces, OnSignal::removes));
  const std::array<std::string_view, 1> pieces = {message};
  QUERN_TRY(write_whole_file(path, pieces, OnSignal::removes));
  return WrittenFile{.bytes = message.size(), .external_bytes = s.bytes};
}

}  // namespace quern::tools
