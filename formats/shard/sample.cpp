#include "bale/formats/shard/sample.hpp"

#include <algorithm>
#include <charconv>

#include "bale/formats/shard/key.hpp"

namespace bale {

const FieldView* SampleView::find_image() const {
  const auto found =
      std::find_if(fields.begin(), fields.end(), [](const FieldView& field) { return is_image_field(field.name); });
  return found != fields.end() ? &*found : find(k_array_field);
}

std::int64_t parse_label(Bytes cls) {
  std::string_view text = as_text(cls);
  constexpr std::string_view k_space = " \t\r\n";
  const std::size_t first = text.find_first_not_of(k_space);
  if (first == std::string_view::npos) return k_no_label;
  text = text.substr(first, text.find_last_not_of(k_space) - first + 1);
  std::int64_t label = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), label);
  return error == std::errc{} && end == text.data() + text.size() ? label : k_no_label;
}

}  // namespace bale
