// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/vulkan/device.h"

#include <algorithm>
#include <charconv>

#include "engine/compile/backend.h"
#include "engine/compile/dispatch_check.h"
#include "engine/devices/vulkan/core.h"
#include "engine/devices/vulkan/own_shaders.h"
#include "engine/devices/vulkan/roof.h"
#include "engine/devices/vulkan/tensor_memory.h"
#include "engine/devices/vulkan/vulkan_context.h"
#include "engine/devices/vulkan/weights.h"
#include "engine/vocabulary/text_util.h"
#include "kernels/gpu/copy.h"

namespace quern::vulkan {
namespace {

// The options that the device was opened with.
struct Wish {
  std::string selection;
  bool validate = false;
  bool validate_shaders = false;
  bool strict = false;
  bool as_hardware = false;
  bool emulate_matrices = false;
  bool half_products = false;
  // For tests: limits below the device's; 0: those of the device.
  std::uint64_t max_allocation = 0;
  std::uint64_t max_range = 0;
  CoreOptions core;
  std::vector<bool Capabilities::*> off;
  std::vector<std::string> on_cpu;

  Validation validation() const {
    if (validate_shaders) return Validation::shaders;
    return validate ? Validation::on : Validation::off;
  }
};

class ModelBackend final : public Backend {
 public:
  ModelBackend(std::shared_ptr<Core> core, const Wish& wish)
      : core_(std::move(core)),
        weights_(core_),
        target_(core_->capabilities().target()),
        on_cpu_(wish.on_cpu),
        strict_(wish.strict),
        validate_(wish.validation() != Validation::off) {}

  std::vector<Region> partition(const Graph& graph) const override {
    return convex_regions(graph, [&](NodeId id) {
      return std::ranges::find(on_cpu_, graph.def(id).name) == on_cpu_.end();
    });
  }
  Status compile(const Region& region, RegionCompiler& compiler) override {
    return add_node_by_node(region, target_, compiler);
  }
  Selection copy(const TensorDesc& from, std::int64_t skipped,
                 const TensorDesc& to) const override {
    return select_gpu_copy(from, skipped, to, target_);
  }
  bool is_strict() const override { return strict_; }
  DeviceLimits limits() const override {
    const Capabilities& c = core_->capabilities();
    return {.arena = c.max_allocation / 256 * 256, .binding = target_.max_range};  // see Buffer
  }
  std::uint64_t alignment() const override { return core_->capabilities().alignment; }
  Result<std::shared_ptr<const void>> constant(const GpuConstant& c) override {
    QUERN_ASSIGN(std::shared_ptr<const Slice> slice, weights_.find_or_make(c));
    return std::shared_ptr<const void>(std::move(slice));
  }
  std::size_t constant_bytes() const override { return weights_.bytes(); }
  std::shared_ptr<DeviceArena> make_arena(DeviceArena::Growth growth) override {
    return std::make_shared<Arena>(core_, growth);
  }
  Result<std::unique_ptr<ExecutionContext>> make_context(std::shared_ptr<const Program> program,
                                                         std::shared_ptr<DeviceArena> arena,
                                                         const Stop* stop) override {
    QUERN_TRY(weights_.upload());
    const auto bytes_of = [](const void* c) { return static_cast<const Slice*>(c)->bytes; };
    if (validate_) QUERN_TRY(check_dispatches(*program, {target_, alignment(), bytes_of}));
    return VulkanContext::create(core_, std::move(program),
                                 std::static_pointer_cast<Arena>(std::move(arena)), stop);
  }

 private:
  std::shared_ptr<Core> core_;
  Weights weights_;
  GpuTarget target_;
  std::vector<std::string> on_cpu_;
  bool strict_;
  bool validate_;
};

class VulkanDevice final : public BackendDevice {
 public:
  VulkanDevice(DeviceInfo info, std::shared_ptr<Core> core, Wish wish)
      : BackendDevice(std::move(info)), core_(std::move(core)), wish_(std::move(wish)) {}

  Result<std::shared_ptr<Backend>> make_backend() override {
    if (core_->lost()) return core_->lost_error();
    return std::shared_ptr<Backend>(std::make_shared<ModelBackend>(core_, wish_));
  }
  Result<std::unique_ptr<TensorMemory>> make_tensor_memory(std::size_t bytes) override {
    return BufferTensorMemory::create(core_, bytes);
  }
  DeviceCounters counters() const override {
    const Core::Counts& c = core_->counts;
    return {c.submissions, c.dispatches, c.barriers,   c.pipelines, c.allocations,
            c.bytes_up,    c.bytes_down, c.held_bytes, c.recordings};
  }
  bool is_lost() const override { return core_->lost(); }
  Result<DeviceRoof> measure_roof() const override { return vulkan::measure_roof(core_); }

 private:
  std::shared_ptr<Core> core_;
  Wish wish_;
};

DeviceInfo::Build build_of(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return DeviceInfo::Build::discrete;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return DeviceInfo::Build::integrated;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return DeviceInfo::Build::virtualized;
    default: return DeviceInfo::Build::software;
  }
}

DeviceInfo info_of(const Capabilities& c, std::size_t index) {
  DeviceInfo info;
  info.kind = DeviceInfo::Kind::gpu;
  info.build = build_of(c.type);
  info.name = cat("vulkan:", index);
  info.title = c.title;
  info.properties = describe(c);
  return info;
}

constexpr std::uint32_t usual_tune_ms = 20'000;

// The N of "name=N".
template <class Number>
Result<Number> number_after(std::string_view option) {
  const char* begin = option.data() + option.find('=') + 1;
  const char* end = option.data() + option.size();
  Number n = 0;
  const auto [at, error] = std::from_chars(begin, end, n);
  if (error == std::errc() && at == end && n > 0) return n;
  return Status(Code::invalid_argument,
                cat("device option '", printable(option), "' wants a number from 1 on"));
}

// Options without a number; those that switch a feature off are switches().
struct Flag {
  std::string_view name;
  bool Wish::*member;
};
constexpr Flag flags[] = {{"validate", &Wish::validate},
                          {"validate-shaders", &Wish::validate_shaders},
                          {"strict", &Wish::strict},
                          {"as-hardware", &Wish::as_hardware},
                          {"emulate-matrices", &Wish::emulate_matrices},
                          {"f16", &Wish::half_products}};

// Returns true if `option` is "name=N", and stores N in `number`.
template <class Number>
Result<bool> takes_number(std::string_view option, std::string_view name, Number& number) {
  if (!option.starts_with(name) || option.substr(name.size(), 1) != "=") return false;
  QUERN_ASSIGN(number, number_after<Number>(option));
  return true;
}

Status add_option(std::string_view option, Wish& wish) {
  for (const Flag& flag : flags)
    if (option == flag.name) {
      wish.*flag.member = true;
      return {};
    }
  if (option == "tune") {
    wish.core.tune_ms = usual_tune_ms;
    return {};
  }
  if (option.starts_with("shader=")) return add_own_shader(option.substr(7), wish.core.shaders);
  if (option.starts_with("cpu=")) {
    wish.on_cpu.emplace_back(option.substr(4));
    return {};
  }
  for (const auto& [name, number] : {std::pair("tune", &wish.core.tune_ms),
                                     {"split", &wish.core.split},
                                     {"candidate", &wish.core.candidate}}) {
    QUERN_ASSIGN(const bool taken, takes_number(option, name, *number));
    if (taken) return {};
  }
  for (const auto& [name, number] : {std::pair("lose-after", &wish.core.lose_after),
                                     {"piece", &wish.core.piece},
                                     {"idle", &wish.core.idle},
                                     {"memory", &wish.core.memory},
                                     {"max-allocation", &wish.max_allocation},
                                     {"max-range", &wish.max_range}}) {
    QUERN_ASSIGN(const bool taken, takes_number(option, name, *number));
    if (taken) return {};
  }
  const auto all = switches();
  for (const auto& [name, capability] : all)
    if (option == cat("no-", name)) {
      wish.off.push_back(capability);
      return {};
    }
  std::string known =
      "validate, validate-shaders, strict, f16, tune, tune=MS, split=N, idle=BYTES, cpu=FAMILY, "
      "shader=NAME=FILE";
  for (const auto& [name, capability] : all) known += cat(", no-", name);
  return {Code::invalid_argument,
          cat("no device option '", printable(option), "'; there is: ", known)};
}

// "vulkan", "vulkan:SELECTION", and then options with a comma before each.
Result<Wish> parse(std::string_view name) {
  Wish wish;
  std::string_view rest = name.substr(std::min<std::size_t>(name.size(), 6));
  const auto comma = rest.find(',');
  wish.selection = rest.substr(0, comma);
  if (!wish.selection.empty()) wish.selection.erase(0, 1);
  rest = comma == rest.npos ? std::string_view() : rest.substr(comma);
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view option = rest.substr(0, rest.find(','));
    rest.remove_prefix(option.size());
    QUERN_TRY(add_option(option, wish));
  }
  return wish;
}

// The index of the selected device; nullopt if there is none.
std::optional<std::size_t> select(const std::vector<Capabilities>& all,
                                  const std::string& selection) {
  if (selection.empty()) return all.empty() ? std::nullopt : std::optional<std::size_t>(0);
  std::size_t number = 0;
  const char* end = selection.data() + selection.size();
  if (std::from_chars(selection.data(), end, number).ptr == end)
    return number < all.size() ? std::optional(number) : std::nullopt;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto properties = describe(all[i]);
    const auto uuid = std::ranges::find(properties, "uuid", [](const auto& p) { return p.first; });
    if (uuid->second == small_letters(selection) ||
        small_letters(all[i].title).find(small_letters(selection)) != std::string::npos)
      return i;
  }
  return std::nullopt;
}

}  // namespace

std::vector<DeviceInfo> list() {
  std::vector<DeviceInfo> infos;
  const auto instance = ApiInstance::get(Validation::off);
  if (!instance) return infos;
  for (VkPhysicalDevice d : (*instance)->devices())
    infos.push_back(info_of(read_capabilities((*instance)->api(), d), infos.size()));
  return infos;
}

Result<std::shared_ptr<Device>> open(std::string_view name) {
  QUERN_ASSIGN(const Wish wish, parse(name));
  QUERN_ASSIGN(auto instance, ApiInstance::get(wish.validation()));
  const auto devices = instance->devices();
  std::vector<Capabilities> all;
  all.reserve(devices.size());
  for (VkPhysicalDevice d : devices) all.push_back(read_capabilities(instance->api(), d));
  const auto at = select(all, wish.selection);
  if (!at) {
    std::string names;
    for (std::size_t i = 0; i < all.size(); ++i)
      names += cat(names.empty() ? "" : ", ", i, " ", all[i].title);
    return Status(Code::not_found, cat("no Vulkan device '", printable(wish.selection),
                                       "'; there is: ", names.empty() ? "none" : names));
  }
  Capabilities c = all[*at];
  for (bool Capabilities::*off : wish.off) c.*off = false;
  // Layers of 1.3 take a descriptor that was pushed for one that was never written.
  if (wish.validate_shaders) c.push_descriptors = false;
  c.as_hardware = wish.as_hardware;
  c.emulate_matrices = wish.emulate_matrices;
  c.half_products = wish.half_products;
  const auto lower = [](std::uint64_t& limit, std::uint64_t wished) {
    if (wished) limit = std::min(limit, wished);
  };
  lower(c.max_allocation, wish.max_allocation);
  lower(c.max_range, wish.max_range);
  const DeviceInfo info = info_of(c, *at);
  QUERN_ASSIGN(auto core, Core::create(std::move(instance), devices[*at], std::move(c), wish.core));
  return std::shared_ptr<Device>(std::make_shared<VulkanDevice>(info, std::move(core), wish));
}

}  // namespace quern::vulkan
