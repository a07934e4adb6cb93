#include "bale/loader/transform/json/json.hpp"

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
#include "bale/loader/transform/members/members.hpp"
#include "bale/loader/transform/members/step_members.hpp"
#include "bale/loader/transform/transforms.hpp"

namespace bale::transform_detail {
namespace {

// Reading: an object with a name and members, whose types say how their values are read. Input may be hostile. All
// functions throw `invalid_argument`, naming the place ("transforms[2].RandomApply.p"), for anything that is not what
// the type needs.

[[noreturn]] void refuse_json(const std::string& place, std::string_view why) {
  throw Error(ErrorCode::invalid_argument, fmt::format("{}: {}", place, why));
}

/// A value in a message: the reader's may be long.
std::string shown(const Json& given) {
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
    for_members(one, [&exists, &wanted = key](const char* name, auto&) { exists |= wanted == name; });
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
Json parsed_json(std::string_view text, std::string_view what) {
  try {
    return parse_json(text);
  } catch (const Error& error) {
    refuse_json(std::string(what), fmt::format("the text is {}", error.message()));
  }
}

// Writing: all members, and numbers so that reading gives the same bits.

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

TransformList read_list(const Json& given, const std::string& place, int depth);

/// The types of members that only transforms have.
struct ReadOwn {
  int depth;

  void operator()(const Json& given, const std::string& place, TransformList& out) const {
    out = read_list(given, place, depth + 1);
  }
  void operator()(const Json& given, const std::string& place, Range& out) const {
    std::array<double, 2> ends{};
    ValueReader (*this)(given, place, ends);
    out = {ends[0], ends[1]};
    if (out.low > out.high) refuse_json(place, fmt::format("{} is not a range [low, high]", shown(given)));
  }
  void operator()(const Json& given, const std::string& place, Size& out) const {
    std::array<std::uint32_t, 2> sides{};
    ValueReader (*this)(given, place, sides);
    out = {.height = sides[0], .width = sides[1]};
  }
};

TransformList read_list(const Json& given, const std::string& place, int depth) {
  if (depth > k_max_nesting) refuse_json(place, fmt::format("is nested more than {} deep", k_max_nesting));
  TransformList list;
  read_objects(given, place, "transforms", [&](const std::string& name, const Json& one, const std::string& one_place) {
    list.push_back(read_alternative<TransformNode, TransformNode::variant>(name, one, one_place, "transform",
                                                                           ValueReader(ReadOwn{depth})));
  });
  return list;
}

/// The types of members that only transforms have.
struct WriteOwn {
  Json operator()(const Range& range) const { return Json::list_of(std::array{range.low, range.high}); }
  Json operator()(const Size& size) const { return Json::list_of(std::array{size.height, size.width}); }
  Json operator()(const TransformList& list) const {
    Json out = Json::array();
    for (const TransformNode& node : list) {
      out.push_back(write_alternative(as_variant(node), ValueWriter(*this)));
    }
    return out;
  }
};

Steps read_steps(const Json& given, const std::string& place, bool inside_mixture);

/// The chains of a mixture.
struct ReadChains {
  void operator()(const Json& given, const std::string& place, std::vector<Steps>& out) const {
    if (!given.is_array()) refuse_json(place, fmt::format("{} is not a list", shown(given)));
    out.clear();
    for (const Json& chain : given.as_list(place))
      out.push_back(read_steps(chain, fmt::format("{}[{}]", place, out.size()), true));
  }
};

Steps read_steps(const Json& given, const std::string& place, bool inside_mixture) {
  Steps steps;
  read_objects(given, place, "steps", [&](const std::string& name, const Json& one, const std::string& one_place) {
    if (inside_mixture && name == "Mixture") refuse_json(one_place, "a mixture cannot be inside a mixture");
    steps.push_back(read_alternative<Step, Step>(name, one, one_place, "step", ValueReader(ReadChains{})));
  });
  return steps;
}

struct WriteChain {
  Json operator()(const Steps& steps) const {
    Json out = Json::array();
    for (const Step& step : steps) out.push_back(write_alternative(step, ValueWriter(*this)));
    return out;
  }
};

}  // namespace

std::string steps_json(const Steps& steps) { return WriteChain{}(steps).dump(); }

Steps parse_steps(std::string_view text) { return read_steps(parsed_json(text, "steps"), "steps", false); }

}  // namespace bale::transform_detail

namespace bale {

TransformList parse_transforms(std::string_view text) {
  return transform_detail::read_list(transform_detail::parsed_json(text, "transforms"), "transforms", 0);
}

std::string transforms_json(const TransformList& list) { return transform_detail::WriteOwn{}(list).dump(); }

}  // namespace bale
