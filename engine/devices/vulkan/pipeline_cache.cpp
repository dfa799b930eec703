// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/vulkan/pipeline_cache.h"

#include <cstring>
#include <filesystem>
#include <fstream>

#include "engine/vocabulary/platform/files.h"
#include "engine/vocabulary/platform/process.h"
#include "engine/vocabulary/text_util.h"

namespace quern::vulkan {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t most_bytes = 256 << 20;

struct Header {
  char magic[8] = {'q', 'u', 'e', 'r', 'n', 'p', 'c', '1'};
  std::array<std::uint8_t, VK_UUID_SIZE> device{};
  std::array<std::uint8_t, VK_UUID_SIZE> driver{};
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;
};

std::uint64_t checksum_of(std::span<const std::byte> data) {
  std::uint64_t h = 0xcbf29ce484222325;
  for (std::byte b : data) h = (h ^ static_cast<std::uint64_t>(b)) * 0x100000001b3;
  return h;
}

Header header_of(const Capabilities& device, std::span<const std::byte> data) {
  Header h;
  h.device = device.uuid;
  h.driver = device.cache_uuid;
  h.bytes = data.size();
  h.checksum = checksum_of(data);
  return h;
}

fs::path path_of(const Capabilities& device) {
  return cache_path(device, "pipelines", ".bin");
}

}  // namespace

fs::path cache_path(const Capabilities& device, std::string_view what, std::string_view extension) {
  const fs::path base = platform::cache_folder();
  if (base.empty()) return {};
  return base / "quern" / cat(what, "-", uuid_text(device.cache_uuid), extension);
}

void write_cache_file(const fs::path& path, std::span<const std::byte> data) {
  if (path.empty()) return;
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  const fs::path fresh = path.string() + cat(".", platform::process_id());
  {
    std::ofstream file(fresh, std::ios::binary);
    file.write(reinterpret_cast<const char*>(data.data()),
               static_cast<std::streamsize>(data.size()));
    if (!file.flush()) {
      file.close();
      fs::remove(fresh, error);
      return;
    }
  }
  fs::rename(fresh, path, error);
  if (error) fs::remove(fresh, error);
}

std::vector<std::byte> read_pipeline_cache(const Capabilities& device) {
  std::ifstream file(path_of(device), std::ios::binary);
  Header h;
  if (!file.read(reinterpret_cast<char*>(&h), sizeof h) || h.bytes > most_bytes) return {};
  std::vector<std::byte> data(h.bytes);
  if (!file.read(reinterpret_cast<char*>(data.data()), static_cast<std::streamsize>(h.bytes)))
    return {};
  const Header wanted = header_of(device, data);
  return std::memcmp(&h, &wanted, sizeof h) == 0 ? data : std::vector<std::byte>();
}

void write_pipeline_cache(const Capabilities& device, std::span<const std::byte> data) {
  if (data.size() > most_bytes) return;
  const Header h = header_of(device, data);
  const auto* begin = reinterpret_cast<const std::byte*>(&h);
  std::vector<std::byte> file(begin, begin + sizeof h);
  file.insert(file.end(), data.begin(), data.end());
  write_cache_file(path_of(device), file);
}

}  // namespace quern::vulkan
