// SPDX-License-Identifier: Apache-2.0
// One call of a function of the host: what it is shown, what it may ask, and what it answered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <quern/c/custom_op.h>
#include <quern/status.h>
#include <quern/tensor.h>

#include "graph/custom/bound.h"
#include "graph/type.h"

namespace quern {

// What the engine offers to a function in one stage; here, nothing that it does not have anywhere.
class OperatorHost {
 public:
  virtual ~OperatorHost() = default;
  virtual void parallel_for(std::int64_t count, std::int64_t grain, quern_op_body body,
                            void* data) const;
  virtual bool is_over() const { return false; }
  // Null where the input is no constant. May throw std::bad_alloc.
  virtual Result<const void*> constant(std::size_t input) const;
};

// The functions of the host get the base as their argument. Making one allocates; calls do not,
// unless they fail. One thread at a time.
class OperatorCall : private quern_op_call {
 public:
  OperatorCall(const BoundOperator& op, std::size_t inputs, std::size_t outputs);
  OperatorCall(const OperatorCall&) = delete;
  OperatorCall& operator=(const OperatorCall&) = delete;

  // ---- what is shown; an input that is not shown is absent
  void show_input(std::size_t i, const ValueType& type, const void* data);
  void show_input(std::size_t i, const TensorType& type);
  void show_output(std::size_t i, const TensorType& type);
  void set_input_data(std::size_t i, const void* data) { inputs_[i].data = data; }
  // Null: not wanted.
  void set_output_data(std::size_t i, void* data);
  void set_work(void* state, void* memory, std::size_t bytes, int threads_allowed);

  // ---- calls. The errors are those that the function names, else a sentence that says which
  // function failed.
  using Function = quern_status (*)(const quern_op_call*);
  Status infer();
  Status prepare(quern_op_kernel& kernel, const OperatorHost& host);
  Status run(Function function, const OperatorHost& host);

  // After infer(): nullopt where the function set none.
  std::span<const std::optional<ValueType>> types() const { return types_; }

 private:
  enum class Stage : std::uint8_t { none, infer, prepare, run };
  struct Functions;  // of quern_op_api
  static const quern_op_api functions_of_engine;

  template <class F>
  Status call(Stage stage, const char* name, const OperatorHost& host, const F& f);
  Status set_type(std::size_t output, quern_dtype dtype, std::int32_t rank,
                  const std::int64_t* dims);
  Result<Dim> dim_of(std::size_t output, std::size_t axis, std::int64_t dim) const;
  const CustomAttribute* find(const char* attribute);
  template <class T>
  const T* get(const char* attribute, const char* wanted);
  void fail(Status status);

  const BoundOperator& op_;
  const OperatorHost* host_ = nullptr;
  Stage stage_ = Stage::none;
  std::mutex error_mutex_;  // parts of a loop may fail at one time
  Status error_;            // the first
  std::vector<quern_op_input> inputs_;
  std::vector<quern_op_output> outputs_;
  std::vector<std::vector<std::int64_t>> input_dims_;
  std::vector<std::vector<std::int64_t>> output_dims_;
  std::vector<std::optional<ValueType>> types_;
};

// The answer of `prepare`, or of an operator without one. Immutable; keeps the operator.
class PreparedOperator {
 public:
  // `call` shows the types of all inputs and outputs.
  static Result<PreparedOperator> make(std::shared_ptr<const BoundOperator> op, OperatorCall& call,
                                       const OperatorHost& host);
  PreparedOperator(PreparedOperator&& other) noexcept
      : op_(std::move(other.op_)), kernel_(std::exchange(other.kernel_, {})) {}
  PreparedOperator& operator=(PreparedOperator&&) = delete;
  ~PreparedOperator() {
    if (kernel_.destroy && kernel_.state) kernel_.destroy(kernel_.state);
  }

  const BoundOperator& op() const { return *op_; }
  std::size_t workspace_bytes() const { return kernel_.workspace_bytes; }
  void* state() const { return kernel_.state; }

 private:
  PreparedOperator(std::shared_ptr<const BoundOperator> op, const quern_op_kernel& kernel)
      : op_(std::move(op)), kernel_(kernel) {}

  std::shared_ptr<const BoundOperator> op_;
  quern_op_kernel kernel_;
};

}  // namespace quern
