// SPDX-License-Identifier: Apache-2.0
// Errors as values: every call that can fail returns a Status or a Result<T>. A message names the
// subject, what was found and what is expected: "node 'conv1' (Conv): weight has 3 input channels,
// input has 4".
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace quern {

// One table for all layers; c/quern.h, wasi-nn witx and WIT map from it.
enum class Code : unsigned char {
  ok,
  invalid_argument,  // the caller's mistake: an unknown name, a wrong shape, a null pointer
  invalid_model,     // the model contradicts itself or the format
  unsupported,       // understood, but not implemented
  not_found,         // no such file, name or device
  out_of_memory,     // a limit or the system refused; the message says how much was wanted
  device_lost,       // the device stopped; its sessions are dead, the process is not
  busy,              // in use by another thread, or cancelled
  internal,          // a defect of this library: please report it
  timed_out,         // past its deadline
};

// "ok", "invalid_argument", ...
std::string_view code_name(Code code) noexcept;

// A null pointer on success, so that success costs nothing. Movable, not copyable; safe to read
// from any thread. Where not even an error can be allocated, it is no_memory().
class [[nodiscard]] Status {
 public:
  Status() noexcept = default;
  Status(Code code, std::string message) noexcept;
  // out_of_memory, "the system has no more memory"; it takes none.
  static Status no_memory() noexcept;

  bool ok() const noexcept { return rep_ == nullptr; }
  Code code() const noexcept { return rep_ ? rep_->code : Code::ok; }
  std::string_view message() const noexcept {
    return rep_ ? std::string_view(rep_->message) : std::string_view();
  }
  // The same error with `where` before its message; ok stays ok, and so does no_memory().
  Status in(std::string_view where) &&;
  // For the rare code that must keep an error and also return it.
  Status copy() const;

 private:
  struct Rep {
    Code code;
    std::string message;
  };
  struct Free {
    void operator()(Rep* rep) const noexcept;
  };
  static Rep& no_memory_rep() noexcept;

  std::unique_ptr<Rep, Free> rep_;
};

// A value, or the error that explains why there is none. Member names are those of std::expected.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : has_value_(true), value_(std::move(value)) {}  // NOLINT: implicit
  Result(Status error) noexcept : has_value_(false), error_(std::move(error)) {}  // NOLINT
  Result(Result&& other) noexcept(std::is_nothrow_move_constructible_v<T>)
      : has_value_(other.has_value_) {
    if (has_value_)
      std::construct_at(&value_, std::move(other.value_));
    else
      std::construct_at(&error_, std::move(other.error_));
  }
  Result& operator=(Result&& other) noexcept {
    static_assert(std::is_nothrow_move_constructible_v<T>);
    if (this == &other) return *this;
    std::destroy_at(this);
    return *std::construct_at(this, std::move(other));
  }
  ~Result() {
    if (has_value_)
      std::destroy_at(&value_);
    else
      std::destroy_at(&error_);
  }

  bool has_value() const noexcept { return has_value_; }
  explicit operator bool() const noexcept { return has_value_; }
  T& value() & noexcept { return value_; }
  const T& value() const& noexcept { return value_; }
  T&& value() && noexcept { return std::move(value_); }
  T& operator*() & noexcept { return value_; }
  const T& operator*() const& noexcept { return value_; }
  T&& operator*() && noexcept { return std::move(value_); }
  T* operator->() noexcept { return &value_; }
  const T* operator->() const noexcept { return &value_; }
  Status& error() & noexcept { return error_; }
  const Status& error() const& noexcept { return error_; }
  Status error() && noexcept { return std::move(error_); }
  // ok when there is a value; moves the error out.
  Status status() && noexcept { return has_value_ ? Status() : std::move(error_); }

 private:
  bool has_value_;
  // A hand-written union: std::variant took a tenth of the compile time of most files.
  union {
    T value_;
    Status error_;
  };
};

}  // namespace quern

#define QUERN_CONCAT_(a, b) a##b
#define QUERN_CONCAT(a, b) QUERN_CONCAT_(a, b)
// Returns the error from the enclosing function, if there is one.
#define QUERN_TRY(expr)                                                                 \
  do {                                                                                  \
    if (::quern::Status quern_status = (expr); !quern_status.ok()) return quern_status; \
  } while (0)
// QUERN_ASSIGN(auto x, f()): assigns the value of the Result, or returns its error from the
// enclosing function.
#define QUERN_ASSIGN(lhs, expr)                                      \
  auto QUERN_CONCAT(quern_result_, __LINE__) = (expr);               \
  if (!QUERN_CONCAT(quern_result_, __LINE__))                        \
    return std::move(QUERN_CONCAT(quern_result_, __LINE__)).error(); \
  lhs = std::move(QUERN_CONCAT(quern_result_, __LINE__)).value()
