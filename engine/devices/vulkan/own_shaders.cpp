// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/vulkan/own_shaders.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "engine/devices/vulkan/spirv_interface.h"
#include "engine/vocabulary/platform/files.h"
#include "engine/vocabulary/text_util.h"

#include "shaders/shaders.h"

namespace quern::vulkan {
namespace {

constexpr std::uint64_t most_spirv_bytes = std::uint64_t{16} << 20;

Status misfit(const std::string& why) {
  return {Code::invalid_argument, cat("the SPIR-V module ", why)};
}

std::string numbers_text(const std::set<std::uint32_t>& numbers) {
  std::string text;
  for (const std::uint32_t n : numbers) text += cat(text.empty() ? "" : ", ", n);
  return text.empty() ? "none" : text;
}

Status want_within(const std::set<std::uint32_t>& numbers, const std::set<std::uint32_t>& wanted,
                   std::string_view what) {
  if (std::ranges::includes(wanted, numbers)) return {};
  return misfit(cat("has ", what, " ", numbers_text(numbers),
                    "; the shader that it stands for has ", numbers_text(wanted)));
}

Result<std::vector<std::uint32_t>> read_words(const std::string& path) {
  const platform::File file = platform::open_file(path);
  const auto info = platform::info_of(file);
  if (!file.is_open() || !info || info->kind != platform::FileInfo::Kind::regular)
    return Status(Code::not_found, cat("no file '", printable(path), "'"));
  if (info->size == 0 || info->size % 4 != 0 || info->size > most_spirv_bytes)
    return Status(Code::invalid_argument,
                  cat("'", printable(path), "' has ", info->size,
                      " bytes; wanted whole words of 4, at most ", most_spirv_bytes));
  std::vector<std::uint32_t> words(static_cast<std::size_t>(info->size / 4));
  std::size_t at = 0;
  while (at < info->size) {
    const auto read = platform::read_at(file, at, reinterpret_cast<std::byte*>(words.data()) + at,
                                        static_cast<std::size_t>(info->size) - at);
    if (read <= 0)
      return Status(Code::not_found, cat("'", printable(path), "' cannot be read: ",
                                         read == 0 ? "it ends" : std::strerror(errno)));
    at += static_cast<std::size_t>(read);
  }
  return words;
}

}  // namespace

Status check_own_shader(std::span<const std::uint32_t> own, std::span<const std::uint32_t> built) {
  QUERN_ASSIGN(const SpirvInterface is, read_spirv(own));
  QUERN_ASSIGN(const SpirvInterface wanted, read_spirv(built));
  if (is.version > wanted.version)
    return misfit(cat("is of version ", is.version >> 16, ".", is.version >> 8 & 0xff,
                      "; the shader that it stands for is of ", wanted.version >> 16, ".",
                      wanted.version >> 8 & 0xff, " (glslc --target-env=vulkan1.1)"));
  QUERN_TRY(want_within(is.capabilities, wanted.capabilities, "capabilities"));
  if (is.bindings != wanted.bindings)
    return misfit(cat("has bindings ", numbers_text(is.bindings),
                      "; the shader that it stands for has ", numbers_text(wanted.bindings)));
  QUERN_TRY(want_within(is.written, wanted.written, "bindings that are not readonly:"));
  QUERN_TRY(want_within(is.constants, wanted.constants, "specialisation constants"));
  if (is.push_bytes > wanted.push_bytes)
    return misfit(cat("has ", is.push_bytes, " bytes of push constants; dispatches give ",
                      wanted.push_bytes));
  if (is.fixed_invocations || is.width_constant != wanted.width_constant)
    return misfit(cat("wants local_size_x_id = ", wanted.width_constant,
                      ", by which dispatches set the width of a workgroup"));
  return {};
}

Status add_own_shader(std::string_view option, OwnShaders& own) {
  const std::size_t equal = option.find('=');
  const std::string_view name = option.substr(0, equal);
  if (equal == option.npos)
    return {Code::invalid_argument,
            cat("device option 'shader=", printable(option), "' wants NAME=FILE.spv")};
  const auto all = shaders();
  const auto built = std::ranges::find(all, name, &Shader::name);
  if (built == all.end()) {
    std::string names;
    for (const Shader& s : all) names += cat(names.empty() ? "" : ", ", s.name);
    return {Code::invalid_argument,
            cat("no shader '", printable(name, 60), "'; there is: ", names)};
  }
  const std::string path(option.substr(equal + 1));
  QUERN_ASSIGN(std::vector<std::uint32_t> words, read_words(path));
  if (Status fits = check_own_shader(words, built->words()); !fits.ok())
    return std::move(fits).in(printable(path));
  own[std::string(name)] = std::move(words);
  return {};
}

}  // namespace quern::vulkan
