// value_of, option: convert the Python value of a keyword to C++. Errors name the keyword.
#pragma once

#include <concepts>
#include <initializer_list>
#include <limits>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "bale/formats/base/error.hpp"
#include "bale/python/bindings/bindings.hpp"

namespace bale::python {

template <typename Value>
std::string expected_value() {
  if constexpr (std::same_as<Value, bool>) {
    return "True or False";
  } else if constexpr (std::integral<Value>) {
    return "a whole number from " + std::to_string(std::numeric_limits<Value>::min()) + " to " +
           std::to_string(std::numeric_limits<Value>::max());
  } else if constexpr (std::floating_point<Value>) {
    return "a number";
  } else {
    return "a text";
  }
}

/// Throws TypeError, or ValueError for a number out of range: "batch_size: 32.0 is not a whole number from 0 to ...".
template <typename Value>
Value value_of(nanobind::handle given, const char* keyword) {
  constexpr bool k_is_number = std::is_arithmetic_v<Value> && !std::same_as<Value, bool>;
  try {
    if (k_is_number && PyBool_Check(given.ptr())) throw std::bad_cast();  // not 1
    return nanobind::cast<Value>(given);
  } catch (const std::bad_cast&) {
    const std::string text = std::string(keyword) + ": " + nanobind::cast<std::string>(nanobind::repr(given)) +
                             " is not " + expected_value<Value>();
    if (std::integral<Value> && PyLong_Check(given.ptr()) && !PyBool_Check(given.ptr()))
      throw nanobind::value_error(text.c_str());
    throw nanobind::type_error(text.c_str());
  }
}

/// A text that may hold bytes which are not UTF-8. Throws TypeError.
inline std::string text_of(nanobind::handle given, const char* keyword) {
  if (!nanobind::isinstance<nanobind::str>(given)) value_of<std::string>(given, keyword);  // throws
  return from_str(nanobind::borrow<nanobind::str>(given));
}

template <typename Value>
Value option(const nanobind::dict& given, const char* keyword) {
  return value_of<Value>(nanobind::handle(given[keyword]), keyword);
}

// choice: an option that Python passes by name.

/// The value for the given name. Throws `invalid_argument` with the list of valid names.
template <typename Value>
Value choice(nanobind::handle given, const char* option, std::initializer_list<std::pair<const char*, Value>> values) {
  const std::string text = value_of<std::string>(given, option);
  std::string names;
  for (const auto& [name, value] : values) {
    if (text == name) return value;
    names += names.empty() ? name : std::string(", ") + name;
  }
  throw Error(ErrorCode::invalid_argument, std::string(option) + ": '" + text + "' is none of " + names);
}

}  // namespace bale::python
