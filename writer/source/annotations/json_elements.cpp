#include "bale/writer/source/annotations/json_elements.hpp"

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"

namespace bale {
namespace {

constexpr std::size_t k_block_bytes = std::size_t{1} << 20;
constexpr std::size_t k_max_name_bytes = 4096;
constexpr int k_end = -1;

bool is_space(int c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

JsonElements::JsonElements(const std::string& path) : file_(File::open_read(path)) {
  fill();
  if (buffer_.starts_with("\xEF\xBB\xBF")) at_ = 3;
}

bool JsonElements::next() {
  keeps_ = false;
  if (!started_) {
    started_ = true;
    if (peek_after_space() != '{') fail("not a JSON object, as COCO's annotations are");
    ++at_;
    if (peek_after_space() == '}') {
      ++at_;
      if (peek_after_space() != k_end) fail("more after the JSON object");
      return false;
    }
    in_array_ = enter_array();
  } else if (in_array_) {
    if (peek_after_space() == ',') {
      ++at_;
      if (peek_after_space() == ']') fail("a comma before the end of an array");
    } else {
      if (peek_after_space() != ']') fail("neither a comma nor the end of an array after an element");
      ++at_;
      in_array_ = false;
    }
  }
  while (!in_array_) {
    const int c = peek_after_space();
    if (c == '}') {
      ++at_;
      if (peek_after_space() != k_end) fail("more after the JSON object");
      return false;
    }
    expect(',');
    in_array_ = enter_array();
  }
  peek_after_space();
  begin_ = at_;
  keeps_ = true;
  skip_value();
  end_ = at_;
  return true;
}

/// Reads a name and the beginning of its value. Returns false, after the value, unless that is an array with elements.
bool JsonElements::enter_array() {
  if (peek_after_space() != '"') fail("no name where a member must begin");
  begin_ = at_;
  keeps_ = true;
  take_string();
  if (at_ - begin_ > k_max_name_bytes) fail("the name of a member is too long");
  array_ = buffer_.substr(begin_ + 1, at_ - begin_ - 2);
  keeps_ = false;
  expect(':');
  if (peek_after_space() != '[') {
    skip_value();
    return false;
  }
  ++at_;
  if (peek_after_space() != ']') return true;
  ++at_;
  return false;
}

void JsonElements::fail(std::string_view what) const {
  throw Error(ErrorCode::damaged, what,
              {.path = file_.path(), .offset = base_ + at_, .hint = "check that the file is complete"});
}

int JsonElements::peek() {
  if (at_ == buffer_.size() && !fill()) return k_end;
  return static_cast<unsigned char>(buffer_[at_]);
}

int JsonElements::peek_after_space() {
  while (is_space(peek())) ++at_;
  return peek();
}

void JsonElements::expect(char wanted) {
  if (peek_after_space() != wanted) fail(fmt::format("not JSON: no \"{}\"", wanted));
  ++at_;
}

void JsonElements::take_string() {
  ++at_;
  for (;;) {
    const int c = peek();
    if (c == k_end) fail("the file ends within a text");
    ++at_;
    if (c == '"') return;
    if (c != '\\') continue;
    if (peek() == k_end) fail("the file ends within a text");
    ++at_;
  }
}

/// Nested values are skipped by their brackets, however deep they are.
void JsonElements::skip_value() {
  std::uint64_t depth = 0;
  const std::size_t first = at_;
  do {
    const int c = depth == 0 ? peek() : peek_after_space();
    if (c == k_end) fail("the file ends within a value");
    if (c == '"') {
      take_string();
    } else if (c == '{' || c == '[') {
      ++depth;
      ++at_;
    } else if (c == '}' || c == ']') {
      if (depth == 0) fail("no value where one must be");
      --depth;
      ++at_;
    } else if (depth > 0) {
      ++at_;
    } else {
      while (peek() != k_end && !is_space(peek()) && peek() != ',' && peek() != ']' && peek() != '}') ++at_;
      if (at_ == first) fail("no value where one must be");
    }
  } while (depth > 0);
}

/// Reads the next block behind what must stay. Returns false at the end of the file.
bool JsonElements::fill() {
  const std::size_t kept_from = keeps_ ? begin_ : at_;
  if (buffer_.size() - kept_from > k_max_element_bytes) {
    throw Error(ErrorCode::unsupported, fmt::format("a value of more than {} bytes", k_max_element_bytes),
                {.path = file_.path(), .offset = base_ + kept_from});
  }
  buffer_.erase(0, kept_from);
  base_ += kept_from;
  at_ -= kept_from;
  begin_ = keeps_ ? 0 : at_;
  const std::size_t had = buffer_.size();
  buffer_.resize(had + k_block_bytes);
  const std::size_t got =
      file_.read_some(base_ + had, {reinterpret_cast<std::byte*>(buffer_.data() + had), k_block_bytes});
  buffer_.resize(had + got);
  return got > 0;
}

}  // namespace bale
