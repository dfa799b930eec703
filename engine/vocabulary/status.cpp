// SPDX-License-Identifier: Apache-2.0
#include <new>
#include <stdexcept>
#include <system_error>

#include <quern/status.h>

#include "engine/vocabulary/guarded.h"

namespace quern {

std::string_view code_name(Code code) noexcept {
  switch (code) {
    case Code::ok: return "ok";
    case Code::invalid_argument: return "invalid_argument";
    case Code::invalid_model: return "invalid_model";
    case Code::unsupported: return "unsupported";
    case Code::not_found: return "not_found";
    case Code::out_of_memory: return "out_of_memory";
    case Code::device_lost: return "device_lost";
    case Code::busy: return "busy";
    case Code::timed_out: return "timed_out";
    case Code::internal: return "internal";
  }
  return "internal";
}

// ---- Status ------------------------------------------------------------------------------------

// Made when the library is loaded, so that it is there when nothing can be made.
Status::Rep& Status::no_memory_rep() noexcept {
  // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): without memory no program starts
  static Rep& rep = *new Rep{Code::out_of_memory, "the system has no more memory"};
  return rep;
}
namespace {
[[maybe_unused]] const bool is_made = Status::no_memory().ok();
}

void Status::Free::operator()(Rep* rep) const noexcept {
  if (rep != &no_memory_rep()) delete rep;
}

Status::Status(Code code, std::string message) noexcept
    : rep_(new (std::nothrow) Rep{code, std::move(message)}) {
  if (!rep_) rep_.reset(&no_memory_rep());
}

Status Status::no_memory() noexcept {
  Status status;
  status.rep_.reset(&no_memory_rep());
  return status;
}

Status Status::in(std::string_view where) && {
  if (rep_ && rep_.get() != &no_memory_rep())
    rep_->message.insert(0, std::string(where).append(": "));
  return std::move(*this);
}

Status Status::copy() const {
  if (!rep_) return {};
  return rep_.get() == &no_memory_rep() ? no_memory() : Status(rep_->code, rep_->message);
}

// ---- exceptions --------------------------------------------------------------------------------

Status status_of_exception() noexcept {
  try {
    try {
      throw;
    } catch (const std::bad_alloc&) {
      return Status::no_memory();
    } catch (const std::length_error&) {
      return Status::no_memory();  // a container larger than any memory
    } catch (const std::system_error& e) {
      const bool lacks = e.code() == std::errc::resource_unavailable_try_again ||
                         e.code() == std::errc::not_enough_memory;
      return {lacks ? Code::out_of_memory : Code::internal, e.what()};
    } catch (const std::exception& e) {
      return {Code::internal, e.what()};
    } catch (...) {
      return {Code::internal, "an exception of unknown type"};
    }
  } catch (...) {
    return Status::no_memory();  // for the sentence
  }
}

}  // namespace quern
