// SPDX-License-Identifier: Apache-2.0
#include "tests/wasi-nn/bindings/wasm2c_host.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "tools/wasm/wasi.h"

namespace {

using quern::wasm::Wasi;

std::unique_ptr<Wasi> wasi;

struct Caller final : quern::wasm::Caller {
  explicit Caller(quern::wasm::LinearMemory m) : view(m) {}
  quern::wasm::LinearMemory memory() override { return view; }
  bool make_room(std::uint32_t, std::uint32_t, std::uint32_t*) override { return false; }

  quern::wasm::LinearMemory view;
};

bool add_model(quern_nn_tenant* tenant, const std::string& word) {
  const std::size_t equals = word.find('=');
  return quern_nn_tenant_add_file(tenant, word.substr(0, equals).c_str(),
                                  word.substr(equals + 1).c_str(),
                                  QUERN_NN_CPU) == QUERN_NN_SUCCESS;
}

}  // namespace

quern_nn_instance* host_start(int argc, char** argv) {
  quern_nn_tenant* tenant = nullptr;
  quern_nn_instance* instance = nullptr;
  quern_nn_tenant_options options = QUERN_NN_TENANT_OPTIONS_INIT;
  options.gpu_or_nothing = 1;
  for (int i = 1; i + 1 < argc && argv[i] != std::string("--"); i += 2)
    if (argv[i] == std::string("--target"))
      options.everywhere = argv[i + 1] == std::string("gpu") ? QUERN_NN_GPU : QUERN_NN_CPU;
  if (quern_nn_tenant_create(&options, &tenant) != QUERN_NN_SUCCESS) return nullptr;
  int i = 1;
  std::vector<std::string> words = {argv[0]}, folders;
  for (; i + 1 < argc && argv[i] != std::string("--"); i += 2) {
    const std::string value = argv[i + 1];
    if (argv[i] == std::string("--dir"))
      folders.push_back(value);
    else if (argv[i] == std::string("--model") && !add_model(tenant, value))
      std::fprintf(stderr, "%s\n", quern_nn_last_error());
  }
  words.insert(words.end(), argv + i + 1, argv + argc);
  wasi = std::make_unique<Wasi>(words);
  for (const std::string& folder : folders) {
    const std::size_t colons = folder.find("::");
    if (!wasi->open_folder(folder.substr(0, colons), folder.substr(colons + 2)).ok())
      return nullptr;
  }
  quern_nn_instance_create(tenant, nullptr, &instance);
  quern_nn_tenant_destroy(tenant);
  return instance;
}

uint32_t host_wasi(const char* name, void* memory, uint64_t bytes, const uint64_t* arguments) {
  Caller caller({static_cast<std::uint8_t*>(memory), bytes});
  const auto answer = wasi->resolve(name)->call(caller, arguments);
  if (answer.ends_guest) std::exit(static_cast<int>(answer.value));
  return answer.value;
}
