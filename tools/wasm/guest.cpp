// SPDX-License-Identifier: Apache-2.0
#include "tools/wasm/guest.h"

#include <cstddef>
#include <optional>
#include <vector>
#include <wabt/binary-reader.h>
#include <wabt/error-formatter.h>
#include <wabt/interp/binary-reader-interp.h>
#include <wabt/interp/interp.h>

namespace quern::wasm {
namespace {

namespace interp = wabt::interp;

// State shared by the host functions during a run.
struct Running final : Caller {
  explicit Running(interp::Store& s) : store(s) {}

  LinearMemory memory() override {
    return exported ? LinearMemory{exported->UnsafeData(), exported->ByteSize()} : LinearMemory{};
  }
  bool make_room(std::uint32_t alignment, std::uint32_t bytes, std::uint32_t* at) override {
    interp::Values results;
    if (!reallocate || trap) return false;
    const interp::Values arguments = {interp::Value::Make(interp::u32{0}),
                                      interp::Value::Make(interp::u32{0}),
                                      interp::Value::Make(alignment), interp::Value::Make(bytes)};
    if (wabt::Failed(reallocate->Call(store, arguments, results, &trap))) return false;
    *at = results[0].Get<interp::u32>();
    return true;
  }

  interp::Store& store;
  interp::Memory::Ptr exported;
  interp::Func::Ptr reallocate;  // (i32 x 4) -> i32
  interp::Trap::Ptr trap;        // of reallocate; ends the guest once its call is answered
  std::optional<std::uint32_t> exit_status;
};

std::string signature_of(const interp::FuncType& type) {
  const auto letter = [](wabt::Type t) {
    return t == wabt::Type::I32 ? 'i' : t == wabt::Type::I64 ? 'I' : '?';
  };
  std::string s;
  for (const wabt::Type t : type.params) s += letter(t);
  s += ':';
  for (const wabt::Type t : type.results) s += letter(t);
  return s;
}

bool fits(const HostFunction& host, const std::string& signature) {
  if (!host.signature.empty()) return host.signature == signature;
  return signature.size() >= 2 && signature.substr(signature.size() - 2) == ":i";
}

interp::HostFunc::Callback callback(const HostFunction& host, const interp::FuncType& type,
                                    Running& running) {
  return [&host, params = type.params, &running](
             interp::Thread& thread, const interp::Values& values, interp::Values& results,
             interp::Trap::Ptr* trap) -> wabt::Result {
    std::vector<std::uint64_t> arguments(values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      arguments[i] = params[i] == wabt::Type::I64   ? values[i].Get<interp::u64>()
                     : params[i] == wabt::Type::I32 ? values[i].Get<interp::u32>()
                                                    : 0;
    const HostAnswer answer = host.call(running, arguments.data());
    if (answer.ends_guest) {
      running.exit_status = answer.value;
      *trap = interp::Trap::New(thread.store(), "the guest has ended");
      return wabt::Result::Error;
    }
    if (running.trap) {
      *trap = running.trap;
      return wabt::Result::Error;
    }
    if (!results.empty()) results[0].Set<interp::u32>(answer.value);
    return wabt::Result::Ok;
  };
}

// Empty: bound.
std::string bind(interp::Store& store, const interp::ModuleDesc& module, const Resolver& resolve,
                 Running& running, interp::RefVec& imports) {
  for (const interp::ImportDesc& import : module.imports) {
    const std::string name = import.type.module + "." + import.type.name;
    if (import.type.type->kind != wabt::ExternalKind::Func)
      return "import " + name + " is no function";
    const auto& type = *wabt::cast<interp::FuncType>(import.type.type.get());
    const HostFunction* host = resolve(import.type.module, import.type.name);
    if (!host) return "there is no import " + name;
    if (!fits(*host, signature_of(type)))
      return "import " + name + " is " + signature_of(type) + ", not " + host->signature;
    imports.push_back(interp::HostFunc::New(store, type, callback(*host, type, running)).ref());
  }
  return "";
}

GuestEnd ended(const Running& running, wabt::Result result, const interp::Trap::Ptr& trap) {
  if (running.exit_status) return {static_cast<int>(*running.exit_status), ""};
  if (wabt::Failed(result)) return {1, "trap: " + (trap ? trap->message() : "unknown")};
  return {0, ""};
}

}  // namespace

GuestEnd run_guest(const std::string& module_bytes, const Resolver& resolve) {
  wabt::Features features;
  features.EnableAll();
  wabt::Errors errors;
  interp::ModuleDesc desc;
  const wabt::ReadBinaryOptions options(features, nullptr, false, true, true);
  if (wabt::Failed(interp::ReadBinaryInterp("guest", module_bytes.data(), module_bytes.size(),
                                            options, &errors, &desc)))
    return {1, "no WebAssembly module: " +
                   wabt::FormatErrorsToString(errors, wabt::Location::Type::Binary)};

  interp::Store store(features);
  const auto module = interp::Module::New(store, std::move(desc));
  Running running(store);
  interp::RefVec imports;
  if (const std::string error = bind(store, module->desc(), resolve, running, imports);
      !error.empty())
    return {1, error};
  interp::Trap::Ptr trap;
  const auto instance = interp::Instance::Instantiate(store, module.ref(), imports, &trap);
  if (!instance) return ended(running, wabt::Result::Error, trap);

  interp::Func::Ptr start;
  for (const interp::ExportDesc& e : module->desc().exports) {
    const bool is_function = e.type.type->kind == wabt::ExternalKind::Func;
    if (is_function && e.type.name == "_start")
      start = store.UnsafeGet<interp::Func>(instance->funcs()[e.index]);
    if (is_function && e.type.name == "cabi_realloc" &&
        signature_of(*wabt::cast<interp::FuncType>(e.type.type.get())) == "iiii:i")
      running.reallocate = store.UnsafeGet<interp::Func>(instance->funcs()[e.index]);
    if (e.type.name == "memory" && e.type.type->kind == wabt::ExternalKind::Memory)
      running.exported = store.UnsafeGet<interp::Memory>(instance->memories()[e.index]);
  }
  if (!start) return {1, "the guest exports no _start"};
  interp::Values results;
  const wabt::Result result = start->Call(store, {}, results, &trap);
  return ended(running, result, trap);
}

}  // namespace quern::wasm
