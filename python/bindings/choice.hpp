// choice: an option that Python passes by name.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "bale/formats/base/error.hpp"
#include "bale/python/bindings/value.hpp"

namespace bale::python {

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
