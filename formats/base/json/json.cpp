#include "bale/formats/base/json/json.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/core.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/text/utf8.hpp"

namespace bale {
namespace {

[[noreturn]] void refuse_json_value(std::string_view what, std::string_view why) {
  throw Error(ErrorCode::damaged, fmt::format("{} is not {}", what, why));
}

}  // namespace

Json::Json(std::string text) : Json(Kind::text, new std::string(std::move(text))) {}
Json::Json(std::string_view text) : Json(Kind::text, new std::string(text)) {}
Json::Json(const char* text) : Json(std::string_view(text)) {}

Json::Json(std::initializer_list<Member> members) : Json(object()) {
  bits_.members->reserve(members.size());
  for (const Member& member : members) bits_.members->emplace_back(member.name, std::move(member.value));
}

Json Json::array() {
  Json value;
  value.bits_.items = new std::vector<Json>();
  value.kind_ = Kind::array;
  return value;
}

Json Json::object() {
  Json value;
  value.bits_.members = new std::vector<Member>();
  value.kind_ = Kind::object;
  return value;
}

Json::Json(const Json& other) : bits_(other.bits_) {
  if (other.kind_ == Kind::text || other.kind_ == Kind::digits) bits_.text = new std::string(*other.bits_.text);
  if (other.kind_ == Kind::array) bits_.items = new std::vector<Json>(*other.bits_.items);
  if (other.kind_ == Kind::object) bits_.members = new std::vector<Member>(*other.bits_.members);
  kind_ = other.kind_;
}

Json::~Json() {
  if (kind_ == Kind::text || kind_ == Kind::digits) delete bits_.text;
  if (kind_ == Kind::array) delete bits_.items;
  if (kind_ == Kind::object) delete bits_.members;
}

void Json::add_member(std::string_view name, Json value) { bits_.members->emplace_back(name, std::move(value)); }

Json* Json::find_member(std::string_view name) const {
  if (!is_object()) return nullptr;
  std::vector<Member>& members = *bits_.members;
  const auto found =
      std::find_if(members.begin(), members.end(), [&](const Member& member) { return member.name == name; });
  return found == members.end() ? nullptr : &found->value;
}

Json& Json::operator[](std::string_view name) {
  if (is_null()) *this = object();
  if (!is_object()) throw Error(ErrorCode::damaged, "not a JSON object");
  if (Json* const known = find_member(name)) return *known;
  return bits_.members->emplace_back(name, Json()).value;
}

void Json::push_back(Json item) {
  if (is_null()) *this = array();
  if (!is_array()) throw Error(ErrorCode::damaged, "not a JSON array");
  bits_.items->push_back(std::move(item));
}

void Json::update(const Json& other) {
  for (const Member& member : other.as_members("what is added")) (*this)[member.name] = member.value;
}

void Json::erase(std::string_view name) {
  if (is_object()) std::erase_if(*bits_.members, [&](const Member& member) { return member.name == name; });
}

bool Json::is_whole_within(std::int64_t low, std::uint64_t high) const {
  if (kind_ == Kind::negative) return low <= static_cast<std::int64_t>(bits_.whole);
  return kind_ == Kind::whole && bits_.whole <= high;
}

std::size_t Json::size() const { return is_array() ? bits_.items->size() : is_object() ? bits_.members->size() : 0; }

const Json* Json::find(std::string_view name) const { return find_member(name); }

bool Json::as_truth(std::string_view what) const {
  if (!is_truth()) refuse_json_value(what, "true or false");
  return bits_.whole != 0;
}

double Json::as_real(std::string_view what) const {
  if (!is_number()) refuse_json_value(what, "a number");
  if (kind_ == Kind::real) return bits_.real;
  if (kind_ == Kind::digits) {
    double value = 0;
    std::from_chars(bits_.text->data(), bits_.text->data() + bits_.text->size(), value);
    return value;
  }
  return kind_ == Kind::negative ? static_cast<double>(static_cast<std::int64_t>(bits_.whole))
                                 : static_cast<double>(bits_.whole);
}

std::uint64_t Json::whole_within(std::int64_t low, std::uint64_t high, std::string_view what) const {
  if (!is_whole_within(low, high)) refuse_json_value(what, fmt::format("a whole number from {} to {}", low, high));
  return bits_.whole;
}

const std::string& Json::as_text(std::string_view what) const {
  if (!is_text()) refuse_json_value(what, "text");
  return *bits_.text;
}

std::string Json::as_bytes(std::string_view what) const {
  if (is_text()) return *bits_.text;
  const auto refuse = [&] { refuse_json_value(what, "a string or {\"hex\": ...}"); };
  const Json* const member = find("hex");
  if (member == nullptr || !member->is_text()) refuse();
  const std::string& hex = *member->bits_.text;
  if (hex.size() % 2 != 0) refuse();
  std::string raw;
  for (std::size_t at = 0; at < hex.size(); at += 2) {
    unsigned byte = 0;
    const char* end = hex.data() + at + 2;
    if (std::from_chars(hex.data() + at, end, byte, 16).ptr != end) refuse();
    raw += static_cast<char>(byte);
  }
  return raw;
}

const std::vector<Json>& Json::as_list(std::string_view what) const {
  if (!is_array()) refuse_json_value(what, "a list");
  return *bits_.items;
}

const std::vector<Json::Member>& Json::as_members(std::string_view what) const {
  if (!is_object()) refuse_json_value(what, "a JSON object");
  return *bits_.members;
}

const Json& Json::at(std::string_view name) const {
  if (!is_object()) throw Error(ErrorCode::damaged, "not a JSON object");
  const Json* const found = find(name);
  if (found == nullptr) throw Error(ErrorCode::damaged, fmt::format("no member \"{}\"", name));
  return *found;
}

std::string Json::text_or_empty(std::string_view name) const {
  const Json* const found = find(name);
  return found == nullptr || found->is_null() ? std::string() : found->as_text(name);
}

std::vector<std::string> Json::texts(std::string_view name) const {
  std::vector<std::string> texts;
  for (const Json& text : list(name)) texts.push_back(text.as_text(name));
  return texts;
}

std::vector<std::string> Json::bytes_list(std::string_view name) const {
  std::vector<std::string> texts;
  for (const Json& text : list(name)) texts.push_back(text.as_bytes(name));
  return texts;
}

Json bytes_to_json(std::string_view raw) {
  if (is_utf8(raw)) return raw;
  std::string hex;
  for (const char c : raw) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return {{"hex", hex}};
}

Json bytes_list_to_json(const std::vector<std::string>& list) {
  Json out = Json::array();
  for (const std::string& raw : list) out.push_back(bytes_to_json(raw));
  return out;
}

}  // namespace bale
