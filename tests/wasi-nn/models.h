// SPDX-License-Identifier: Apache-2.0
// Small models as ONNX bytes.
#pragma once

#include <span>
#include <string>

#include "frontends/wasi-nn/instance.h"
#include "tests/onnx-parser/onnx_writer.h"

namespace quern::wasi_nn_test {

namespace onnx = quern::onnx_test;

// a f32[N,4], b f32[4] -> sum f32[N,4] = a + b, arg i64[N] = the largest of each row
inline std::string add_model() {
  onnx::GraphParts g;
  g.inputs = {onnx::value("a", onnx::f32, {"N", 4}), onnx::value("b", onnx::f32, {4})};
  g.nodes = {onnx::node("Add", {"a", "b"}, {"sum"}),
             onnx::node("ArgMax", {"sum"}, {"arg"},
                        {onnx::integer("axis", 1), onnx::integer("keepdims", 0)})};
  g.outputs = {onnx::value("sum", onnx::f32, {"N", 4}), onnx::value("arg", onnx::i64, {"N"})};
  return onnx::make_model(g);
}

// x [N] -> y [N] = x
inline std::string identity_model(onnx::OnnxType dtype = onnx::f32) {
  onnx::GraphParts g;
  g.inputs = {onnx::value("x", dtype, {"N"})};
  g.nodes = {onnx::node("Identity", {"x"}, {"y"})};
  g.outputs = {onnx::value("y", dtype, {"N"})};
  return onnx::make_model(g);
}

// x f32 -> y f32 = factor * x, both scalars
inline std::string scale_model(float factor) {
  onnx::GraphParts g;
  g.inputs = {onnx::value("x", onnx::f32, {})};
  g.initializers = {onnx::floats("factor", {}, {factor})};
  g.nodes = {onnx::node("Mul", {"x", "factor"}, {"y"})};
  g.outputs = {onnx::value("y", onnx::f32, {})};
  return onnx::make_model(g);
}

// a f32[M,K], b f32[L,N] -> product: shapes that fit the declaration need not fit each other
inline std::string product_model() {
  onnx::GraphParts g;
  g.inputs = {onnx::value("a", onnx::f32, {"M", "K"}), onnx::value("b", onnx::f32, {"L", "N"})};
  g.nodes = {onnx::node("MatMul", {"a", "b"}, {"product"})};
  g.outputs = {onnx::value("product", onnx::f32, {"M", "N"})};
  return onnx::make_model(g);
}

// x f32[512,512], multiplied by itself in a chain: some tenths of a second
inline std::string slow_model(int links = 400) {
  std::vector<std::string> names = {"x"};
  for (int i = 0; i < links; ++i) names.push_back("y" + std::to_string(i));
  onnx::GraphParts g;
  g.inputs = {onnx::value("x", onnx::f32, {512, 512})};
  for (int i = 0; i < links; ++i)
    g.nodes.push_back(onnx::node("MatMul", {names[static_cast<std::size_t>(i)], "x"},
                                 {names[static_cast<std::size_t>(i) + 1]}));
  g.outputs = {onnx::value(names.back(), onnx::f32, {512, 512})};
  return onnx::make_model(g);
}

inline wasi_nn::Bytes as_bytes(std::string_view s) {
  return std::as_bytes(std::span(s));
}
template <class T>
wasi_nn::Bytes as_bytes(const std::vector<T>& v) {
  return std::as_bytes(std::span(v));
}

}  // namespace quern::wasi_nn_test
