// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/vulkan/device.h"

#include <algorithm>
#include <charconv>

#include "engine/compile/backend.h"
#include "engine/devices/vulkan/core.h"
#include "engine/devices/vulkan/device_instance.h"
#include "engine/devices/vulkan/roof.h"
#include "engine/devices/vulkan/tensor_memory.h"
#include "engine/devices/vulkan/weights.h"
#include "engine/vocabulary/text_util.h"

namespace quern::vulkan {
namespace {

// What whoever opened the device asked for.
struct Wish {
  std::string selection;
  bool validate = false;
  bool strict = false;
  bool as_hardware = false;
  bool emulate_matrices = false;
  bool half_products = false;
  CoreOptions core;
  std::vector<bool Capabilities::*> off;
  std::vector<std::string> on_cpu;
};

class ModelBackend final : public Backend {
 public:
  ModelBackend(std::shared_ptr<Core> core, const Wish& wish)
      : core_(std::move(core)),
        weights_(core_),
        target_(core_->capabilities().target()),
        on_cpu_(wish.on_cpu),
        strict_(wish.strict) {}

  const GpuTarget& target() const override { return target_; }
  bool leaves_to_cpu(std::string_view family) const override {
    return std::ranges::find(on_cpu_, family) != on_cpu_.end();
  }
  bool is_strict() const override { return strict_; }
  std::uint64_t alignment() const override { return core_->capabilities().alignment; }
  Result<std::shared_ptr<const void>> constant(const GpuConstant& c) override {
    QUERN_ASSIGN(std::shared_ptr<const Slice> slice, weights_.find_or_make(c));
    return std::shared_ptr<const void>(std::move(slice));
  }
  std::size_t constant_bytes() const override { return weights_.bytes(); }
  Result<std::unique_ptr<Instance>> instantiate(std::shared_ptr<const Program> program) override {
    QUERN_TRY(weights_.upload());
    return DeviceInstance::create(core_, std::move(program));
  }

 private:
  std::shared_ptr<Core> core_;
  Weights weights_;
  GpuTarget target_;
  std::vector<std::string> on_cpu_;
  bool strict_;
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
    return {c.submissions, c.dispatches, c.barriers,  c.pipelines,
            c.allocations, c.bytes_up,   c.bytes_down};
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
    if (option == "validate") {
      wish.validate = true;
      continue;
    }
    if (option == "strict") {
      wish.strict = true;
      continue;
    }
    if (option == "as-hardware") {
      wish.as_hardware = true;
      continue;
    }
    if (option == "emulate-matrices") {
      wish.emulate_matrices = true;
      continue;
    }
    if (option == "f16") {
      wish.half_products = true;
      continue;
    }
    if (option == "tune") {
      wish.core.tune_ms = usual_tune_ms;
      continue;
    }
    if (option.starts_with("tune=")) {
      QUERN_ASSIGN(wish.core.tune_ms, number_after<std::uint32_t>(option));
      continue;
    }
    if (option.starts_with("split=")) {
      QUERN_ASSIGN(wish.core.split, number_after<std::uint32_t>(option));
      continue;
    }
    if (option.starts_with("form=")) {
      QUERN_ASSIGN(wish.core.form, number_after<std::uint32_t>(option));
      continue;
    }
    if (option.starts_with("lose-after=")) {
      QUERN_ASSIGN(wish.core.lose_after, number_after<std::uint64_t>(option));
      continue;
    }
    if (option.starts_with("cpu=")) {
      wish.on_cpu.emplace_back(option.substr(4));
      continue;
    }
    const auto all = switches();
    const auto found =
        std::ranges::find_if(all, [&](const auto& s) { return option == cat("no-", s.first); });
    if (found == all.end()) {
      std::string known = "validate, strict, f16, tune, tune=MS, split=N, cpu=FAMILY";
      for (const auto& s : all) known += cat(", no-", s.first);
      return Status(Code::invalid_argument,
                    cat("no device option '", printable(option), "'; there is: ", known));
    }
    wish.off.push_back(found->second);
  }
  return wish;
}

std::string lower(std::string_view text) {
  std::string s(text);
  std::ranges::transform(s, s.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  });
  return s;
}

// Index of the device that is meant; nothing: none.
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
    if (uuid->second == lower(selection) ||
        lower(all[i].title).find(lower(selection)) != std::string::npos)
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
  QUERN_ASSIGN(auto instance, ApiInstance::get(wish.validate ? Validation::on : Validation::off));
  const auto devices = instance->devices();
  std::vector<Capabilities> all;
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
  c.as_hardware = wish.as_hardware;
  c.emulate_matrices = wish.emulate_matrices;
  c.half_products = wish.half_products;
  const DeviceInfo info = info_of(c, *at);
  QUERN_ASSIGN(auto core, Core::create(std::move(instance), devices[*at], std::move(c), wish.core));
  return std::shared_ptr<Device>(std::make_shared<VulkanDevice>(info, std::move(core), wish));
}

}  // namespace quern::vulkan
