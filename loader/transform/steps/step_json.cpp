#include "bale/loader/transform/steps/step_json.hpp"

#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bale/formats/base/error.hpp"
#include "bale/loader/transform/steps/step_enum_names.hpp"
#include "bale/loader/transform/steps/step_members.hpp"

namespace bale::transform_detail {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

[[noreturn]] void refuse(const std::string& place, std::string_view why) {
  throw Error(ErrorCode::invalid_argument, fmt::format("{}: {}", place, why));
}

/// Numbers in messages: a text of the reader's may be long.
std::string shown(const json& given) {
  const std::string text = given.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.size() > 40 ? text.substr(0, 40) + "..." : text;
}

Steps read_steps(const json& given, const std::string& place, bool inside_mixture);

template <typename Number>
requires std::is_integral_v<Number>
void read(const json& given, const std::string& place, Number& out) {
  using Limits = std::numeric_limits<Number>;
  bool fits = false;
  if (given.is_number_unsigned()) {
    fits = given.get<std::uint64_t>() <= static_cast<std::uint64_t>(Limits::max());
  } else if (given.is_number_integer() && std::is_signed_v<Number>) {
    fits = given.get<std::int64_t>() >= static_cast<std::int64_t>(Limits::min());
  }
  if (!fits) refuse(place, fmt::format("{} is not a whole number in range", shown(given)));
  out = given.get<Number>();
}

void read(const json& given, const std::string& place, bool& out) {
  if (!given.is_boolean()) refuse(place, fmt::format("{} is not true or false", shown(given)));
  out = given.get<bool>();
}

template <typename Number>
requires std::is_floating_point_v<Number>
void read(const json& given, const std::string& place, Number& out) {
  const double value = given.is_number() ? given.get<double>() : std::nan("");
  if (!std::isfinite(value) || std::abs(value) > static_cast<double>(std::numeric_limits<Number>::max())) {
    refuse(place, fmt::format("{} is not a finite number in range", shown(given)));
  }
  out = static_cast<Number>(value);
}

template <typename Enum>
requires std::is_enum_v<Enum>
void read(const json& given, const std::string& place, Enum& out) {
  std::string known;
  for (const auto& [name, value] : step_names_of(static_cast<const Enum*>(nullptr))) {
    if (given.is_string() && given.get_ref<const std::string&>() == name) {
      out = value;
      return;
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
  }
  refuse(place, fmt::format("{} is not one of {}", shown(given), known));
}

template <typename Value, std::size_t N>
void read(const json& given, const std::string& place, std::array<Value, N>& out) {
  if (!given.is_array() || given.size() != N) refuse(place, fmt::format("{} is not {} values", shown(given), N));
  for (std::size_t i = 0; i < N; ++i) read(given[i], place, out[i]);
}

void read(const json& given, const std::string& place, std::optional<std::array<double, 2>>& out) {
  out.reset();
  if (!given.is_null()) read(given, place, out.emplace());
}

void read(const json& given, const std::string& place, std::vector<float>& out) {
  if (!given.is_array()) refuse(place, fmt::format("{} is not a list", shown(given)));
  out.resize(given.size());
  for (std::size_t i = 0; i < given.size(); ++i) read(given[i], place, out[i]);
}

void read(const json& given, const std::string& place, std::vector<Steps>& out) {
  if (!given.is_array()) refuse(place, fmt::format("{} is not a list", shown(given)));
  out.clear();
  for (const json& chain : given) out.push_back(read_steps(chain, fmt::format("{}[{}]", place, out.size()), true));
}

template <typename One>
One read_members(const json& given, const std::string& place) {
  One step;
  std::size_t known = 1;  // the name
  for_members(step, [&](const char* name, auto& member) {
    const auto found = given.find(name);
    if (found == given.end()) return;
    read(*found, fmt::format("{}.{}", place, name), member);
    ++known;
  });
  if (known == given.size()) return step;
  for (const auto& item : given.items()) {
    const std::string& key = item.key();
    bool exists = key == "name";
    for_members(step, [&](const char* name, auto&) { exists |= key == name; });
    if (!exists) refuse(place, fmt::format("has no parameter {}", shown(json(key))));
  }
  return step;
}

template <std::size_t I = 0>
Step read_step(const std::string& name, const json& given, const std::string& place) {
  if constexpr (I == std::variant_size_v<Step>) {
    refuse(place, fmt::format("there is no step {}", shown(json(name))));
  } else {
    using One = std::variant_alternative_t<I, Step>;
    if (name == name_of(static_cast<const One*>(nullptr))) {
      return read_members<One>(given, fmt::format("{}.{}", place, name));
    }
    return read_step<I + 1>(name, given, place);
  }
}

Steps read_steps(const json& given, const std::string& place, bool inside_mixture) {
  if (!given.is_array()) refuse(place, "is not a list of steps");
  Steps steps;
  for (const json& one : given) {
    const std::string one_place = fmt::format("{}[{}]", place, steps.size());
    const auto name = one.is_object() ? one.find("name") : one.end();
    if (name == one.end() || !name->is_string()) refuse(one_place, "is not an object with a name");
    if (inside_mixture && *name == "Mixture") refuse(one_place, "a mixture cannot be inside a mixture");
    steps.push_back(read_step(name->get<std::string>(), one, one_place));
  }
  return steps;
}

ordered_json write_steps(const Steps& steps);

template <typename Number>
requires std::is_arithmetic_v<Number> ordered_json write(Number value) { return value; }
ordered_json write(float value) { return static_cast<double>(value); }

template <typename Enum>
requires std::is_enum_v<Enum> ordered_json write(Enum value) {
  for (const auto& [name, named] : step_names_of(static_cast<const Enum*>(nullptr))) {
    if (named == value) return name;
  }
  return nullptr;
}

template <typename Value, std::size_t N>
ordered_json write(const std::array<Value, N>& values) {
  ordered_json out = ordered_json::array();
  for (const Value value : values) out.push_back(write(value));
  return out;
}

ordered_json write(const std::optional<std::array<double, 2>>& value) { return value ? write(*value) : nullptr; }

ordered_json write(const std::vector<float>& values) {
  ordered_json out = ordered_json::array();
  for (const float value : values) out.push_back(write(value));
  return out;
}

ordered_json write(const std::vector<Steps>& chains) {
  ordered_json out = ordered_json::array();
  for (const Steps& chain : chains) out.push_back(write_steps(chain));
  return out;
}

ordered_json write_steps(const Steps& steps) {
  ordered_json out = ordered_json::array();
  for (const Step& step : steps) {
    std::visit(
        [&out](const auto& one) {
          ordered_json object{{"name", name_of(&one)}};
          for_members(one, [&object](const char* name, const auto& member) { object[name] = write(member); });
          out.push_back(std::move(object));
        },
        step);
  }
  return out;
}

}  // namespace

std::string steps_json(const Steps& steps) { return write_steps(steps).dump(); }

Steps parse_steps(std::string_view text) {
  const json given = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (given.is_discarded()) throw Error(ErrorCode::invalid_argument, "steps: the text is not JSON");
  return read_steps(given, "steps", false);
}

}  // namespace bale::transform_detail
