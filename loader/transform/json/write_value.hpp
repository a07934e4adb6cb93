// Writes steps and transforms as JSON that read_value.hpp reads: all members, and numbers so that reading gives the
// same bits.
//
// Threads: pure functions.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/loader/transform/members/enum_names.hpp"
#include "bale/loader/transform/members/members.hpp"
#include "bale/loader/transform/members/step_members.hpp"

namespace bale::transform_detail {

/// The JSON of a value. `own(value)` writes the types that it can be called with, as for ValueReader.
template <typename Own>
class ValueWriter {
 public:
  explicit ValueWriter(Own own) : own_(own) {}

  template <typename Value>
  Json operator()(const Value& value) const {
    if constexpr (std::is_invocable_v<const Own&, const Value&>) {
      return own_(value);
    } else if constexpr (std::is_enum_v<Value>) {
      for (const auto& [name, named] : names_of(static_cast<const Value*>(nullptr))) {
        if (named == value) return name;
      }
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("transform: {} is not the number of an enumerator", static_cast<int>(value)));
    } else if constexpr (std::is_arithmetic_v<Value> || std::is_same_v<Value, std::string>) {
      return value;
    } else {
      return write(value);
    }
  }

 private:
  template <typename Value>
  Json write(const std::optional<Value>& value) const {
    return value ? (*this)(*value) : Json();
  }
  template <typename Value, std::size_t N>
  Json write(const std::array<Value, N>& values) const {
    return sequence(values);
  }
  template <typename Value>
  Json write(const std::vector<Value>& values) const {
    return sequence(values);
  }
  template <typename Sequence>
  Json sequence(const Sequence& values) const {
    Json out = Json::array();
    for (const auto& value : values) out.push_back((*this)(value));
    return out;
  }

  Own own_;
};

/// An object with the name and all members of the alternative that `one`, a std::variant, has.
template <typename Variant, typename Own>
Json write_alternative(const Variant& one, const ValueWriter<Own>& writer) {
  return std::visit(
      [&writer](const auto& chosen) {
        Json object{{"name", name_of(&chosen)}};
        for_members(chosen, [&](const char* name, const auto& member) { object[name] = writer(member); });
        return object;
      },
      one);
}

}  // namespace bale::transform_detail
