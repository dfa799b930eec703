// SPDX-License-Identifier: Apache-2.0
// The tables of an artefact with any bytes changed, under the right hash: an error, or an
// executable whose runs stay within memory. An input is a list of changes of four bytes each: two
// of a place, a way and a value.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include <quern/artefact.h>
#include <quern/graph_builder.h>
#include <quern/session.h>

#include "engine/vocabulary/content_hash.h"

namespace {

using namespace quern;  // NOLINT

constexpr std::size_t header_bytes = 72;
constexpr std::size_t hash_at = 40;

Model small_net() {
  GraphBuilder g("net");
  const Operand x = g.input("x", DType::f32, {2, 8, 6, 6});
  const auto weights = [&](const Shape& shape) {
    return g.constant(Tensor::zeros({DType::f32, shape}).value());
  };
  Operand y = g.relu(g.conv(x, weights({16, 8, 3, 3}), {}, {.pads = {1, 1, 1, 1}}));
  y = g.op("Concat", {y, g.sigmoid(y)}, "axis=1");
  y = g.reshape(g.global_average_pool(y), {0, -1});
  g.output("y", g.softmax(g.matmul(y, weights({32, 10}))));
  g.output("z", g.op("Transpose", {x}, "perm=[0,2,3,1]"));
  return g.build().value();
}

// The file, whose tables change.
struct File {
  File() {
    const Artefact artefact =
        Artefact::make(Executable::compile(small_net(), nullptr, {.threads = 1}).value()).value();
    size = artefact.contents().bytes;
    bytes = artefact.in_memory().value();
    std::uint64_t table_bytes = 0;
    std::memcpy(&table_bytes, bytes.get() + 16, sizeof table_bytes);
    tables = {bytes.get() + header_bytes, table_bytes};
    before.assign(tables.begin(), tables.end());
  }

  std::shared_ptr<std::byte> bytes;
  std::size_t size = 0;
  std::span<std::byte> tables;
  std::vector<std::byte> before;
};

void change(std::span<std::byte> tables, std::span<const std::uint8_t, 4> by) {
  const std::size_t at = (std::size_t{by[0]} << 8 | by[1]) % tables.size();
  switch (by[2] % 4) {
    case 0: tables[at] = std::byte{by[3]}; break;
    case 1: tables[at] ^= static_cast<std::byte>(1U << by[3] % 8); break;
    case 2:
      std::fill_n(tables.begin() + static_cast<std::ptrdiff_t>(at),
                  std::min<std::size_t>(8, tables.size() - at), std::byte{by[3]});
      break;
    default:
      std::rotate(
          tables.begin() + static_cast<std::ptrdiff_t>(at),
          tables.begin() + static_cast<std::ptrdiff_t>(std::min(at + 1 + by[3], tables.size() - 1)),
          tables.end());
  }
}

void run(const std::shared_ptr<const Executable>& executable) {
  const auto session = Session::create(executable);
  if (!session) return;
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < executable->inputs().size(); ++i) {
    const ValueSpec& spec = executable->inputs()[i];
    std::vector<std::int64_t> dims = spec.dims;
    std::ranges::replace_if(
        dims, [](std::int64_t d) { return d < 0; }, 1);
    const TensorType type{spec.dtype, Shape(dims)};
    constexpr std::size_t most = 1 << 20;
    if (!type.shape.checked_elements(size_of(type.dtype)) || type.bytes() > most) return;
    auto zeros = Tensor::zeros(type);
    if (!zeros || !(*session)->set_input(i, zeros->view()).ok()) return;
    inputs.push_back(std::move(*zeros));
  }
  (void)(*session)->run();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const File file;
  std::ranges::copy(file.before, file.tables.begin());
  for (std::size_t i = 0; i + 4 <= size && i < 64; i += 4)
    change(file.tables, std::span<const std::uint8_t, 4>(data + i, 4));
  const ContentHash hash = content_hash(file.tables);
  std::memcpy(file.bytes.get() + hash_at, hash.data(), sizeof hash);
  LoadOptions options;
  options.compile.memory_limit = 64 << 20;
  const auto loaded = parse_artefact({file.bytes.get(), file.size}, file.bytes, nullptr, options);
  if (loaded) run(*loaded);
  return 0;
}
