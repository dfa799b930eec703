// SPDX-License-Identifier: Apache-2.0
#include "graph/custom/registry.h"

#include <algorithm>
#include <filesystem>

#include "engine/vocabulary/guarded.h"
#include "engine/vocabulary/platform/files.h"
#include "engine/vocabulary/platform/libraries.h"
#include "engine/vocabulary/text_util.h"

namespace quern {
namespace {

std::string opset_range(const quern_custom_op& op) {
  if (op.last_opset == 0)
    return op.first_opset <= 1 ? std::string("all") : cat(op.first_opset, " or later");
  return op.first_opset == op.last_opset ? cat(op.last_opset)
                                         : cat(op.first_opset, " to ", op.last_opset);
}

std::string display_of(const RegisteredOperator& op) {
  return cat(op.domain(), op.domain().empty() ? "" : ".", op.name());
}

bool overlap(const RegisteredOperator& a, const RegisteredOperator& b) {
  const auto last = [](const RegisteredOperator& op) {
    return op.functions().last_opset ? op.functions().last_opset : INT64_MAX;
  };
  return a.domain() == b.domain() && a.name() == b.name() && a.functions().first_opset <= last(b) &&
         b.functions().first_opset <= last(a);
}

// What a shared object adds, until all of it is known to be right.
struct Loading {
  std::shared_ptr<void> library;
  std::vector<std::shared_ptr<RegisteredOperator>> made;
  Status error;

  static quern_status add(const quern_ops_host* host, const quern_custom_op* op) noexcept {
    if (!host || !host->registry) return QUERN_INVALID_ARGUMENT;
    auto& loading = *static_cast<Loading*>(host->registry);
    Status status = guarded([&]() -> Status {
      if (!op) return {Code::invalid_argument, "add() was given NULL"};
      QUERN_ASSIGN(auto made, RegisteredOperator::make(*op, loading.library));
      loading.made.push_back(std::move(made));
      return {};
    });
    const auto code = static_cast<quern_status>(status.code());
    if (loading.error.ok()) loading.error = std::move(status);
    return code;
  }
};

Result<std::shared_ptr<void>> open_library(const std::string& path) {
  if (!platform::info_of(path))
    return Status(Code::not_found, cat(printable(path), ": no such file"));
  // Without a slash the loader would look among the system's libraries.
  const std::string file = !std::filesystem::path(path).has_parent_path() ? "./" + path : path;
  void* const handle = platform::open_library(file.c_str(), platform::Symbols::local);
  if (!handle)
    return Status(Code::invalid_argument, cat(printable(path), ": no shared object of operators: ",
                                              printable(platform::library_error(), 300)));
  return std::shared_ptr<void>(handle, platform::close_library);
}

}  // namespace

std::shared_ptr<const RegisteredOperator> CustomOps::Impl::find(std::string_view domain,
                                                                std::string_view name,
                                                                std::int64_t opset) const {
  const std::scoped_lock lock(mutex);
  for (const auto& op : operators)
    if (op->domain() == domain && op->name() == name && op->is_for(opset)) return op;
  return nullptr;
}

std::string CustomOps::Impl::opsets_of(std::string_view domain, std::string_view name) const {
  const std::scoped_lock lock(mutex);
  std::string all;
  for (const auto& op : operators)
    if (op->domain() == domain && op->name() == name)
      all += cat(all.empty() ? "" : ", ", opset_range(op->functions()));
  return all;
}

Status CustomOps::Impl::add(const std::vector<std::shared_ptr<RegisteredOperator>>& made) {
  const std::scoped_lock lock(mutex);
  std::vector<std::shared_ptr<const RegisteredOperator>> all = operators;
  for (const auto& op : made) {
    const auto twice = std::ranges::find_if(all, [&](const auto& o) { return overlap(*o, *op); });
    if (twice != all.end())
      return {Code::invalid_argument,
              cat("operator ", display_of(*op), " is registered twice, for opsets ",
                  opset_range((*twice)->functions()), " and ", opset_range(op->functions()))};
    all.push_back(op);
  }
  operators = std::move(all);
  for (const auto& op : made) op->own();
  return {};
}

CustomOps::CustomOps() : impl_(std::make_unique<Impl>()) {}
CustomOps::~CustomOps() = default;

Status CustomOps::add(const quern_custom_op& op) {
  return guarded([&]() -> Status {
    QUERN_ASSIGN(auto made, RegisteredOperator::make(op, nullptr));
    return impl_->add({std::move(made)});
  });
}

Status CustomOps::load(const std::string& path) {
  return guarded([&]() -> Status {
    Loading loading;
    QUERN_ASSIGN(loading.library, open_library(path));
    const auto entry = reinterpret_cast<quern_register_ops_function>(
        platform::find_symbol(loading.library.get(), "quern_register_ops"));
    if (!entry)
      return {Code::invalid_argument,
              cat(printable(path), ": has no function quern_register_ops (quern/c/custom_op.h)")};
    const quern_ops_host host{sizeof host, QUERN_OPS_VERSION, &loading, Loading::add};
    const quern_status answer = entry(&host);
    if (!loading.error.ok()) return std::move(loading.error).in(printable(path));
    if (answer != QUERN_OK)
      return {Code::invalid_argument,
              cat(printable(path), ": quern_register_ops gave status ", answer)};
    if (loading.made.empty())
      return {Code::invalid_argument, cat(printable(path), ": registers no operator")};
    return impl_->add(loading.made).in(printable(path));
  });
}

std::vector<CustomOpInfo> CustomOps::list() const {
  const std::scoped_lock lock(impl_->mutex);
  std::vector<CustomOpInfo> all;
  for (const auto& op : impl_->operators)
    all.push_back({.domain = op->domain(),
                   .name = op->name(),
                   .first_opset = op->functions().first_opset,
                   .last_opset = op->functions().last_opset,
                   .has_reference = op->functions().reference != nullptr,
                   .is_deterministic = op->is(QUERN_OP_DETERMINISTIC)});
  return all;
}

}  // namespace quern
