// Reads steps and transforms from JSON: each an object with a name and members, whose types say how their values are
// read.
//
// Input may be hostile. All functions throw `invalid_argument`, naming the place ("transforms[2].RandomApply.p"), for
// anything that is not what the type needs. Threads: pure functions.
#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
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

[[noreturn]] inline void refuse_json(const std::string& place, std::string_view why) {
  throw Error(ErrorCode::invalid_argument, fmt::format("{}: {}", place, why));
}

/// A value in a message: the reader's may be long.
inline std::string shown(const Json& given) {
  const std::string text = given.dump();
  return text.size() > 40 ? text.substr(0, 40) + "..." : text;
}

/// Reads one value into `out` by its type. `own(given, place, out)` reads the types that it can be called with, such as
/// lists of what is read itself; the others are numbers, texts, enumerators and what consists of them.
template <typename Own>
class ValueReader {
 public:
  explicit ValueReader(Own own) : own_(own) {}

  template <typename Value>
  void operator()(const Json& given, const std::string& place, Value& out) const {
    if constexpr (std::is_invocable_v<const Own&, const Json&, const std::string&, Value&>) {
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
  void read_number(const Json& given, const std::string& place, bool& out) const {
    if (!given.is_truth()) refuse_json(place, fmt::format("{} is not true or false", shown(given)));
    out = given.as_truth(place);
  }
  template <typename Number>
  void read_number(const Json& given, const std::string& place, Number& out) const {
    using Limits = std::numeric_limits<Number>;
    if constexpr (std::is_integral_v<Number>) {
      if (!given.is_whole_within(Limits::min(), Limits::max())) {
        refuse_json(place, fmt::format("{} is not a whole number in range", shown(given)));
      }
      out = given.as_whole<Number>(place);
    } else {
      const double value = given.is_number() ? given.as_real(place) : std::nan("");
      if (!std::isfinite(value) || std::abs(value) > static_cast<double>(Limits::max())) {
        refuse_json(place, fmt::format("{} is not a finite number in range", shown(given)));
      }
      out = static_cast<Number>(value);
    }
  }
  template <typename Enum>
  void read_name(const Json& given, const std::string& place, Enum& out) const {
    std::string known;
    for (const auto& [name, value] : names_of(static_cast<const Enum*>(nullptr))) {
      if (given.is_text() && given.as_text(place) == name) {
        out = value;
        return;
      }
      known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
    }
    refuse_json(place, fmt::format("{} is not one of {}", shown(given), known));
  }
  void read(const Json& given, const std::string& place, std::string& out) const {
    if (!given.is_text()) refuse_json(place, fmt::format("{} is not a text", shown(given)));
    out = given.as_text(place);
  }
  template <typename Value>
  void read(const Json& given, const std::string& place, std::optional<Value>& out) const {
    out.reset();
    if (!given.is_null()) (*this)(given, place, out.emplace());
  }
  template <typename Value, std::size_t N>
  void read(const Json& given, const std::string& place, std::array<Value, N>& out) const {
    if (!given.is_array() || given.size() != N) refuse_json(place, fmt::format("{} is not {} values", shown(given), N));
    for (std::size_t i = 0; i < N; ++i) (*this)(given.as_list(place)[i], place, out[i]);
  }
  template <typename Value>
  void read(const Json& given, const std::string& place, std::vector<Value>& out) const {
    if (!given.is_array()) refuse_json(place, fmt::format("{} is not a list", shown(given)));
    out.clear();
    for (const Json& item : given.as_list(place)) (*this)(item, place, out.emplace_back());
  }

  Own own_;
};

/// Members that are not there keep their default. Members that the type does not have are refused.
template <typename One, typename Own>
One read_members(const Json& given, const std::string& place, const ValueReader<Own>& reader) {
  One one;
  std::size_t known = 1;  // the name
  for_members(one, [&](const char* name, auto& member) {
    const Json* const found = given.find(name);
    if (found == nullptr) return;
    reader(*found, fmt::format("{}.{}", place, name), member);
    ++known;
  });
  if (known == given.size()) return one;
  for (const auto& [key, value] : given.as_members(place)) {
    bool exists = key == "name";
    for_members(one, [&](const char* name, auto&) { exists |= key == name; });
    if (!exists) refuse_json(place, fmt::format("has no parameter {}", shown(Json(key))));
  }
  return one;
}

/// The alternative of `Variant` whose name_of() is `name`, as a `Result`. `what` it is stands in messages.
template <typename Result, typename Variant, std::size_t I = 0, typename Own>
Result read_alternative(const std::string& name, const Json& given, const std::string& place, std::string_view what,
                        const ValueReader<Own>& reader) {
  if constexpr (I == std::variant_size_v<Variant>) {
    refuse_json(place, fmt::format("there is no {} {}", what, shown(Json(name))));
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
void read_objects(const Json& given, const std::string& place, std::string_view what, const Add& add) {
  if (!given.is_array()) refuse_json(place, fmt::format("is not a list of {}", what));
  std::size_t number = 0;
  for (const Json& one : given.as_list(place)) {
    const std::string one_place = fmt::format("{}[{}]", place, number++);
    const Json* const name = one.find("name");
    if (name == nullptr || !name->is_text()) refuse_json(one_place, "is not an object with a name");
    add(name->as_text(one_place), one, one_place);
  }
}

/// `what` stands in the message for text that is not JSON.
inline Json parsed_json(std::string_view text, std::string_view what) {
  try {
    return parse_json(text);
  } catch (const Error& error) {
    refuse_json(std::string(what), fmt::format("the text is {}", error.message()));
  }
}

}  // namespace bale::transform_detail
