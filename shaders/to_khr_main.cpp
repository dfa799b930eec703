// SPDX-License-Identifier: Apache-2.0
// to_khr IN OUT: see to_khr.h.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "shaders/to_khr.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: to_khr IN OUT\n", stderr);
    return 2;
  }
  std::ifstream in(argv[1], std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  std::vector<std::uint32_t> module(bytes.size() / 4);
  std::memcpy(module.data(), bytes.data(), module.size() * 4);
  const quern::shaders::Rewritten result = quern::shaders::to_khr(module);
  if (!result.error.empty()) {
    std::fprintf(stderr, "%s: %s\n", argv[1], result.error.c_str());
    return 1;
  }
  std::ofstream out(argv[2], std::ios::binary);
  out.write(reinterpret_cast<const char*>(result.words.data()),
            static_cast<std::streamsize>(result.words.size() * 4));
  out.close();
  if (out) return 0;
  std::fprintf(stderr, "cannot write %s\n", argv[2]);
  return 1;
}
