// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target without libFuzzer: over every file of what is given, its corpus, as a
// plain test; and over mutants of them, the same for the same seed and corpus wherever it runs.
//   NAME_fuzz_replay [--mutants N] [--seed S] [--from I] FOLDER|FILE...
// The input that a target dies of is left in the file "crash", its number stands in the last line.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <signal.h>
#include <string_view>
#include <vector>

#include "tests/fuzz/random.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
// A target may know how its inputs are made; others get bytes that were changed anywhere.
extern "C" [[gnu::weak]] std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                                             std::size_t max_size,
                                                             unsigned int seed);
extern "C" [[gnu::weak]] void __sanitizer_set_death_callback(void (*callback)());

namespace {

using quern::fuzz::Random;
using FileBytes = std::vector<std::uint8_t>;

constexpr std::size_t largest = 1 << 16;

struct Current {
  const FileBytes* input = nullptr;
  std::uint64_t number = 0;
} current;  // NOLINT: for whoever is called when the process dies

void leave_input() {
  if (!current.input) return;
  std::fprintf(stderr, "died of mutant %llu, left in the file 'crash'\n",
               static_cast<unsigned long long>(current.number));
  if (std::FILE* f = std::fopen("crash", "wb")) {
    std::fwrite(current.input->data(), 1, current.input->size(), f);
    std::fclose(f);
  }
  current.input = nullptr;
}

void on_signal(int signal) {
  leave_input();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// On a stack of its own, in case the other is full. What a sanitizer catches tells us anyway.
void catch_signals() {
  static char own_stack[1 << 16];
  const stack_t stack{.ss_sp = own_stack, .ss_flags = 0, .ss_size = sizeof own_stack};
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGABRT, &action, nullptr);
  if (__sanitizer_set_death_callback) return;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE}) sigaction(signal, &action, nullptr);
}

void run(const FileBytes& bytes, std::uint64_t number) {
  current = {&bytes, number};
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  current.input = nullptr;
}

std::vector<FileBytes> read_folders(const std::vector<const char*>& folders) {
  std::vector<std::filesystem::path> paths;
  for (const char* folder : folders) {
    if (std::filesystem::is_regular_file(folder)) {
      paths.emplace_back(folder);
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
      if (entry.is_regular_file() && entry.path().extension() != ".pb")
        paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  std::vector<FileBytes> files;
  for (const auto& path : paths) {
    std::ifstream in(path, std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return files;
}

// Some bytes become others, numbers at the edge, or a piece of another file.
void change_bytes(FileBytes& bytes, const std::vector<FileBytes>& files, Random& random) {
  constexpr std::uint8_t edges[] = {0, 1, 127, 128, 255};
  if (bytes.empty()) bytes.push_back(0);
  const std::size_t at = random.below(bytes.size());
  switch (random.below(5)) {
    case 0: bytes[at] = static_cast<std::uint8_t>(random.next()); break;
    case 1: bytes[at] = edges[random.below(std::size(edges))]; break;
    case 2: bytes.insert(bytes.begin() + at, static_cast<std::uint8_t>(random.next())); break;
    case 3:
      bytes.erase(bytes.begin() + at, bytes.begin() + at + random.below(bytes.size() - at) + 1);
      break;
    default: {
      const FileBytes& other = files[random.below(files.size())];
      if (other.empty()) break;
      const std::size_t from = random.below(other.size());
      const std::size_t count = std::min<std::size_t>(random.below(64) + 1, other.size() - from);
      bytes.insert(bytes.begin() + at, other.begin() + from, other.begin() + from + count);
    }
  }
  bytes.resize(std::min(bytes.size(), largest));
}

FileBytes mutant(const std::vector<FileBytes>& files, std::uint64_t seed, std::uint64_t number) {
  Random random(seed * 0x9e3779b97f4a7c15 + number);
  FileBytes bytes = files[random.below(files.size())];
  for (std::uint64_t times = 1 + random.below(3); times > 0; --times) {
    if (!LLVMFuzzerCustomMutator) {
      change_bytes(bytes, files, random);
      continue;
    }
    const std::size_t size = bytes.size();
    if (size > largest) break;
    bytes.resize(largest);
    bytes.resize(LLVMFuzzerCustomMutator(bytes.data(), size, largest,
                                         static_cast<unsigned int>(random.next())));
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t mutants = 0, seed = 1, from = 0;
  std::vector<const char*> folders;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    std::uint64_t* number = word == "--mutants" ? &mutants
                            : word == "--seed"  ? &seed
                            : word == "--from"  ? &from
                                                : nullptr;
    if (number && i + 1 < argc)
      *number = std::strtoull(argv[++i], nullptr, 10);
    else
      folders.push_back(argv[i]);
  }
  if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(leave_input);
  catch_signals();
  const std::vector<FileBytes> files = read_folders(folders);
  if (from == 0)
    for (const FileBytes& bytes : files) run(bytes, 0);
  for (std::uint64_t i = from; i < mutants && !files.empty(); ++i) run(mutant(files, seed, i), i);
  std::printf("%zu files, %llu mutants\n", files.size(), static_cast<unsigned long long>(mutants));
  return files.empty() ? 1 : 0;
}
