// SPDX-License-Identifier: Apache-2.0
// Opens libdnnl at run time, so that a program starts on a machine without it, and so that libgomp,
// on which it depends, is loaded with the idle behaviour that we want (openmp.h).
#define QUERN_ONEDNN_NO_DISPATCH
#include "onednn_dispatch.h"

#include <cstdlib>
#include <string>
#include <string_view>

#include "engine/vocabulary/platform/process.h"
#include "kernels/contract/openmp.h"
#include "kernels/contract/shared_library.h"

namespace quern {
namespace onednn {
bool available() noexcept;  // onednn.h, which cannot be included here
bool has_bf16_units() noexcept;
std::string library_text();
const SharedLibrary& library() noexcept;
}  // namespace onednn
namespace {

// Unless the environment says otherwise (DNNL_JIT_PROFILE, ONEDNN_JIT_PROFILE), oneDNN tells no
// profiler of its code: it searches the path of libraries for VTune's 76 times, and each piece of
// code costs more.
void spare_profilers(const OneDnnApi& api) noexcept {
  if (std::getenv("DNNL_JIT_PROFILE") || std::getenv("ONEDNN_JIT_PROFILE")) return;
  api.dnnl_set_jit_profiling_flags(0);
}

// True if Debian's oneDNN has more than plain loops for this CPU: beside x86-64 for vectors of 512
// bits of SVE alone (2.6; docs/cross.md).
bool has_code_for_this_cpu() noexcept {
#if defined(__x86_64__)
  return true;
#else
  return platform::sve_bytes() == 64;
#endif
}

struct Opened {
  OneDnnApi api;  // all functions, or none
  SharedLibrary library;
};

// The name that the library had where this was built, and those that other systems give to the same
// generation: functions and structures change with the first number only.
SharedLibrary open_library() noexcept {
  constexpr auto flags = platform::Symbols::local;
  const char* wanted = std::getenv("QUERN_ONEDNN");
  if (wanted && wanted != std::string_view("on")) return open_first({wanted}, flags);
#if DNNL_VERSION_MAJOR < 3
  return open_first({QUERN_ONEDNN_SONAME, "libdnnl.so.2", "libmkldnn.so.2", "libdnnl.so"}, flags);
#else
  return open_first(
      {QUERN_ONEDNN_SONAME, "libdnnl.so.3", "libdnnl.so.3.9", "libdnnl.so.3.8", "libdnnl.so.3.7",
       "libdnnl.so.3.6", "libdnnl.so.3.5", "libdnnl.so.3.4", "libdnnl.so"},
      flags);
#endif
}

// NOLINTNEXTLINE(readability-function-cognitive-complexity): one question for each function
Opened load() noexcept {
  open_openmp();
  platform::load_unwinder();  // oneDNN throws within pthread_once()
  Opened o;
  const char* wanted = std::getenv("QUERN_ONEDNN");
  if (wanted && wanted == std::string_view("off")) {
    refuse(o.library, "QUERN_ONEDNN=off is in the environment");
    return o;
  }
  if (!has_code_for_this_cpu()) {
    refuse(o.library, "Debian's has nothing but plain loops for this CPU");
    return o;
  }
  o.library = open_library();
#define QUERN_FIND(name) o.api.name = reinterpret_cast<decltype(o.api.name)>(o.library.find(#name));
  QUERN_ONEDNN_FUNCTIONS(QUERN_FIND)
#undef QUERN_FIND
  bool has_all = o.library.handle != nullptr;
#define QUERN_ASK(name) has_all = has_all && o.api.name;
  QUERN_ONEDNN_FUNCTIONS(QUERN_ASK)
#undef QUERN_ASK
  if (has_all && o.api.dnnl_version()->major == DNNL_VERSION_MAJOR) {
    spare_profilers(o.api);
    return o;
  }
  if (o.library.handle)
    refuse(o.library, has_all ? "it is of another generation than the one of the build"
                              : "it lacks functions that the one of the build has");
  o.api = {};
  return o;
}

const Opened& opened() noexcept {
  static const Opened o = load();
  return o;
}

}  // namespace

const OneDnnApi& onednn_api() noexcept {
  return opened().api;
}

const SharedLibrary& onednn::library() noexcept {
  return opened().library;
}

bool onednn::has_bf16_units() noexcept {
  if (!available()) return false;
  const dnnl_cpu_isa_t isa = onednn_api().dnnl_get_effective_cpu_isa();
  return (isa & dnnl_cpu_isa_avx512_core_amx) == dnnl_cpu_isa_avx512_core_amx;
}

std::string onednn::library_text() {
  if (!available()) return "none";
  const dnnl_version_t& version = *onednn_api().dnnl_version();
  return std::to_string(version.major) + "." + std::to_string(version.minor) + "." +
         std::to_string(version.patch) + ", instructions " +
         std::to_string(static_cast<unsigned>(onednn_api().dnnl_get_effective_cpu_isa()));
}

bool onednn::available() noexcept {
  return onednn_api().dnnl_engine_create != nullptr;
}

}  // namespace quern
