// SPDX-License-Identifier: Apache-2.0
// GPUs that are none: they have kernels chosen for them, and run nothing. Programs as text, the
// same on every machine.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/compile/backend.h"
#include "engine/vocabulary/text_util.h"
#include "kernels/gpu/copy.h"
#include "tests/held_texts.h"

namespace quern::testing {

struct NamedTarget {
  const char* name;
  std::optional<GpuTarget> target;  // none: the CPU, with the kernels that no machine has others of
};
inline void PrintTo(const NamedTarget& t, std::ostream* out) {
  *out << t.name;
}

// The CPU with its reference kernels; a CPU that runs shaders; a large card, without its matrix
// units and with them; a phone.
inline std::vector<NamedTarget> paper_targets() {
  const GpuTarget software{.units = 8,
                           .storage_8bit = true,
                           .storage_16bit = true,
                           .int64 = true,
                           .float64 = true,
                           .integer_dot = true};
  const GpuTarget card{.software = false,
                       .subgroup_size = 32,
                       .shared_bytes = 48 << 10,
                       .units = 132,
                       .max_iterations = 0,
                       .max_range = 0xffffffff,
                       .storage_8bit = true,
                       .storage_16bit = true,
                       .int64 = true,
                       .float64 = true};
  GpuTarget matrices = card;
  matrices.matrices = {.m = 16, .n = 16, .k = 16};
  matrices.half_products = true;
  const GpuTarget phone{.software = false,
                        .subgroup_size = 16,
                        .max_invocations = 256,
                        .units = 6,
                        .max_iterations = 0};
  return {{"reference", std::nullopt},
          {"software", software},
          {"card", card},
          {"matrices", matrices},
          {"phone", phone}};
}

// Devices below what Vulkan guarantees, so that tensors of a few elements come by each limit.
inline std::vector<NamedTarget> tight_targets() {
  const GpuTarget loops{.max_invocations = 64,
                        .shared_bytes = 2048,
                        .max_iterations = 40,
                        .storage_8bit = true,
                        .storage_16bit = true,
                        .int64 = true,
                        .integer_dot = true};
  const GpuTarget ranges{.software = false,
                         .subgroup_size = 16,
                         .max_groups = 3,
                         .max_invocations = 32,
                         .shared_bytes = 512,
                         .max_iterations = 0,
                         .max_range = 256,
                         .storage_16bit = true};
  return {{"few-loops", loops}, {"small-ranges", ranges}};
}

// Takes every node that has a GPU kernel, and runs nothing.
class PaperBackend final : public Backend {
 public:
  // Receives each program that is to run.
  using Show = std::function<void(const Program&)>;
  explicit PaperBackend(const GpuTarget& target, Show show = nullptr)
      : target_(target), show_(std::move(show)) {}

  const GpuTarget& target() const { return target_; }
  std::vector<Region> partition(const Graph& graph) const override {
    return convex_regions(graph, [](NodeId) { return true; });
  }
  Status compile(const Region& region, RegionCompiler& compiler) override {
    return add_node_by_node(region, target_, compiler);
  }
  Selection copy(const TensorDesc& from, std::int64_t skipped,
                 const TensorDesc& to) const override {
    return select_gpu_copy(from, skipped, to, target_);
  }
  std::uint64_t alignment() const override { return 256; }
  // Keeps its size. Fails where more is written than was asked for.
  Result<std::shared_ptr<const void>> constant(const GpuConstant& c) override {
    std::shared_ptr<const std::size_t>& known = constants_[c.key];
    if (!known) {
      constexpr std::size_t guard = 64;
      std::vector<std::byte> bytes(c.bytes);
      bytes.resize(c.bytes + guard, std::byte{0xa5});
      QUERN_TRY(c.fill(bytes.data()));
      const auto end = std::span(bytes).subspan(c.bytes);
      if (std::ranges::any_of(end, [](std::byte b) { return b != std::byte{0xa5}; }))
        return Status(Code::internal, cat("the constant ", c.key, " writes past its end"));
      known = std::make_shared<std::size_t>(c.bytes);
    }
    return std::shared_ptr<const void>(known);
  }
  std::size_t constant_bytes() const override { return 0; }
  std::shared_ptr<DeviceArena> make_arena(DeviceArena::Growth growth) override {
    return std::make_shared<HostDeviceArena>(growth);
  }
  Result<std::unique_ptr<ExecutionContext>> make_context(std::shared_ptr<const Program> program,
                                                         std::shared_ptr<DeviceArena>,
                                                         const Stop*) override {
    if (show_) show_(*program);
    return Status(Code::unsupported, "a device of paper");
  }

 private:
  GpuTarget target_;
  Show show_;
  std::map<std::string, std::shared_ptr<const std::size_t>> constants_;
};

inline std::uint64_t paper_bytes(const void* constant) {
  return *static_cast<const std::size_t*>(constant);
}

inline std::string text(const Step::Operand& o) {
  using Base = Step::Operand::Base;
  switch (o.base) {
    case Base::none: return "-";
    case Base::arena: return cat("h", o.offset);
    case Base::input: return cat("in", o.index, o.offset ? cat("+", o.offset) : "");
    case Base::output: return cat("out", o.index, o.offset ? cat("+", o.offset) : "");
    case Base::constant: return "const";
    case Base::device_arena: return cat("d", o.offset);
    case Base::device_constant: return cat("dc", o.index, o.offset ? cat("+", o.offset) : "");
  }
  return "?";
}

inline std::string text(const BufferUse& use) {
  std::string s(1, "ioxc"[static_cast<std::size_t>(use.of)]);
  if (use.of != BufferUse::Of::scratch) s += cat(use.index);
  if (use.written) s += '!';
  if (use.offset || use.bytes) s += cat("[", use.offset, ":", use.bytes, "]");
  return s;
}

template <class List>
std::string joined(const List& list) {
  std::string s;
  for (const auto& item : list) {
    if (!s.empty()) s += ' ';
    if constexpr (std::is_integral_v<std::decay_t<decltype(item)>>)
      s += cat(static_cast<std::int32_t>(item));
    else
      s += text(item);
  }
  return s;
}

inline std::string text(const Dispatch& d) {
  return cat("  ", d.shader, " <", joined(d.constants), "> (", joined(d.push), ") {",
             joined(d.buffers), "} ", d.groups[0], "x", d.groups[1], "x", d.groups[2],
             d.subgroup ? cat(" subgroup ", d.subgroup) : "", "\n");
}

// A kernel of the host is only named: which one it is depends on the machine.
inline std::string text(const Step& s) {
  static constexpr const char* kinds[] = {"host", "", "up", "down"};
  const bool on_device = s.kind == Step::Kind::device;
  std::string out =
      cat(on_device ? s.op : kinds[static_cast<std::size_t>(s.kind)], " ",
          s.kind == Step::Kind::host ? s.op : "", " ", joined(s.inputs), " -> ", joined(s.outputs));
  if (on_device && s.scratch_bytes)
    out += cat(" scratch d", s.scratch_offset, ":", s.scratch_bytes);
  if (on_device && !s.layouts.empty()) out += cat(" ", s.layouts);
  if (s.kind == Step::Kind::host)
    out += cat(" | ", s.shapes, " | ", std::llround(s.cost.flops), " flops ",
               std::llround(s.cost.bytes), " bytes");
  out += '\n';
  for (const Dispatch& d : s.dispatches) {
    out += text(d);
    if (d.candidates.empty()) continue;
    std::string others;
    for (const Dispatch& c : d.candidates) others += text(c);
    out += cat("  or ", d.candidates.size(), " others, ", stable_hash(others), "\n");
  }
  return out;
}

inline std::string text(const Program& p) {
  std::string out;
  for (const Step& s : p.steps) out += text(s);
  return out + cat("arena ", p.arena_bytes, ", of the device ", p.device_plan.size, ", ",
                   p.device_constants.size(), " constants\n");
}

// A device of such backends.
class PaperDevice final : public BackendDevice {
 public:
  PaperDevice(const NamedTarget& target, PaperBackend::Show show)
      : BackendDevice(info_of(target.name)), target_(*target.target), show_(std::move(show)) {}
  Result<std::shared_ptr<Backend>> make_backend() override {
    return std::shared_ptr<Backend>(std::make_shared<PaperBackend>(target_, show_));
  }
  Result<std::unique_ptr<TensorMemory>> make_tensor_memory(std::size_t bytes) override {
    return make_host_tensor_memory(bytes);
  }

 private:
  static DeviceInfo info_of(const char* name) {
    DeviceInfo info;
    info.kind = DeviceInfo::Kind::gpu;
    info.name = name;
    return info;
  }
  GpuTarget target_;
  PaperBackend::Show show_;
};

}  // namespace quern::testing
