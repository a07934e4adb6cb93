// Where: a condition on samples, such as `width >= 256 and label in (3, 5)`.
//
//   condition := condition "or" condition | condition "and" condition | "not" condition | "(" condition ")" |
//   comparison comparison := NAME OPERATOR value | NAME ["not"] "in" "(" value, ... ")" | NAME ["not"] "like" TEXT
//               | NAME "is" ["not"] "unknown"
//   OPERATOR := "=" "==" "!=" "<>" "<" "<=" ">" ">="; texts have "=" and "!=" only
//   value := number, also with a size's suffix ("10KiB") | text in single or double quotes, doubled inside | NAME
//
// On the left NAME may also be a field of a packed dataset, with its extension or without it: the text of its value is
// compared, as a number if the other side is one.
//
// A comparison with a value that is unknown is neither true nor false: `not` keeps it unknown, `and` and `or` follow
// Kleene's three-valued logic, as SQL does. Only true selects a sample.
//
// Immutable once made; safe in any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bale {

class Dataset;

/// What a condition can ask of a sample. nullopt: unknown.
struct SampleFacts {
  std::string key{};
  std::optional<std::int64_t> label{};
  std::optional<std::string> class_name{};
  std::optional<std::uint32_t> width{};   // of the image, in pixels
  std::optional<std::uint32_t> height{};  // likewise
  std::optional<std::uint64_t> bytes{};   // of the image field, as stored
  std::optional<std::string> format{};    // name of the image field: "jpg"
  std::optional<std::string> shard{};     // file name of the shard
  std::uint64_t index = 0;                // number of the sample in its dataset
  const Dataset* dataset = nullptr;       // that has its fields; null: they are unknown
  std::size_t shard_number = 0;           // of the sample in the dataset, and its number there
  std::uint64_t sample = 0;
};

enum class Truth : std::uint8_t { no, yes, unknown };

/// What a condition decided.
struct WhereCounts {
  std::uint64_t num_samples = 0;   // that were asked about
  std::uint64_t num_left_out = 0;  // with those below
  std::uint64_t num_unknown = 0;   // left out because a value was unknown
};

class Where {
 public:
  /// Selects every sample.
  Where() = default;
  /// Parses a condition. Throws `invalid_argument`; its ErrorContext::offset is the
  /// byte of `text` at which the condition is wrong.
  static Where parse(std::string_view text);
  /// Adds the requirement that the named text (key, class, format, shard) matches one of the globs, as `like` does.
  /// Does nothing if there are none. Throws `invalid_argument` if there is no such text.
  void require_like(std::string_view name, const std::vector<std::string>& globs);

  bool takes_all() const { return nodes_.empty(); }
  /// Whether the condition names a fact that is known only from the image: width, height and what follows from them.
  bool needs_image_size() const;
  /// Whether it names the shard, which only packed datasets have.
  bool needs_shard() const;
  /// Whether it names fields. What they are is read from the shards or layers.
  bool needs_fields() const;
  /// Throws `invalid_argument`, as parse() does, for a name that is none of a condition and none of these fields.
  void require_fields(const std::vector<std::string>& fields) const;
  Truth test(const SampleFacts& facts) const;
  /// Whether the sample is selected; counts it.
  bool takes(const SampleFacts& facts, WhereCounts& counts) const;

  enum class Name : std::uint8_t {
    key,
    label,
    class_name,
    width,
    height,
    pixels,
    megapixels,
    bytes,
    aspect,
    format,
    shard,
    index,
    field
  };
  enum class Kind : std::uint8_t {
    all_of,
    any_of,
    negation,
    equal,
    unequal,
    less,
    at_most,
    more,
    at_least,
    one_of,
    like,
    is_unknown
  };
  /// A literal, or a name if `name` is set.
  struct Value {
    std::optional<Name> name{};
    bool is_text = false;
    std::string text{};
    long double number = 0;  // at least 64 bits of mantissa: every label is exact
  };
  struct Node {
    Kind kind{};
    Name name{};                  // of a comparison
    bool is_text = false;         // what is compared
    std::string field{};          // as it is written, if `name` is a field
    std::size_t offset = 0;       // of the name in the text
    std::vector<Value> values{};  // it is compared with
    std::uint32_t left = 0;       // nodes that this one connects
    std::uint32_t right = 0;
  };

 private:
  friend class WhereParser;
  bool names(bool (*wanted)(Name)) const;
  Truth test_node(std::uint32_t node, const SampleFacts& facts) const;

  std::vector<Node> nodes_;  // the last one is the root; children come before their parents
};

/// "key, label, ...": what a condition can name, for messages and documents.
std::string where_names();

/// The facts of a sample of a packed dataset, which are from the shard's index alone, except for fields. Borrows the
/// dataset. Overwrites `out`. Precondition: sample <
/// dataset.shard_size(shard). Throws what Dataset::use_index() throws.
void facts_of(const Dataset& dataset, std::size_t shard, std::uint64_t sample, std::uint64_t index, SampleFacts& out);

/// The samples of the dataset that the condition selects, ascending. Reads the indexes of all shards, and the fields
/// that it names. Adds to `counts`. Throws what Where::require_fields() and reading throw.
std::vector<std::uint64_t> select_samples(const Dataset& dataset, const Where& where, WhereCounts& counts);

}  // namespace bale
