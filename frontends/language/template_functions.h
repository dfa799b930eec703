// SPDX-License-Identifier: Apache-2.0
// Filters, tests and methods of chat templates. Each is a row of a table by name.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <quern/status.h>

#include "frontends/language/template_value.h"
#include "frontends/language/work.h"

namespace quern::language {

struct TemplateArguments {
  std::vector<TemplateValue> values;
  TemplateValue::Map named;

  // The argument at `index` or by `name`; null: it was not given.
  const TemplateValue* find(std::size_t index, std::string_view name = {}) const;
  std::string_view text(std::size_t index, std::string_view name, std::string_view otherwise) const;
  std::int64_t integer(std::size_t index, std::string_view name, std::int64_t otherwise) const;
};

struct TemplateFunction {
  std::string_view name;
  Result<TemplateValue> (*call)(const TemplateValue& value, const TemplateArguments& arguments,
                                Work& work);
};
// Methods of texts, and filters that take them (template_texts.cpp).
std::span<const TemplateFunction> template_text_methods();
std::span<const TemplateFunction> template_text_filters();
std::string small_text(std::string_view text);
// Capitals of single characters: the inverse of small letters.
std::string capital_text(std::string_view text);

// Errors without a line: invalid_argument; unsupported, no such name, or too many steps.
Result<TemplateValue> apply_filter(std::string_view name, const TemplateValue& value,
                                   const TemplateArguments& arguments, Work& work);
Result<bool> apply_test(std::string_view name, const TemplateValue& value,
                        const TemplateArguments& arguments, Work& work);
Result<TemplateValue> call_method(const TemplateValue& object, std::string_view name,
                                  const TemplateArguments& arguments, Work& work);

Status template_error(std::string_view what);
Status template_work_spent();
// The elements that a loop goes over: of a list, characters of a text, keys of an object, none of
// what is not defined. Errors: invalid_argument, what cannot be gone over.
Result<TemplateValue::List> elements_of(const TemplateValue& value, Work& work);
// Negative, 0 or positive, where both are numbers, texts or lists. Errors: invalid_argument.
Result<int> compared(const TemplateValue& a, const TemplateValue& b);
// `needle in haystack`.
Result<bool> contains(const TemplateValue& haystack, const TemplateValue& needle);

}  // namespace quern::language
