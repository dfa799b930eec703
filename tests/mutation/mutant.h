// SPDX-License-Identifier: Apache-2.0
// mutate.py builds this into a changed tree: it knows which change is on, and notes those reached.
//   QUERN_MUTANT   the number of the change that is on; 0 or nothing: none
//   QUERN_REACHED  a file of `most` bytes; that of each change that a process comes by becomes 1.
//   It
//                  is mapped and shared, so that it does not matter how processes end
//   QUERN_SHADERS  a folder with a file for each shader that is used, made here
//   QUERN_SPIRV    a folder; NAME.spv in it takes the place of the shader of that name
#pragma once
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace quern_mutation {

struct Changes {
  static constexpr int most = 4096;
  int chosen = 0;
  char* reached = nullptr;

  Changes() {
    if (const char* text = std::getenv("QUERN_MUTANT")) chosen = std::atoi(text);
    const char* path = std::getenv("QUERN_REACHED");
    const int file = path ? open(path, O_RDWR) : -1;
    if (file < 0) return;
    void* map = mmap(nullptr, most, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map != MAP_FAILED) reached = static_cast<char*>(map);
  }
  bool is_on(int n) {
    if (reached && !reached[n]) reached[n] = 1;
    return chosen == n;
  }
};
inline Changes& changes() {
  static Changes all;
  return all;
}

// `all`, with the shader of that name from QUERN_SPIRV if there is one. The words stay for good.
template <class Shaders>
auto shaders_for(const Shaders& all, std::string_view name) {
  std::vector<typename Shaders::value_type> changed(all.begin(), all.end());
  if (const char* used = std::getenv("QUERN_SHADERS"))
    std::ofstream(std::string(used) + '/' + std::string(name)).put('\n');
  const char* folder = std::getenv("QUERN_SPIRV");
  if (!folder) return changed;
  std::ifstream in(std::string(folder) + '/' + std::string(name) + ".spv", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (bytes.empty()) return changed;
  auto* words = new std::uint32_t[bytes.size() / 4];
  bytes.copy(reinterpret_cast<char*>(words), bytes.size());
  for (auto& shader : changed)
    if (shader.name == name) {
      shader.begin = words;
      shader.end = words + bytes.size() / 4;
    }
  return changed;
}

}  // namespace quern_mutation
#define QUERN_MUTANT(n) (::quern_mutation::changes().is_on(n))
