// SPDX-License-Identifier: Apache-2.0
// Source: the SPIR-V specification 1.6: "Physical Layout of a SPIR-V Module and Instruction",
// "Universal Limits", "Binary Form".
#include "engine/devices/vulkan/spirv_interface.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "engine/vocabulary/text_util.h"

namespace quern::vulkan {
namespace {

constexpr std::size_t header_words = 5;
constexpr std::uint32_t most_ids = 4'194'303;

// An instruction, whose missing words read as 0.
class Instruction {
 public:
  explicit Instruction(std::span<const std::uint32_t> words) : words_(words) {}
  std::uint32_t op() const { return words_[0] & 0xffff; }
  std::size_t size() const { return words_.size(); }
  std::uint32_t operator[](std::size_t i) const { return i < words_.size() ? words_[i] : 0; }
  // The text from word i on, four characters in each; cut where no zero ends it.
  std::string text(std::size_t i) const {
    std::string text;
    for (; i < words_.size(); ++i)
      for (int byte = 0; byte < 4; ++byte) {
        const char c = static_cast<char>(words_[i] >> (8 * byte));
        if (c == '\0') return text;
        text += c;
      }
    return text;
  }

 private:
  std::span<const std::uint32_t> words_;
};

// Sizes of types: scalars, vectors, arrays of a known length and structs with offsets.
class SpirvReader {
 public:
  explicit SpirvReader(std::span<const std::uint32_t> words) : words_(words) {}

  Result<SpirvInterface> run() {
    QUERN_TRY(read_header());
    QUERN_TRY(each_instruction([this](const Instruction& w) { note(w); }));
    QUERN_TRY(each_instruction([this](const Instruction& w) { read(w); }));
    if (last_ != op_function_end) return wrong("ends before its last function does");
    if (entry_points_ != 1 || !has_main_)
      return wrong(cat("has ", entry_points_, " entry points",
                       entry_points_ ? ", or another one than a compute shader's called main" : "",
                       "; wanted one, a compute shader's called main"));
    return std::move(interface_);
  }

 private:
  enum : std::uint32_t {
    op_entry_point = 15,
    op_execution_mode = 16,
    op_capability = 17,
    op_type_int = 21,
    op_type_float = 22,
    op_type_vector = 23,
    op_type_array = 28,
    op_type_struct = 30,
    op_type_pointer = 32,
    op_constant = 43,
    op_spec_constant_composite = 51,
    op_function_end = 56,
    op_variable = 59,
    op_decorate = 71,
    op_member_decorate = 72,
    spec_id = 1,
    array_stride = 6,
    push_constant = 9,
    built_in = 11,
    local_size = 17,
    non_writable = 24,
    workgroup_size = 25,
    binding = 33,
    offset = 35,
    gl_compute = 5
  };

  static Status wrong(const std::string& why) {
    return {Code::invalid_argument, cat("the SPIR-V module ", why)};
  }

  Status read_header() {
    constexpr std::uint32_t magic = 0x07230203;
    constexpr std::uint32_t swapped = 0x03022307;
    if (words_.size() < header_words)
      return wrong(cat("has ", words_.size(), " words, a header alone has ", header_words));
    if (words_[0] == swapped) return wrong("has its bytes in another order than this machine");
    if (words_[0] != magic) return wrong(cat("begins with ", words_[0], ", wanted ", magic));
    const std::uint32_t version = words_[1];
    if (version < 0x00010000 || version > 0x00010600 || (version & 0xff) != 0)
      return wrong(
          cat("is of version ", version >> 16, ".", version >> 8 & 0xff, ", wanted 1.0 to 1.6"));
    if (words_[3] == 0 || words_[3] > most_ids)
      return wrong(cat("has ids up to ", words_[3], ", wanted 1 to ", most_ids));
    if (words_[4] != 0) return wrong(cat("is of schema ", words_[4], ", wanted 0"));
    interface_.version = version;
    return {};
  }

  template <class F>
  Status each_instruction(const F& f) const {
    for (std::size_t at = header_words; at < words_.size();) {
      const std::uint32_t count = words_[at] >> 16;
      if (count == 0 || count > words_.size() - at)
        return wrong(
            cat("has an instruction of ", count, " words at word ", at, " of ", words_.size()));
      f(Instruction(words_.subspan(at, count)));
      at += count;
    }
    return {};
  }

  void note(const Instruction& w) {
    const std::uint32_t op = w.op();
    last_ = op;
    if (op == op_capability) interface_.capabilities.insert(w[1]);
    if (op == op_entry_point) {
      ++entry_points_;
      has_main_ = w[1] == gl_compute && w.text(3) == "main";
    }
    if (op == op_execution_mode && w[2] == local_size)
      interface_.fixed_invocations = product(product(w[3], w[4]), w[5]);
    if (op == op_decorate) note_decoration(w);
    if (op == op_member_decorate && w[3] == non_writable) readonly_.insert(w[1]);
    if (op == op_member_decorate && w[3] == offset) offsets_[w[1]][w[2]] = w[4];
    if (op == op_constant) constants_[w[2]] = w[3];
    if (op == op_type_pointer) pointed_[w[1]] = w[3];
    note_type(w);
  }

  void note_decoration(const Instruction& w) {
    if (w[2] == spec_id) {
      interface_.constants.insert(w[3]);
      spec_ids_[w[1]] = w[3];
    }
    if (w[2] == built_in && w[3] == workgroup_size) size_of_group_ = w[1];
    if (w[2] == binding) {
      interface_.bindings.insert(w[3]);
      bindings_[w[1]] = w[3];
    }
    if (w[2] == array_stride) strides_[w[1]] = w[3];
  }

  void note_type(const Instruction& w) {
    switch (w.op()) {
      case op_type_int:
      case op_type_float: sizes_[w[1]] = w[2] / 8; break;
      case op_type_vector: sizes_[w[1]] = product(sizes_[w[2]], w[3]); break;
      case op_type_array: sizes_[w[1]] = product(strides_[w[1]], constants_[w[3]]); break;
      case op_type_struct: {
        if (w.size() <= 2) break;
        const auto last = static_cast<std::uint32_t>(w.size() - 3);
        sizes_[w[1]] = std::min(offsets_[w[1]][last] + sizes_[w[2 + last]], most_bytes);
        break;
      }
      default: break;
    }
  }

  void read(const Instruction& w) {
    if (w.op() == op_spec_constant_composite && w[2] == size_of_group_)
      if (const auto id = spec_ids_.find(w[3]); id != spec_ids_.end()) {
        interface_.width_constant = id->second;
        interface_.fixed_invocations = 0;
      }
    if (w.op() != op_variable) return;
    const std::uint32_t type = pointed_[w[1]];
    if (w[3] == push_constant) interface_.push_bytes = sizes_[type];
    if (const auto b = bindings_.find(w[2]); b != bindings_.end() && !readonly_.contains(type))
      interface_.written.insert(b->second);
  }

  static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 40;
  static std::uint64_t product(std::uint64_t a, std::uint64_t b) {
    return a != 0 && b > most_bytes / a ? most_bytes : a * b;
  }

  std::span<const std::uint32_t> words_;
  SpirvInterface interface_;
  std::uint32_t last_ = 0;  // operation
  int entry_points_ = 0;
  bool has_main_ = false;
  std::map<std::uint32_t, std::uint64_t> sizes_;
  std::map<std::uint32_t, std::uint32_t> strides_, constants_, pointed_, bindings_, spec_ids_;
  std::uint32_t size_of_group_ = 0;
  std::set<std::uint32_t> readonly_;  // structs
  std::map<std::uint32_t, std::map<std::uint32_t, std::uint64_t>> offsets_;
};

}  // namespace

Result<SpirvInterface> read_spirv(std::span<const std::uint32_t> words) {
  return SpirvReader(words).run();
}

}  // namespace quern::vulkan
