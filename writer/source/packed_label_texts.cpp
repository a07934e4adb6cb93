#include "bale/writer/source/packed_label_texts.hpp"

#include <string>
#include <unordered_map>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/errors/error_reason.hpp"
#include "bale/formats/base/text/ascii_case.hpp"

namespace bale {

LabelTexts label_texts_of(const Dataset& dataset, std::uint64_t size,
                          const std::function<std::uint64_t(std::uint64_t)>& at, bool skip_damaged) {
  LabelTexts texts;
  std::unordered_map<std::string, std::uint32_t> seen;
  Scratch scratch;
  for (std::uint64_t i = 0; i < size; ++i) {
    std::string text;
    try {
      text = stripped(as_text(dataset.read_field(at(i), k_label_field, scratch)));
    } catch (const Error& error) {
      const bool is_reported_later = skip_damaged && is_data_error(error);
      if (error.code() != ErrorCode::not_found && !is_reported_later) throw;
    }
    texts.of_samples.emplace_back();
    if (text.empty()) continue;
    const auto [word, is_new] = seen.try_emplace(text, static_cast<std::uint32_t>(texts.words.size()));
    if (is_new) texts.words.push_back({.text = std::move(text), .key = dataset.key(at(i))});
    texts.of_samples.back() = word->second;
  }
  return texts;
}

}  // namespace bale
