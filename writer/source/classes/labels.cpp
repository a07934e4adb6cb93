#include "bale/writer/source/classes/labels.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <unordered_map>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/errors/error_reason.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/shard/sample.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/writer/source/files/directory_listing.hpp"
#include "bale/writer/source/files/text_files.hpp"

namespace bale {
namespace {

// Those of pandas.read_csv.
constexpr std::array<std::string_view, 18> k_missing_cells{"",     "#N/A", "#N/A N/A", "#NA",  "-1.#IND", "-1.#QNAN",
                                                           "-NaN", "-nan", "1.#IND",   "<NA>", "N/A",     "NA",
                                                           "NULL", "NaN",  "None",     "n/a",  "nan",     "null"};

constexpr const char* k_complete_map = "add it to the map, or leave its samples out";

enum class LabelWordKind : std::uint8_t { whole, fraction, name };

/// `fraction`: a number that is not a class, also one that is too large.
LabelWordKind kind_of_word(std::string_view text) {
  if (parse_label(as_bytes(text)) != k_no_label) return LabelWordKind::whole;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = end == text.data() + text.size() && (error != std::errc{} || std::isfinite(number));
  return is_number ? LabelWordKind::fraction : LabelWordKind::name;
}

[[noreturn]] void refuse_word(const LabelWord& word, const std::string& where, std::string_view why, std::string hint) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}the label \"{}\" {}", place_in_text(word.line), printable(word.text), why),
              {.path = where, .key = word.key, .hint = std::move(hint)});
}

}  // namespace

Labels::Labels(const SourceOptions& options) {
  if (!options.class_map.empty() && !options.flat) map_ = ClassMap::load(options.class_map);
}

void Labels::take_names(std::vector<std::string> names) {
  reading_ = LabelReading::names;
  if (map_) {
    names_ = std::move(names);
    classes_ = map_->classes();
    return;
  }
  classes_ = std::move(names);
  std::sort(classes_.begin(), classes_.end(), python_less);
  classes_.erase(std::unique(classes_.begin(), classes_.end()), classes_.end());
}

std::int64_t Labels::number_of(std::string_view name, const std::string& where) const {
  if (map_) return map_->label(name, where);
  const auto at = std::lower_bound(classes_.begin(), classes_.end(), name, python_less);
  if (at != classes_.end() && *at == name) return at - classes_.begin();
  throw Error(ErrorCode::changed, fmt::format("class \"{}\" was not there when the source was listed", printable(name)),
              {.path = where, .hint = "pack again when nothing writes to it"});
}

std::vector<std::int64_t> Labels::take_words(std::span<const LabelWord> words, const std::string& where) {
  std::vector<std::int64_t> numbers;
  if (map_) classes_ = map_->classes();
  if (words.empty()) return numbers;
  const auto not_in_map = [&] { return fmt::format("is not in {}", map_->shown()); };
  const auto is_unknown = [&](const LabelWord& word) { return map_ && !map_->find(word.text); };
  const auto is_not_whole = [](const LabelWord& word) { return kind_of_word(word.text) != LabelWordKind::whole; };
  const auto unknown = std::find_if(words.begin(), words.end(), is_unknown);
  const auto other = std::find_if(words.begin(), words.end(), is_not_whole);
  const auto number = std::find_if(
      words.begin(), words.end(), [](const LabelWord& word) { return kind_of_word(word.text) != LabelWordKind::name; });
  if (map_ ? unknown == words.end() : number == words.end()) {
    std::vector<std::string> names;
    for (const LabelWord& word : words) names.push_back(word.text);
    take_names(std::move(names));
    for (const LabelWord& word : words) numbers.push_back(number_of(word.text, where));
    return numbers;
  }
  if (other == words.end()) {
    reading_ = LabelReading::numbers;
    for (const LabelWord& word : words) {
      numbers.push_back(parse_label(as_bytes(std::string_view(word.text))));
      if (map_ && !map_->has(numbers.back())) refuse_word(word, where, not_in_map(), k_complete_map);
    }
    return numbers;
  }
  if (map_) {
    const auto odd = std::find_if(words.begin(), words.end(),
                                  [&](const LabelWord& word) { return is_unknown(word) && is_not_whole(word); });
    refuse_word(odd == words.end() ? *unknown : *odd, where, not_in_map(), k_complete_map);
  }
  if (kind_of_word(other->text) == LabelWordKind::fraction) {
    refuse_word(*other, where, "is not a class: class numbers are whole",
                "give `flat` to pack without labels and keep the column in the field json");
  }
  refuse_word(*other, where,
              fmt::format("is not a number, and others are (such as {}\"{}\")", place_in_text(number->line),
                          printable(number->text)),
              "correct it, or name all classes in a `class_map` to take every label as a name");
}

std::map<std::int64_t, std::int64_t> Labels::take_numbers(std::vector<std::string> names,
                                                          const std::map<std::int64_t, LabelWord>& used,
                                                          const std::string& where) {
  std::map<std::int64_t, std::int64_t> numbers_of;
  if (!map_) {
    reading_ = LabelReading::numbers;
    classes_ = std::move(names);
    return numbers_of;
  }
  if (names.empty()) {
    std::vector<LabelWord> words;
    for (const auto& [number, word] : used) words.push_back(word);
    const std::vector<std::int64_t> numbers = take_words(words, where);
    auto to = numbers.begin();
    for (const auto& [number, word] : used) numbers_of.emplace(number, *to++);
    return numbers_of;
  }
  for (const auto& [number, word] : used) {
    try {
      numbers_of.emplace(number, renumbered(number, names));
    } catch (const Error& error) {
      throw Error(error.code(), error.message(), {.path = where, .key = word.key, .hint = error.context().hint});
    }
  }
  std::vector<std::string> used_names;
  for (const auto& [number, word] : used) used_names.push_back(names[static_cast<std::size_t>(number)]);
  take_names(std::move(used_names));
  return numbers_of;
}

void Labels::mention_joined(const std::string& place, NoticeLog& notices) const {
  std::map<std::int64_t, std::string_view> name_of;
  NoticeLog found;
  for (const std::string& name : names_) {
    const auto number = map_->find(name);
    if (!number) continue;
    const auto [first, is_new] = name_of.emplace(*number, name);
    if (is_new || first->second == name) continue;
    found.mention(fmt::format("the class map makes one class of {} and {}, number {}", printable(first->second),
                              printable(name), *number));
    break;
  }
  notices.merge(found, place);
}

std::int64_t Labels::renumbered(std::int64_t number, const std::vector<std::string>& names) const {
  if (map_ && names.empty()) {
    throw Error(ErrorCode::invalid_argument, "the classes have no names, by which `class_map` gives them numbers",
                {.hint = "leave `class_map` out"});
  }
  require_class(number, names);
  return map_ ? map_->label(names[static_cast<std::size_t>(number)], {}) : number;
}

bool Labels::is_missing(std::string_view cell) const {
  if (map_ && map_->find(cell)) return false;
  return std::find(k_missing_cells.begin(), k_missing_cells.end(), cell) != k_missing_cells.end();
}

void require_class(std::int64_t number, const std::vector<std::string>& classes) {
  if (classes.empty()) return;
  const bool is_known = number >= 0 && static_cast<std::uint64_t>(number) < classes.size() &&
                        !classes[static_cast<std::size_t>(number)].empty();
  if (is_known) return;
  const auto num_named =
      std::count_if(classes.begin(), classes.end(), [](const std::string& name) { return !name.empty(); });
  throw Error(ErrorCode::damaged, fmt::format("class {} is none of the {} that have names", number, num_named),
              {.hint = "name the class where the others have their names, or leave the sample out"});
}

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
