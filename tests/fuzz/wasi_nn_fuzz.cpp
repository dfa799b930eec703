// SPDX-License-Identifier: Apache-2.0
// Any bytes as the memory of a wasi-nn guest, which is also the model that it loads, and, from its
// end on, the calls that it makes, of both ABIs, to that model and to a language model: each gets
// an answer, and nothing is left when the guest is gone.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

#include "frontends/wasi-nn/wit.h"
#include "frontends/wasi-nn/witx.h"
#include "tests/wasi-nn/models.h"
#include "tests/wasi-nn/scripted_prompts.h"

namespace {

using namespace quern;           // NOLINT
using namespace quern::wasi_nn;  // NOLINT

constexpr std::size_t most_calls = 60, most_bytes = 1 << 20;

std::shared_ptr<Tenant> poor_tenant() {
  TenantOptions options;
  options.threads = 1;
  options.limits.most.graphs = options.limits.most.contexts = 8;
  options.limits.most.model_bytes = options.limits.most.resident_bytes = 1 << 20;
  options.limits.deadline = std::chrono::milliseconds(200);
  auto tenant = Tenant::create(options);
  static const std::string decoder = wasi_nn_test::add_model();
  if (!wasi_nn_test::add_script(*tenant, "c", wasi_nn_test::as_bytes(decoder), {}).ok())
    std::abort();
  return tenant;
}

bool is_errno(std::uint32_t answer) {
  return answer <= 8 || (answer >= 100 && answer <= 103);
}

// The bytes, and after them the record of a part that is all of them, one of a tensor, a name, and
// one of a text that is all of them.
class FakeGuest {
 public:
  FakeGuest(std::shared_ptr<Instance> instance, std::span<const std::uint8_t> bytes)
      : instance_(std::move(instance)),
        given_(static_cast<std::uint32_t>(bytes.size())),
        size_(bytes.size() + 68),
        memory_(new std::byte[size_]()) {
    const std::uint32_t words[] = {0, given_, given_ + 28, 2, 1, given_, 16, 1,     4,
                                   0, 0,      'c',         0, 0, 3,      0,  given_};
    if (given_ > 0) std::memcpy(memory_.get(), bytes.data(), bytes.size());
    std::memcpy(memory_.get() + given_, words, sizeof words);
  }

  void call(std::size_t row_index, const std::array<std::uint32_t, 5>& arguments) {
    const std::size_t known = witx_imports().size();
    row_index %= known + wit_imports().size();
    const Import& row =
        row_index < known ? witx_imports()[row_index] : wit_imports()[row_index - known];
    move(size_);
    Guest guest{{memory_.get(), size_}, &FakeGuest::make_room, this};
    const std::uint32_t answer = row.call(*instance_, guest, arguments.data());
    if (is_errno(answer) || row_index >= known) return;
    std::fprintf(stderr, "%s answered %u\n", row.name, answer);
    std::abort();
  }
  // Where cabi_realloc says that there is room: from 1 on it tells lies.
  std::uint8_t liar = 0;

  // Handles 1 and 2 are a graph of itself and a context, 3 and 4 those of the language model; where
  // it is no model, 1 and 2 are the latter.
  void load_both() {
    call(0, {given_, 1, 1, 0, given_ + 36});
    call(3, {1, given_ + 36});
    call(1, {given_ + 44, 1, given_ + 36});
    for (const std::uint32_t graph : {3, 1}) call(3, {graph, given_ + 36});
    for (const std::uint32_t context : {2, 4}) call(4, {context, 0, given_ + 48});
  }

  // Two bytes of the input say what an argument is: a small number, a record, or a word of the
  // memory.
  std::uint32_t argument(std::uint8_t kind, std::uint8_t which) const {
    if (kind < 128) return which % 8;
    if (kind < 192) return given_ + which % 72;
    std::uint32_t word = which;
    if (4 * std::size_t{which} + 4 <= size_)
      std::memcpy(&word, memory_.get() + 4 * std::size_t{which}, sizeof word);
    return word;
  }

 private:
  // Memory of exactly its size, so that a step beyond it is seen.
  void move(std::size_t bytes) {
    std::unique_ptr<std::byte[]> moved(new std::byte[bytes]());
    std::memcpy(moved.get(), memory_.get(), std::min(size_, bytes));
    memory_ = std::move(moved);
    size_ = bytes;
  }
  static bool make_room(Guest& guest, std::uint32_t, std::uint32_t bytes, std::uint32_t* at) {
    auto& self = *static_cast<FakeGuest*>(guest.host);
    const std::size_t wanted = self.size_ + bytes;
    if (wanted > most_bytes) return false;
    *at = self.liar > 0 ? self.argument(self.liar, self.liar) : std::uint32_t(self.size_);
    self.move(self.liar % 2 ? self.given_ : wanted);
    guest.memory = {self.memory_.get(), self.size_};
    return true;
  }

  std::shared_ptr<Instance> instance_;
  std::uint32_t given_;
  std::size_t size_;
  std::unique_ptr<std::byte[]> memory_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 1 << 16) return 0;
  const auto tenant = poor_tenant();
  {
    constexpr std::size_t bytes_per_call = 11;
    FakeGuest guest(Instance::create(tenant), {data, size});
    guest.load_both();
    for (std::size_t i = 1; i <= most_calls && i * bytes_per_call <= size; ++i) {
      const std::uint8_t* bytes = data + size - i * bytes_per_call;
      std::array<std::uint32_t, 5> arguments{};
      for (std::size_t k = 0; k < 5; ++k)
        arguments[k] = guest.argument(bytes[1 + 2 * k], bytes[2 + 2 * k]);
      guest.liar = bytes[0] < 240 ? 0 : bytes[0];
      guest.call(bytes[0], arguments);
    }
  }
  if (tenant->remove("c").ok() && tenant->usage() == Counts()) return 0;
  std::fprintf(stderr, "the guest is gone, but not all that it held\n");
  std::abort();
}
