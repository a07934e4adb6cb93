// Json: one JSON value, to read texts of unknown origin and to write texts. Only json_text.cpp knows the JSON library.
//
// Reading: parse_json() gives objects whose members are sorted by name; of members of the same name the last counts.
// What is not as it must be throws `damaged` without a path: "no member "x"", "x is not a list".
//
// Writing: members keep the order in which they were added. Bytes are a string if they are UTF-8, else {"hex": "..."}.
//
// Threads: as a std::vector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "bale/formats/base/error.hpp"

namespace bale {

/// How a value is written.
struct JsonStyle {
  unsigned indent = 0;    // spaces per level; 0: on one line
  bool sorted = false;    // members by name
  bool replaces = false;  // bytes that are not UTF-8 become U+FFFD; else they are refused
};

class Json {
 public:
  struct Member;
  /// `digits`: a whole number beyond 64 bits, which is written with the digits that it was read with.
  enum class Kind : std::uint8_t { null, truth, negative, whole, digits, real, text, array, object };

  Json() = default;  // null
  template <typename Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
  Json(Number number) {
    if constexpr (std::is_same_v<Number, bool>) {
      kind_ = Kind::truth;
      bits_.whole = number ? 1 : 0;
    } else if constexpr (std::is_floating_point_v<Number>) {
      kind_ = Kind::real;
      bits_.real = static_cast<double>(number);
    } else {
      kind_ = Kind::whole;
      if constexpr (std::is_signed_v<Number>) kind_ = number < 0 ? Kind::negative : Kind::whole;
      bits_.whole = static_cast<std::uint64_t>(number);
    }
  }
  Json(std::string text);
  Json(std::string_view text);
  Json(const char* text);
  /// An object.
  Json(std::initializer_list<Member> members);
  static Json array();
  static Json object();
  /// An array of anything that a Json can be made of.
  template <typename Items>
  static Json list_of(const Items& items) {
    Json out = array();
    for (const auto& item : items) out.push_back(Json(item));
    return out;
  }

  /// An object of the pairs of a map, whose names differ.
  template <typename Map>
  static Json object_of(const Map& by_name) {
    Json out = object();
    for (const auto& [name, value] : by_name) out.add_member(name, value);
    return out;
  }

  Json(const Json& other);
  Json(Json&& other) noexcept : bits_(other.bits_), kind_(std::exchange(other.kind_, Kind::null)) {}
  Json& operator=(Json other) noexcept {
    std::swap(bits_, other.bits_);
    std::swap(kind_, other.kind_);
    return *this;
  }
  ~Json();

  // --- building: null becomes what the call needs

  /// The member; null if it is new.
  Json& operator[](std::string_view name);
  void push_back(Json item);
  /// Sets all members of another object.
  void update(const Json& other);
  void erase(std::string_view name);

  // --- what it is

  Kind kind() const { return kind_; }
  bool is_null() const { return kind_ == Kind::null; }
  bool is_truth() const { return kind_ == Kind::truth; }
  /// A number without fraction and exponent, within 64 bits.
  bool is_whole() const { return kind_ == Kind::whole || kind_ == Kind::negative; }
  bool is_number() const { return is_whole() || kind_ == Kind::digits || kind_ == Kind::real; }
  bool is_text() const { return kind_ == Kind::text; }
  bool is_array() const { return kind_ == Kind::array; }
  bool is_object() const { return kind_ == Kind::object; }
  /// Whether it is a whole number within [low, high].
  bool is_whole_within(std::int64_t low, std::uint64_t high) const;
  /// Number of items or members; 0 for anything else.
  std::size_t size() const;
  /// nullptr if there is no such member, also of what is not an object.
  const Json* find(std::string_view name) const;
  bool contains(std::string_view name) const { return find(name) != nullptr; }

  // --- the value; `what` it is stands in the error

  bool as_truth(std::string_view what) const;
  double as_real(std::string_view what) const;
  template <typename Number>
  Number as_whole(std::string_view what) const {
    using Limits = std::numeric_limits<Number>;
    return static_cast<Number>(
        whole_within(static_cast<std::int64_t>(Limits::min()), static_cast<std::uint64_t>(Limits::max()), what));
  }
  /// Of the kind `digits`.
  const std::string& digits() const { return *bits_.text; }
  std::uint64_t as_count(std::string_view what) const { return as_whole<std::uint64_t>(what); }
  const std::string& as_text(std::string_view what) const;
  std::string as_bytes(std::string_view what) const;
  const std::vector<Json>& as_list(std::string_view what) const;
  const std::vector<Member>& as_members(std::string_view what) const;

  // --- a member of an object

  const Json& at(std::string_view name) const;
  bool truth(std::string_view name) const { return at(name).as_truth(name); }
  template <typename Number>
  Number whole(std::string_view name) const {
    return at(name).as_whole<Number>(name);
  }
  std::uint64_t count(std::string_view name) const { return at(name).as_count(name); }
  const std::string& text(std::string_view name) const { return at(name).as_text(name); }
  /// Empty if it is null or absent.
  std::string text_or_empty(std::string_view name) const;
  std::string bytes(std::string_view name) const { return at(name).as_bytes(name); }
  const std::vector<Json>& list(std::string_view name) const { return at(name).as_list(name); }
  const std::vector<Member>& members(std::string_view name) const { return at(name).as_members(name); }
  std::vector<std::string> texts(std::string_view name) const;
  std::vector<std::string> bytes_list(std::string_view name) const;

  /// Throws `damaged` for text that is not UTF-8, unless it is replaced. Numbers that are not finite become null.
  std::string dump(const JsonStyle& style = {}) const;

 private:
  friend class JsonReader;

  Json(Kind kind, std::string* text) : kind_(kind) { bits_.text = text; }
  void add_member(std::string_view name, Json value);
  Json* find_member(std::string_view name) const;
  std::uint64_t whole_within(std::int64_t low, std::uint64_t high, std::string_view what) const;

  union {
    std::uint64_t whole = 0;
    double real;
    std::string* text;
    std::vector<Json>* items;
    std::vector<Member>* members;
  } bits_;
  Kind kind_ = Kind::null;
};

struct Json::Member {
  Member(std::string_view of_name, Json of_value) : name(of_name), value(std::move(of_value)) {}

  std::string name;
  mutable Json value;  // moved out of initializer lists
};

/// Gets the objects of one array while a text is parsed, so that they are never all in memory.
class JsonItems {
 public:
  virtual ~JsonItems() = default;
  /// The array begins. Of members of the same name, the last counts.
  virtual void begin() = 0;
  virtual void take(const Json& item) = 0;
};

/// What parse_json() does with members of the outermost object.
struct JsonRules {
  std::string_view dropped{};  // a member that is ignored, "" for none
  std::string_view taken{};    // an array whose objects `items` gets; the others stay
  JsonItems* items = nullptr;
  bool takes_nan = false;         // as without_nan()
  bool refuses_repeated = false;  // members of the same name; else the last counts
};

/// JSON as Python writes it, without the words that JSON does not have: NaN and infinities become null.
std::string without_nan(std::string_view text);

/// Throws `damaged`, naming the byte, if the text is not JSON, and if it is nested too deeply.
Json parse_json(std::string_view text, const JsonRules& rules = {});

Json bytes_to_json(std::string_view raw);
Json bytes_list_to_json(const std::vector<std::string>& list);

/// A report: one value with its end of line.
inline std::string json_document(const Json& value) { return value.dump({.indent = 2}) + '\n'; }

/// A path, a spec or a sentence with one, without what may be secret.
inline Json shown_json(std::string_view text) { return bytes_to_json(without_secrets(text)); }

}  // namespace bale
