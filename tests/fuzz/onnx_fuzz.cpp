// SPDX-License-Identifier: Apache-2.0
// Any bytes as an ONNX model, and as a value file of each kind. What imports must be sound, print,
// and stay sound through all passes.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "frontends/onnx-parser/onnx_parser.h"
#include "graph/passes/pipeline.h"
#include "graph/text.h"
#include "graph/verify.h"

namespace {

using namespace quern;  // NOLINT

// Touches every byte of a tensor: what it promises must be there.
void read_all(const Tensor& t) {
  Graph g(builtin_ops());
  g.add_output(g.add_constant(t), "t");
  (void)to_text(g, {.max_elements = 1 << 16});
}

// A model that inference refuses once more is known is no mistake of ours.
void want_sound(const Graph& g, std::string_view when) {
  const Status s = verify(g);
  if (s.code() != Code::internal) return;
  std::fprintf(stderr, "%s: %s\n%s\n", std::string(when).c_str(), std::string(s.message()).c_str(),
               to_text(g).c_str());
  std::abort();
}

void import_model(std::span<const std::byte> bytes) {
  const ImportOptions options{.max_import_bytes = 16 << 20};
  auto model = parse_onnx(bytes, nullptr, "", builtin_ops(), options);
  if (!model) return;
  want_sound(model->graph, "imported");
  (void)to_text(model->graph, {.max_elements = 1 << 12});
  (void)run_passes(model->graph);  // an error leaves a valid graph
  want_sound(model->graph, "rewritten");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  import_model(bytes);
  using Kind = ValueType::Kind;
  for (Kind kind : {Kind::tensor, Kind::sequence, Kind::optional_tensor})
    if (const auto value = parse_tensor_file(bytes, nullptr, {DType::f32, std::nullopt, kind}))
      for (const Tensor& t : value->tensors) read_all(t);
  return 0;
}
