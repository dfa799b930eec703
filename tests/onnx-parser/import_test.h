// SPDX-License-Identifier: Apache-2.0
// Importing a file made by onnx_writer.h, and looking at what came out.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontends/onnx-parser/onnx_parser.h"
#include "graph/text.h"
#include "graph/verify.h"
#include "kernels/contract/kernel.h"
#include "tests/onnx-parser/onnx_writer.h"

namespace quern::onnx_test {

inline std::span<const std::byte> as_bytes(std::string_view s) {
  return {reinterpret_cast<const std::byte*>(s.data()), s.size()};
}

// Imports a copy of the bytes that the graph owns, so that a read past their end is seen by ASan.
inline Result<OnnxModel> import(std::string_view model, const ImportOptions& options = {},
                                const std::string& folder = "") {
  auto copy = std::shared_ptr<char[]>(new char[model.size()]);
  if (!model.empty()) std::memcpy(copy.get(), model.data(), model.size());
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(copy.get()),
                                         model.size());
  auto imported = parse_onnx(bytes, copy, folder, builtin_ops(), options);
  if (imported) {
    const Status sound = verify(imported->graph);
    EXPECT_TRUE(sound.ok()) << sound.message();
  }
  return imported;
}

// The text form, or the error after "error: ".
inline std::string imported(std::string_view model) {
  const auto m = import(model);
  return m ? to_text(m->graph, {.names = false}) : "error: " + std::string(m.error().message());
}
inline std::string imported_with_names(std::string_view model) {
  const auto m = import(model);
  return m ? to_text(m->graph) : "error: " + std::string(m.error().message());
}
inline std::string error_of(std::string_view model) {
  const auto m = import(model);
  EXPECT_FALSE(m) << "an error was expected, but: " << (m ? to_text(m->graph) : "");
  return m ? "" : std::string(m.error().message());
}

// The lines that import to nodes of a model of one node: (x0, x1, ...) -> (y0, ...), each of the
// given type, "" for one that is left out.
struct OneNode {
  std::string_view op;
  std::vector<Message> types;  // an empty message: left out
  Messages attributes;
  std::int64_t version = 17;
  std::size_t outputs = 1;
  Messages initializers;  // named x0, x1, ...: constants
  std::string_view domain;
  std::int64_t domain_version = 1;
};
inline std::string model_of(const OneNode& one) {
  static const Names in = {"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8"};
  static const Names out = {"y0", "y1", "y2", "y3", "y4"};
  GraphParts g;
  Names inputs;
  for (std::size_t i = 0; i < one.types.size(); ++i) {
    const bool given = !one.types[i].bytes().empty();
    inputs.push_back(given ? in[i] : "");
    if (given) g.inputs.push_back(value(in[i], one.types[i]));
  }
  g.nodes = {node(one.op, inputs, Names(out.begin(), out.begin() + static_cast<long>(one.outputs)),
                  one.attributes, {.name = "n", .domain = one.domain})};
  for (std::size_t i = 0; i < one.outputs; ++i) g.outputs.push_back(Message().text(1, out[i]));
  g.initializers = one.initializers;
  Messages opsets = {opset("", one.version)};
  if (!one.domain.empty()) opsets.push_back(opset(one.domain, one.domain_version));
  return make_model(make_graph(g), {.opsets = opsets});
}
// Only the lines that make values, without indentation.
inline std::string body_of(const std::string& text) {
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin != std::string::npos &&
        (line[begin] == '%' || line.substr(begin, 5) == "const" || line.substr(0, 5) == "error"))
      out += line.substr(begin) + "\n";
    at = end + 1;
  }
  return out;
}
inline std::string nodes_of(const OneNode& one) {
  return body_of(imported(model_of(one)));
}

}  // namespace quern::onnx_test
