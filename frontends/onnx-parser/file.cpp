// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx-parser/file.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>
#include <vector>

#include "engine/vocabulary/platform/files.h"
#include "engine/vocabulary/text_util.h"
#include "graph/opened_file.h"

namespace quern::onnx {
namespace {

Status refuse(std::string_view location, std::string_view why) {
  return {Code::invalid_model, cat("external data '", printable(location), "': ", why)};
}

// Splits a relative name into components; returns an error for a component that could leave the
// folder.
Result<std::vector<std::string>> components_of(std::string_view location) {
  if (location.empty()) return refuse(location, "the location is empty");
  if (location.front() == '/') return refuse(location, "absolute paths are refused");
  if (location.find('\0') != std::string_view::npos)
    return refuse(location, "the location holds a zero byte");
  std::vector<std::string> components;
  while (!location.empty()) {
    const std::size_t slash = std::min(location.find('/'), location.size());
    const std::string_view part = location.substr(0, slash);
    if (part == "..") return refuse(location, "'..' is refused");
    if (!part.empty() && part != ".") components.emplace_back(part);
    location.remove_prefix(std::min(slash + 1, location.size()));
  }
  if (components.empty()) return refuse(location, "the location names no file");
  return components;
}

Result<platform::File> open_component(const platform::File& folder, const std::string& name,
                                      platform::FileInfo::Kind wanted, std::string_view location) {
  platform::File next = platform::open_in(folder, name, wanted);
  if (next.is_open()) return next;
  if (errno == ELOOP) return refuse(location, "symbolic links are refused");
  return system_error(cat("external data '", printable(location), "'"), errno);
}

Result<platform::File> open_below(const std::string& folder,
                                  const std::vector<std::string>& components,
                                  std::string_view location) {
  using Kind = platform::FileInfo::Kind;
  platform::File at = platform::open_folder(folder);
  if (!at.is_open()) return system_error(folder, errno);
  for (std::size_t i = 0; i < components.size(); ++i) {
    const Kind wanted = i + 1 < components.size() ? Kind::folder : Kind::regular;
    QUERN_ASSIGN(at, open_component(at, components[i], wanted, location));
  }
  return at;
}

}  // namespace

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

Result<OpenedFile> ConfinedFolder::open(std::string_view location) {
  if (folder_.empty())
    return refuse(location, "a model that is not read from a file cannot have external data");
  QUERN_ASSIGN(const std::vector<std::string> components, components_of(location));
  std::string key;
  for (const std::string& c : components) key += '/' + c;
  if (const auto known = files_.find(key); known != files_.end()) return known->second;
  QUERN_ASSIGN(const platform::File file, open_below(folder_, components, location));
  QUERN_ASSIGN(OpenedFile opened, open_descriptor(file, how_, location));
  opened_bytes_ += opened.bytes.size();
  files_.emplace(std::move(key), opened);
  return opened;
}

}  // namespace quern::onnx
