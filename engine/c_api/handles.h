// SPDX-License-Identifier: Apache-2.0
// What stands behind the handles of c/quern.h, and how every entry reports and catches.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <quern/c/quern.h>
#include <quern/device_tensor.h>
#include <quern/executable.h>
#include <quern/model.h>
#include <quern/session.h>
#include <quern/status.h>

namespace quern::c_api {

// Keeps the sentence for quern_last_error(); allocates nothing.
quern_status report(quern_status code, std::string_view message) noexcept;
quern_status report(const Status& status) noexcept;

// The body of every entry that can fail: a lambda that returns Status. Nothing is thrown past it.
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

inline Status null_argument(std::string_view name) {
  return {Code::invalid_argument, std::string(name) + " is null"};
}

#define QUERN_NOT_NULL(argument) \
  if (!(argument)) return null_argument(#argument)

// A structure that begins with its size, as the caller knows it: fields that the caller's lacks are
// zero. A null pointer gives all defaults.
template <class T>
Result<T> read_struct(const T* given) {
  T value{};
  if (!given) return value;
  if (given->struct_size < sizeof given->struct_size)
    return Status(Code::invalid_argument, "struct_size is not set");
  std::memcpy(&value, given, std::min(given->struct_size, sizeof value));
  return value;
}

// The reverse: fields that the caller's structure lacks are left out.
template <class T>
Status write_struct(T* to, T value) {
  if (to->struct_size < sizeof to->struct_size)
    return {Code::invalid_argument, "struct_size is not set"};
  value.struct_size = to->struct_size;
  std::memcpy(to, &value, std::min(to->struct_size, sizeof value));
  return {};
}

// Type and shape of what C describes, with every check; and the reverse.
Result<TensorType> type_of(const quern_tensor* tensor);
void write_type(const TensorType& type, quern_tensor* value);

// Inputs or outputs with what C wants to see of them.
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

struct quern_model {
  explicit quern_model(quern::Model m)
      : model(std::move(m)), inputs(model.inputs(), "input"), outputs(model.outputs(), "output") {}

  quern::Model model;
  quern::c_api::ValueTable inputs, outputs;
};

struct quern_device {
  std::shared_ptr<quern::Device> device;
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
  explicit quern_session(std::unique_ptr<quern::Session> s)
      : session(std::move(s)), copies(session->executable().inputs().size()) {}

  std::unique_ptr<quern::Session> session;
  // Of each input, the copy that is bound and a spare one, so that a refused input changes nothing.
  std::vector<std::array<std::vector<std::byte>, 2>> copies;
  bool profiling = false;
  std::vector<quern::Session::Timing> profile;  // of the last run
};
