// Json from text and to text: the one place that knows the JSON library.
#include <algorithm>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/text/escaped_bytes.hpp"
#include "bale/formats/base/text/utf8.hpp"

namespace bale {

// Copying and writing recurse.
constexpr std::size_t k_max_json_depth = 200;

/// Builds the tree. The library calls its functions while it parses.
class JsonReader {
 public:
  JsonReader(std::string_view text, const JsonRules& rules) : text_(text), rules_(rules) {}

  bool null() { return add(Json()); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t value) { return add(value); }
  bool number_unsigned(std::uint64_t value) { return add(value); }
  bool number_float(double value, const std::string& text) {
    return add(text.find_first_of(".eE") == std::string::npos ? Json(Json::Kind::digits, new std::string(text))
                                                              : Json(value));
  }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(nlohmann::json::binary_t&) { return false; }
  bool start_object(std::size_t) { return open(Json::object()); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool end_object() {
    if (!is_dropped_) settle(*open_.back()->bits_.members);
    return close();
  }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    if (depth_ == 1) {
      is_dropped_ = !rules_.dropped.empty() && name == rules_.dropped;
      is_taken_ = rules_.items != nullptr && name == rules_.taken;
      if (is_taken_) rules_.items->begin();
    }
    name_ = std::move(name);
    return true;
  }

  bool parse_error(std::size_t byte, const std::string&, const nlohmann::json::exception& error) {
    constexpr int k_number_overflow = 406;
    if (error.id == k_number_overflow)
      throw Error(ErrorCode::damaged, fmt::format("a number that is too large ends at byte {}", byte));
    const bool is_text = is_utf8(text_);
    throw Error(ErrorCode::damaged,
                fmt::format("not JSON from byte {} on{}", byte, is_text ? "" : ", as it is not UTF-8"),
                {.hint = is_text ? "" : k_utf8_hint});
  }

  Json result() { return std::move(root_); }

 private:
  bool add(Json value) {
    if (!is_dropped_) put(std::move(value));
    end_dropped();
    return true;
  }

  Json& put(Json value) {
    if (open_.empty()) return root_ = std::move(value);
    Json& inside = *open_.back();
    if (inside.is_array()) return inside.bits_.items->emplace_back(std::move(value));
    return inside.bits_.members->emplace_back(name_, std::move(value)).value;
  }

  bool open(Json value) {
    if (++depth_ > k_max_json_depth) throw Error(ErrorCode::damaged, "JSON nested too deeply");
    if (!is_dropped_) open_.push_back(&put(std::move(value)));
    return true;
  }

  bool close() {
    --depth_;
    if (!is_dropped_) {
      const bool is_object = open_.back()->is_object();
      open_.pop_back();
      if (is_taken_ && is_object && depth_ == 2 && open_.back()->is_array()) {
        std::vector<Json>& items = *open_.back()->bits_.items;
        rules_.items->take(items.back());
        items.pop_back();
      }
    }
    end_dropped();
    return true;
  }

  void end_dropped() { is_dropped_ = is_dropped_ && depth_ > 1; }

  /// Sorts the members by name and keeps the last one of each.
  void settle(std::vector<Json::Member>& members) const {
    const auto is_less = [](const Json::Member& a, const Json::Member& b) { return a.name < b.name; };
    const auto is_same = [](const Json::Member& a, const Json::Member& b) { return a.name == b.name; };
    const auto is_out_of_order = [&](const Json::Member& a, const Json::Member& b) { return !is_less(a, b); };
    if (std::adjacent_find(members.begin(), members.end(), is_out_of_order) == members.end()) return;
    std::stable_sort(members.begin(), members.end(), is_less);
    const auto repeated = std::adjacent_find(members.begin(), members.end(), is_same);
    if (rules_.refuses_repeated && repeated != members.end()) {
      throw Error(ErrorCode::damaged, fmt::format("the member \"{}\" occurs twice", printable(repeated->name)));
    }
    const auto kept = std::unique(members.rbegin(), members.rend(), is_same);
    members.erase(members.begin(), kept.base());
  }

  std::string_view text_;
  const JsonRules& rules_;
  Json root_;
  std::vector<Json*> open_;  // the containers around the next value; those of a dropped member are none
  std::size_t depth_ = 0;
  std::string name_;
  bool is_dropped_ = false;
  bool is_taken_ = false;
};

namespace {

class JsonWriter {
 public:
  explicit JsonWriter(const JsonStyle& style) : style_(style) {}

  void write(const Json& value, unsigned depth = 1) {
    switch (value.kind()) {
      case Json::Kind::null:
        out += "null";
        break;
      case Json::Kind::truth:
        out += value.as_truth({}) ? "true" : "false";
        break;
      case Json::Kind::negative:
        out += fmt::format("{}", value.as_whole<std::int64_t>({}));
        break;
      case Json::Kind::whole:
        out += fmt::format("{}", value.as_count({}));
        break;
      case Json::Kind::digits:
        out += value.digits();
        break;
      case Json::Kind::real:
        out += nlohmann::json(value.as_real({})).dump();
        break;
      case Json::Kind::text:
        write_text(value.as_text({}));
        break;
      case Json::Kind::array:
        write_array(value.as_list({}), depth);
        break;
      case Json::Kind::object:
        write_object(value.as_members({}), depth);
    }
  }

  std::string out;

 private:
  void write_array(const std::vector<Json>& items, unsigned depth) {
    char before = '[';
    for (const Json& item : items) {
      begin_item(std::exchange(before, ','), depth);
      write(item, depth + 1);
    }
    end(before == '[' ? "[" : "", ']', depth);
  }

  void write_object(const std::vector<Json::Member>& members, unsigned depth) {
    std::vector<const Json::Member*> order;
    for (const Json::Member& member : members) order.push_back(&member);
    if (style_.sorted) {
      std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
    }
    char before = '{';
    for (const Json::Member* const member : order) {
      begin_item(std::exchange(before, ','), depth);
      write_text(member->name);
      out += style_.indent == 0 ? ":" : ": ";
      write(member->value, depth + 1);
    }
    end(before == '{' ? "{" : "", '}', depth);
  }

  void begin_item(char before, unsigned depth) {
    out += before;
    if (style_.indent == 0) return;
    out += '\n';
    out.append(std::size_t{style_.indent} * depth, ' ');
  }

  void end(std::string_view beginning, char mark, unsigned depth) {
    out += beginning;
    if (style_.indent != 0 && beginning.empty()) {
      out += '\n';
      out.append(std::size_t{style_.indent} * (depth - 1), ' ');
    }
    out += mark;
  }

  void write_text(const std::string& text) {
    if (!style_.replaces && !is_utf8(text)) {
      throw Error(ErrorCode::damaged, fmt::format("\"{}\" is not UTF-8", excerpt(printable(text), 80)));
    }
    out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  const JsonStyle& style_;
};

constexpr std::string_view k_no_numbers[] = {"NaN", "-Infinity", "Infinity"};

bool may_have_nan(std::string_view text) {
  return text.find("NaN") != std::string_view::npos || text.find("Infinity") != std::string_view::npos;
}

}  // namespace

std::string without_nan(std::string_view text) {
  if (!may_have_nan(text)) return std::string(text);
  std::string plain;
  bool is_in_text = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    const auto word = std::find_if(std::begin(k_no_numbers), std::end(k_no_numbers),
                                   [&](std::string_view one) { return !is_in_text && rest.starts_with(one); });
    if (word != std::end(k_no_numbers)) {
      plain += "null";
      at += word->size();
      continue;
    }
    const std::size_t length = is_in_text && rest.starts_with('\\') ? std::min<std::size_t>(2, rest.size()) : 1;
    if (rest.starts_with('"')) is_in_text = !is_in_text;
    plain += rest.substr(0, length);
    at += length;
  }
  return plain;
}

Json parse_json(std::string_view text, const JsonRules& rules) {
  const std::string plain = rules.takes_nan && may_have_nan(text) ? without_nan(text) : std::string();
  if (!plain.empty()) text = plain;
  JsonReader reader(text, rules);
  nlohmann::json::sax_parse(text, &reader);
  return reader.result();
}

std::string Json::dump(const JsonStyle& style) const {
  JsonWriter writer(style);
  writer.write(*this);
  return std::move(writer.out);
}

}  // namespace bale
