#include "bale/reader/where.hpp"

#include <fnmatch.h>
#include <locale.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/formats/base/text/key_text.hpp"
#include "bale/formats/shard/sample/field_value.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/reader/where/where_parser.hpp"

namespace bale {
namespace {

using Name = Where::Name;
using Kind = Where::Kind;

constexpr std::uint64_t k_max_scalar_bytes = 4096;

/// Whether the word stands for the field: its name, or what comes before its first dot.
bool names_field(std::string_view word, std::string_view field) {
  return field.starts_with(word) && (field.size() == word.size() || field[word.size()] == '.');
}

/// The field of the index that the word stands for: the one of exactly this name, if there is one.
std::optional<std::uint32_t> find_field(const ShardIndex& index, std::string_view word) {
  if (const auto exact = index.field_id(word)) return exact;
  const auto& fields = index.fields();
  const auto found =
      std::find_if(fields.begin(), fields.end(), [&](const FieldInfo& field) { return names_field(word, field.name); });
  if (found == fields.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - fields.begin());
}

/// What the sample's field says, without the end of its line. nullopt if it has none, or too much for one value.
std::optional<std::string> field_text(std::string_view word, const SampleFacts& facts) {
  if (facts.dataset == nullptr) return std::nullopt;
  const ShardInUse shard = facts.dataset->use_shard(facts.shard_number);
  const ShardIndex& index = shard->index();
  const auto id = find_field(index, word);
  const Extent extent = id ? index.extent(facts.sample, *id) : Extent{};
  if (!extent.present() || extent.length > k_max_scalar_bytes) return std::nullopt;
  const std::string& name = index.fields()[*id].name;
  Scratch scratch;
  const Bytes stored = shard->read_field(facts.sample, name, scratch);
  return single_value(name, stored);
}

std::optional<long double> number_of(Name name, const SampleFacts& facts) {
  const auto number = [](const auto& fact) {
    return fact ? std::optional<long double>(static_cast<long double>(*fact)) : std::nullopt;
  };
  const auto of_sides = [&](auto combine) -> std::optional<long double> {
    if (!facts.width || !facts.height || *facts.height == 0) return std::nullopt;
    return combine(static_cast<long double>(*facts.width), static_cast<long double>(*facts.height));
  };
  switch (name) {
    case Name::label:
      return number(facts.label);
    case Name::width:
      return number(facts.width);
    case Name::height:
      return number(facts.height);
    case Name::pixels:
      return of_sides([](long double w, long double h) { return w * h; });
    case Name::megapixels:
      return of_sides([](long double w, long double h) { return w * h / 1e6L; });
    case Name::aspect:
      return of_sides([](long double w, long double h) { return w / h; });
    case Name::bytes:
      return number(facts.bytes);
    case Name::index:
      return static_cast<long double>(facts.index);
    default:
      return std::nullopt;
  }
}

/// nullptr if it is unknown.
const std::string* text_of(Name name, const SampleFacts& facts) {
  const auto text = [](const std::optional<std::string>& fact) { return fact ? &*fact : nullptr; };
  switch (name) {
    case Name::key:
      return &facts.key;
    case Name::class_name:
      return text(facts.class_name);
    case Name::format:
      return text(facts.format);
    case Name::shard:
      return text(facts.shard);
    default:
      return nullptr;
  }
}

Truth truth(bool value) { return value ? Truth::yes : Truth::no; }

Truth both(Truth a, Truth b) {
  if (a == Truth::no || b == Truth::no) return Truth::no;
  return a == Truth::yes && b == Truth::yes ? Truth::yes : Truth::unknown;
}

Truth opposite(Truth a) {
  if (a == Truth::unknown) return a;
  return truth(a == Truth::no);
}

Truth compare(Kind kind, long double left, long double right) {
  switch (kind) {
    case Kind::unequal:
      return truth(left != right);
    case Kind::less:
      return truth(left < right);
    case Kind::at_most:
      return truth(left <= right);
    case Kind::more:
      return truth(left > right);
    case Kind::at_least:
      return truth(left >= right);
    default:
      return truth(left == right);
  }
}

Truth compare_text(const Where::Node& node, const std::string& left, const Where::Value& value,
                   const SampleFacts& facts) {
  const std::string* const right = value.name ? text_of(*value.name, facts) : &value.text;
  if (right == nullptr) return Truth::unknown;
  const bool is_key = node.name == Where::Name::key && !value.name;  // a key is written as it is printed
  if (node.kind == Kind::like && is_key) return truth(KeyPattern(*right).matches(left));
  if (node.kind == Kind::like) return truth(::fnmatch(right->c_str(), left.c_str(), 0) == 0);
  return truth((left == (is_key ? read_key(*right) : *right)) != (node.kind == Kind::unequal));
}

Truth test_comparison(const Where::Node& node, const SampleFacts& facts) {
  const bool is_text = node.is_text;
  const bool is_field = node.name == Name::field;
  const std::optional<std::string> of_field = is_field ? field_text(node.field, facts) : std::nullopt;
  const std::string* const text = !is_text   ? nullptr
                                  : is_field ? (of_field ? &*of_field : nullptr)
                                             : text_of(node.name, facts);
  std::optional<long double> number;
  if (!is_text && !is_field) number = number_of(node.name, facts);
  if (!is_text && of_field) number = number_of_text(*of_field);
  const bool known = is_text ? text != nullptr : number.has_value();
  if (node.kind == Kind::is_unknown) return truth(!known);
  if (!known) return Truth::unknown;
  Truth result = Truth::no;
  for (const Where::Value& value : node.values) {
    if (is_text) {
      result = compare_text(node, *text, value, facts);
    } else {
      const std::optional<long double> right = value.name ? number_of(*value.name, facts) : value.number;
      result = right ? compare(node.kind, *number, *right) : Truth::unknown;
    }
    if (result == Truth::yes) break;
  }
  return result;
}

}  // namespace

// std::from_chars would do, but libc++ has none for long double.
std::optional<long double> number_of_text(std::string_view text) {
  // strtold also takes spaces, "inf", "nan" and hexadecimal numbers.
  if (text.empty() || text.find_first_not_of("0123456789.eE+-") != std::string_view::npos || text.starts_with('+')) {
    return std::nullopt;
  }
  // Kept until the process ends. It is null if there is no memory; strtold_l must not get that.
  static const locale_t c_locale = ::newlocale(LC_ALL_MASK, "C", nullptr);
  if (c_locale == nullptr) return std::nullopt;
  const std::string terminated(text);
  char* end = nullptr;
  const int kept = errno;
  errno = 0;
  const long double number = ::strtold_l(terminated.c_str(), &end, c_locale);
  const bool fits = errno != ERANGE;
  errno = kept;
  if (!fits || end != terminated.c_str() + terminated.size()) return std::nullopt;
  return number;
}

Where Where::parse(std::string_view text) { return WhereParser(text).parse(); }

void Where::require_like(std::string_view name, const std::vector<std::string>& globs) {
  const auto known = WhereParser::name_of(name);
  if (!known || !WhereParser::is_text_name(*known)) {
    throw Error(ErrorCode::invalid_argument, fmt::format("there is no text \"{}\"", printable(name)));
  }
  if (globs.empty()) return;
  Node node{.kind = Kind::like, .name = *known, .is_text = true};
  for (const std::string& glob : globs) node.values.push_back({.is_text = true, .text = glob});
  nodes_.push_back(std::move(node));
  if (nodes_.size() == 1) return;
  const auto last = static_cast<std::uint32_t>(nodes_.size() - 1);
  nodes_.push_back({.kind = Kind::all_of, .left = last - 1, .right = last});
}

bool Where::names(bool (*wanted)(Name)) const {
  return std::any_of(nodes_.begin(), nodes_.end(), [&](const Node& node) {
    if (node.kind == Kind::all_of || node.kind == Kind::any_of || node.kind == Kind::negation) return false;
    return wanted(node.name) || std::any_of(node.values.begin(), node.values.end(),
                                            [&](const Value& value) { return value.name && wanted(*value.name); });
  });
}

bool Where::needs_image_size() const {
  return names([](Name name) {
    return name == Name::width || name == Name::height || name == Name::pixels || name == Name::megapixels ||
           name == Name::aspect;
  });
}

bool Where::needs_shard() const {
  return names([](Name name) { return name == Name::shard; });
}

bool Where::needs_fields() const {
  return names([](Name name) { return name == Name::field; });
}

void Where::require_fields(const std::vector<std::string>& fields) const {
  for (const Node& node : nodes_) {
    if (node.field.empty() || std::find(fields.begin(), fields.end(), node.field) != fields.end()) continue;
    std::vector<std::string> meant;
    for (const std::string& field : fields) {
      if (names_field(node.field, field)) meant.push_back(field);
    }
    if (meant.size() == 1) continue;
    const std::string others = fields.empty() ? "" : fmt::format("; fields: {}", joined(fields));
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("`where`, column {}: {} \"{}\"", node.offset + 1,
                    meant.empty() ? "there is no name" : "more than one field is meant by", printable(node.field)),
        {.offset = node.offset,
         .hint = meant.empty() ? fmt::format("names: {}{}", where_names(), others)
                               : fmt::format("fields: {}", joined(meant))});
  }
}

Truth Where::test_node(std::uint32_t number, const SampleFacts& facts) const {
  const Node& node = nodes_[number];
  switch (node.kind) {
    case Kind::all_of:
      return both(test_node(node.left, facts), test_node(node.right, facts));
    case Kind::any_of:
      return opposite(both(opposite(test_node(node.left, facts)), opposite(test_node(node.right, facts))));
    case Kind::negation:
      return opposite(test_node(node.left, facts));
    default:
      return test_comparison(node, facts);
  }
}

Truth Where::test(const SampleFacts& facts) const {
  if (nodes_.empty()) return Truth::yes;
  return test_node(static_cast<std::uint32_t>(nodes_.size() - 1), facts);
}

bool Where::takes(const SampleFacts& facts, WhereCounts& counts) const {
  const Truth result = test(facts);
  ++counts.num_samples;
  if (result != Truth::yes) ++counts.num_left_out;
  if (result == Truth::unknown) ++counts.num_unknown;
  return result == Truth::yes;
}

void facts_of(const Dataset& dataset, std::size_t shard, std::uint64_t sample, std::uint64_t number, SampleFacts& out) {
  const IndexInUse held = dataset.use_index(shard);
  const ShardIndex& index = *held;
  out.key = index.key(sample);
  out.index = number;
  out.dataset = &dataset;
  out.shard_number = shard;
  out.sample = sample;
  out.label = dataset.label_in_shard(shard, sample);
  if (*out.label == k_no_label) out.label.reset();
  out.class_name.reset();
  const auto& classes = dataset.classes();
  if (out.label && *out.label >= 0 && static_cast<std::uint64_t>(*out.label) < classes.size()) {
    out.class_name = classes[static_cast<std::size_t>(*out.label)];
  }
  out.width.reset();
  out.height.reset();
  if (index.width(sample) != 0 && index.height(sample) != 0) {
    out.width = index.width(sample);
    out.height = index.height(sample);
  }
  out.bytes.reset();
  out.format.reset();
  if (const auto field = index.image_field(sample)) {
    out.format = index.fields()[*field].name;
    out.bytes = index.extent(sample, *field).length;
  }
  out.shard = base_name(dataset.shard_path(shard));
}

std::vector<std::uint64_t> select_samples(const Dataset& dataset, const Where& where, WhereCounts& counts) {
  if (where.needs_fields()) where.require_fields(dataset.fields());
  std::vector<std::uint64_t> selected;
  SampleFacts facts;
  std::uint64_t number = 0;
  for (std::size_t shard = 0; shard < dataset.num_shards(); ++shard) {
    const std::uint64_t size = dataset.shard_size(shard);
    for (std::uint64_t sample = 0; sample < size; ++sample, ++number) {
      if (!where.takes_all()) facts_of(dataset, shard, sample, number, facts);
      if (where.takes(facts, counts)) selected.push_back(number);
    }
  }
  return selected;
}

}  // namespace bale
