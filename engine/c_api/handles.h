// SPDX-License-Identifier: Apache-2.0
// The structures behind the handles of c/quern.h, error reporting, and the exception barrier of
// every entry point.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <quern/c/quern.h>
#include <quern/c/tuning.h>
#include <quern/custom_ops.h>
#include <quern/decoder.h>
#include <quern/device_tensor.h>
#include <quern/executable.h>
#include <quern/host.h>
#include <quern/model.h>
#include <quern/session.h>
#include <quern/status.h>
#include <quern/thread_pool.h>

#include "engine/c_api/struct_sizes.h"

namespace quern::c_api {

// Stores the message for quern_last_error(); allocates nothing.
quern_status report(quern_status code, std::string_view message) noexcept;
quern_status report(const Status& status) noexcept;

// Runs the body of an entry point that can fail: a lambda that returns Status. No exception leaves
// it.
template <class F>
quern_status guarded(const F& body) noexcept {
  try {
    return report(body());
  } catch (const std::bad_alloc&) {
    return report(QUERN_OUT_OF_MEMORY, "the system has no more memory");
  } catch (const std::exception& e) {
    return report(QUERN_INTERNAL, e.what());
  } catch (...) {
    return report(QUERN_INTERNAL, "an exception of unknown type");
  }
}

// So far from now; far enough, it is never.
inline std::chrono::steady_clock::time_point deadline_in(std::uint64_t microseconds) {
  using Clock = std::chrono::steady_clock;
  const auto now = Clock::now();
  const auto left =
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::time_point::max() - now);
  if (microseconds >= static_cast<std::uint64_t>(left.count())) return Clock::time_point::max();
  return now + std::chrono::microseconds(microseconds);
}

inline Status null_argument(std::string_view name) {
  return {Code::invalid_argument, std::string(name) + " is null"};
}

#define QUERN_NOT_NULL(argument) \
  if (!(argument)) return null_argument(#argument)

QUERN_STRUCT_SIZES(quern_device_info);
QUERN_STRUCT_SIZES(quern_device_counters);
QUERN_STRUCT_SIZES(quern_host_options);
QUERN_STRUCT_SIZES(quern_load_options, offsetof(quern_load_options, microseconds),
                   offsetof(quern_load_options, custom_ops));
QUERN_STRUCT_SIZES(quern_model_info);
QUERN_STRUCT_SIZES(quern_value_info, offsetof(quern_value_info, keys));
QUERN_STRUCT_SIZES(
    quern_compile_options, offsetof(quern_compile_options, pool),
    offsetof(quern_compile_options, opened), offsetof(quern_compile_options, no_scratch),
    offsetof(quern_compile_options, microseconds), offsetof(quern_compile_options, max_plan_bytes),
    offsetof(quern_compile_options, thread_pool), offsetof(quern_compile_options, math),
    offsetof(quern_compile_options, denormals), offsetof(quern_compile_options, arena_limit),
    offsetof(quern_compile_options, host), offsetof(quern_compile_options, tuning),
    offsetof(quern_compile_options, no_stripes));
QUERN_STRUCT_SIZES(quern_tune_options);
QUERN_STRUCT_SIZES(quern_tune_report);
QUERN_STRUCT_SIZES(quern_save_options);
QUERN_STRUCT_SIZES(quern_tensor);
QUERN_STRUCT_SIZES(quern_decoder_options);
QUERN_STRUCT_SIZES(quern_decoder_info);
QUERN_STRUCT_SIZES(quern_plan_info, offsetof(quern_plan_info, session_bytes));
QUERN_STRUCT_SIZES(quern_profile_entry);
QUERN_STRUCT_SIZES(quern_group_options);
QUERN_STRUCT_SIZES(quern_group_counters);

// Returns the caller's structure, with zero in fields that the caller's version lacks. A null
// pointer gives all defaults.
template <class T>
Result<T> read_struct(const T* given) {
  T value{};
  QUERN_TRY(read_fields(given, &value));
  return value;
}

// Converts type and shape from the C structure, with all checks; and back.
Result<TensorType> type_of(const quern_tensor* tensor);
// Its elements stay where they are.
Result<TensorView> view_of(const quern_tensor* tensor);
// The i-th of an array of structures that have the size of its first, which may be of another
// version.
inline const quern_tensor* tensor_at(const quern_tensor* tensors, std::size_t i) {
  const auto* first = reinterpret_cast<const std::byte*>(tensors);
  return reinterpret_cast<const quern_tensor*>(first + i * tensors->struct_size);
}
void write_type(const TensorType& type, quern_tensor* value);

// Inputs or outputs as the C API presents them.
class ValueTable {
 public:
  ValueTable(std::vector<ValueSpec> specs, const char* what);
  std::size_t size() const { return specs_.size(); }
  Status info(std::size_t index, quern_value_info* info) const;
  Status find(const char* name, std::size_t* index) const;

 private:
  std::vector<ValueSpec> specs_;
  std::vector<std::vector<const char*>> symbols_;
  const char* what_;
};

}  // namespace quern::c_api

struct quern_host {
  std::shared_ptr<quern::Host> host;
};

struct quern_custom_ops {
  std::shared_ptr<quern::CustomOps> ops;
};

struct quern_model {
  explicit quern_model(quern::Model m)
      : model(std::move(m)), inputs(model.inputs(), "input"), outputs(model.outputs(), "output") {}

  quern::Model model;
  quern::c_api::ValueTable inputs, outputs;
};

struct quern_device {
  std::shared_ptr<quern::Device> device;
  // Of described(), once somebody asks.
  mutable std::once_flag asked = {};
  mutable std::vector<std::pair<std::string, std::string>> properties = {};
};

struct quern_thread_pool {
  std::shared_ptr<quern::ThreadPool> pool;
};

struct quern_device_tensor {
  std::shared_ptr<quern::DeviceTensor> tensor;
};

struct quern_executable {
  explicit quern_executable(std::shared_ptr<const quern::Executable> e)
      : executable(std::move(e)),
        inputs(executable->inputs(), "input"),
        outputs(executable->outputs(), "output") {}

  std::shared_ptr<const quern::Executable> executable;
  quern::c_api::ValueTable inputs, outputs;
};

struct quern_session {
  explicit quern_session(std::shared_ptr<quern::Session> s)
      : copies(s->executable().inputs().size()), session(std::move(s)) {}

  // Two copies per input, one bound and one spare, so that a refused input changes nothing. They
  // outlive the session, whose destructor waits for a run that reads them.
  std::vector<std::array<std::vector<std::byte>, 2>> copies;
  std::shared_ptr<quern::Session> session;
  bool is_of_group = false;  // which owns this handle and the session
  bool profiling = false;
  std::string warning;                          // as quern_session_warning() has handed it out
  std::vector<quern::Session::Timing> profile;  // of the last run
};

struct quern_decoder {
  std::unique_ptr<quern::Decoder> decoder;
};
