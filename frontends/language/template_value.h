// SPDX-License-Identifier: Apache-2.0
// Values of chat templates: those of Python that Jinja templates work with.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <quern/status.h>

#include "frontends/language/json.h"

namespace quern::language {

struct TemplateMacro;

// Immutable, except for a namespace, which no other value can hold. Copies share lists and objects.
class TemplateValue {
 public:
  using List = std::vector<TemplateValue>;
  using Map = std::vector<std::pair<std::string, TemplateValue>>;  // in the order of insertion
  struct Undefined {};
  struct Namespace {
    Map members;
  };

  TemplateValue() : of_(Undefined{}) {}
  TemplateValue(std::nullptr_t) : of_(nullptr) {}                       // NOLINT: values convert
  TemplateValue(std::string text) : of_(std::move(text)) {}             // NOLINT
  TemplateValue(std::string_view text) : of_(std::string(text)) {}      // NOLINT
  TemplateValue(const char* text) : of_(std::string(text)) {}           // NOLINT
  TemplateValue(std::int64_t number) : of_(number) {}                   // NOLINT
  TemplateValue(double number) : of_(number) {}                         // NOLINT
  TemplateValue(std::shared_ptr<Namespace> of) : of_(std::move(of)) {}  // NOLINT
  TemplateValue(std::shared_ptr<const TemplateMacro> macro) : of_(std::move(macro)) {}  // NOLINT
  static TemplateValue of_boolean(std::same_as<bool> auto truth) {
    TemplateValue value;
    value.of_ = truth;
    return value;
  }
  // Errors: unsupported, values nested too deep.
  static Result<TemplateValue> of_list(List list);
  static Result<TemplateValue> of_map(Map map);
  static Result<TemplateValue> of_json(Json json);

  template <class T>
  const T* as() const {
    return std::get_if<T>(&of_);
  }
  const std::string* text() const { return as<std::string>(); }
  const List* list() const;  // null: no list
  const Map* map() const;    // null: no object
  const std::shared_ptr<Namespace>* space() const { return as<std::shared_ptr<Namespace>>(); }
  const std::shared_ptr<const TemplateMacro>* macro() const {
    return as<std::shared_ptr<const TemplateMacro>>();
  }
  bool is_undefined() const { return as<Undefined>() != nullptr; }
  bool is_none() const { return as<std::nullptr_t>() != nullptr; }
  bool is_number() const { return as<std::int64_t>() || as<double>() || as<bool>(); }
  double number() const;  // of a number
  bool is_integer() const { return as<std::int64_t>() || as<bool>(); }
  std::int64_t integer() const;  // of an integer
  bool truth() const;
  // The member `key` of an object or namespace; null: there is none.
  const TemplateValue* find(std::string_view key) const;

  std::string printed() const;  // as str() of Python
  std::string shown() const;    // as repr() of Python
  std::string json(int indent,
                   int depth = 0) const;  // as json.dumps(ensure_ascii=False); < 0: no lines
  std::string_view type_name() const;
  // The bytes that printing takes, about: what is done with a value costs as much work.
  std::size_t weight() const;
  bool operator==(const TemplateValue& other) const;

 private:
  template <class T>
  struct Shared {
    std::shared_ptr<const T> of;
    int depth;
    std::size_t weight;
  };
  int depth() const;

  std::variant<Undefined, std::nullptr_t, bool, std::int64_t, double, std::string, Shared<List>,
               Shared<Map>, std::shared_ptr<Namespace>, std::shared_ptr<const TemplateMacro>>
      of_;
};

}  // namespace quern::language
