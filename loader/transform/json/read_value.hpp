// Reads steps and transforms from JSON: each an object with a name and members, whose types say how their values are
// read.
//
// Input may be hostile. All functions throw `invalid_argument`, naming the place ("transforms[2].RandomApply.p"), for
// anything that is not what the type needs. Threads: pure functions.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bale/formats/base/error.hpp"
#include "bale/loader/transform/list/enum_names.hpp"
#include "bale/loader/transform/list/members.hpp"
#include "bale/loader/transform/steps/step_members.hpp"

namespace bale::transform_detail {

using nlohmann::json;

[[noreturn]] inline void refuse_json(const std::string& place, std::string_view why) {
  throw Error(ErrorCode::invalid_argument, fmt::format("{}: {}", place, why));
}

/// A value in a message: the reader's may be long.
inline std::string shown(const json& given) {
  const std::string text = given.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.size() > 40 ? text.substr(0, 40) + "..." : text;
}

/// Reads one value into `out` by its type. `own(given, place, out)` reads the types that it can be called with, such as
/// lists of what is read itself; the others are numbers, texts, enumerators and what consists of them.
template <typename Own>
class ValueReader {
 public:
  explicit ValueReader(Own own) : own_(own) {}

  template <typename Value>
  void operator()(const json& given, const std::string& place, Value& out) const {
    if constexpr (std::is_invocable_v<const Own&, const json&, const std::string&, Value&>) {
      own_(given, place, out);
    } else if constexpr (std::is_enum_v<Value>) {
      read_name(given, place, out);
    } else if constexpr (std::is_arithmetic_v<Value>) {
      read_number(given, place, out);
    } else {
      read(given, place, out);
    }
  }

 private:
  void read_number(const json& given, const std::string& place, bool& out) const {
    if (!given.is_boolean()) refuse_json(place, fmt::format("{} is not true or false", shown(given)));
    out = given.get<bool>();
  }
  template <typename Number>
  void read_number(const json& given, const std::string& place, Number& out) const {
    using Limits = std::numeric_limits<Number>;
    if constexpr (std::is_integral_v<Number>) {
      bool fits = false;
      if (given.is_number_unsigned()) {
        fits = given.get<std::uint64_t>() <= static_cast<std::uint64_t>(Limits::max());
      } else if (given.is_number_integer() && std::is_signed_v<Number>) {
        fits = given.get<std::int64_t>() >= static_cast<std::int64_t>(Limits::min());
      }
      if (!fits) refuse_json(place, fmt::format("{} is not a whole number in range", shown(given)));
      out = given.get<Number>();
    } else {
      const double value = given.is_number() ? given.get<double>() : std::nan("");
      if (!std::isfinite(value) || std::abs(value) > static_cast<double>(Limits::max())) {
        refuse_json(place, fmt::format("{} is not a finite number in range", shown(given)));
      }
      out = static_cast<Number>(value);
    }
  }
  template <typename Enum>
  void read_name(const json& given, const std::string& place, Enum& out) const {
    std::string known;
    for (const auto& [name, value] : names_of(static_cast<const Enum*>(nullptr))) {
      if (given.is_string() && given.get_ref<const std::string&>() == name) {
        out = value;
        return;
      }
      known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
    }
    refuse_json(place, fmt::format("{} is not one of {}", shown(given), known));
  }
  void read(const json& given, const std::string& place, std::string& out) const {
    if (!given.is_string()) refuse_json(place, fmt::format("{} is not a text", shown(given)));
    out = given.get<std::string>();
  }
  template <typename Value>
  void read(const json& given, const std::string& place, std::optional<Value>& out) const {
    out.reset();
    if (!given.is_null()) (*this)(given, place, out.emplace());
  }
  template <typename Value, std::size_t N>
  void read(const json& given, const std::string& place, std::array<Value, N>& out) const {
    if (!given.is_array() || given.size() != N) refuse_json(place, fmt::format("{} is not {} values", shown(given), N));
    for (std::size_t i = 0; i < N; ++i) (*this)(given[i], place, out[i]);
  }
  template <typename Value>
  void read(const json& given, const std::string& place, std::vector<Value>& out) const {
    if (!given.is_array()) refuse_json(place, fmt::format("{} is not a list", shown(given)));
    out.clear();
    for (const json& item : given) (*this)(item, place, out.emplace_back());
  }

  Own own_;
};

/// Members that are not there keep their default. Members that the type does not have are refused.
template <typename One, typename Own>
One read_members(const json& given, const std::string& place, const ValueReader<Own>& reader) {
  One one;
  std::size_t known = 1;  // the name
  for_members(one, [&](const char* name, auto& member) {
    const auto found = given.find(name);
    if (found == given.end()) return;
    reader(*found, fmt::format("{}.{}", place, name), member);
    ++known;
  });
  if (known == given.size()) return one;
  for (const auto& item : given.items()) {
    const std::string& key = item.key();
    bool exists = key == "name";
    for_members(one, [&](const char* name, auto&) { exists |= key == name; });
    if (!exists) refuse_json(place, fmt::format("has no parameter {}", shown(json(key))));
  }
  return one;
}

/// The alternative of `Variant` whose name_of() is `name`, as a `Result`. `what` it is stands in messages.
template <typename Result, typename Variant, std::size_t I = 0, typename Own>
Result read_alternative(const std::string& name, const json& given, const std::string& place, std::string_view what,
                        const ValueReader<Own>& reader) {
  if constexpr (I == std::variant_size_v<Variant>) {
    refuse_json(place, fmt::format("there is no {} {}", what, shown(json(name))));
  } else {
    using One = std::variant_alternative_t<I, Variant>;
    if (name == name_of(static_cast<const One*>(nullptr))) {
      return read_members<One>(given, fmt::format("{}.{}", place, name), reader);
    }
    return read_alternative<Result, Variant, I + 1>(name, given, place, what, reader);
  }
}

/// A list of objects, of which add(name, object, place) takes each.
template <typename Add>
void read_objects(const json& given, const std::string& place, std::string_view what, const Add& add) {
  if (!given.is_array()) refuse_json(place, fmt::format("is not a list of {}", what));
  std::size_t number = 0;
  for (const json& one : given) {
    const std::string one_place = fmt::format("{}[{}]", place, number++);
    const auto name = one.is_object() ? one.find("name") : one.end();
    if (name == one.end() || !name->is_string()) refuse_json(one_place, "is not an object with a name");
    add(name->get_ref<const std::string&>(), one, one_place);
  }
}

/// `what` stands in the message for text that is not JSON.
inline json parsed_json(std::string_view text, std::string_view what) {
  json given = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (given.is_discarded()) refuse_json(std::string(what), "the text is not JSON");
  return given;
}

}  // namespace bale::transform_detail
