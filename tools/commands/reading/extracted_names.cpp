#include "bale/tools/commands/reading/extracted_names.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "bale/formats/base/contained_name.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/key_text.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/shard/format.hpp"
#include "bale/reader/repeated_keys.hpp"

namespace bale::tools {
namespace {

constexpr const char* k_choose = "extract to another file system, or apart with `include`";

/// Refuses paths, and directories in them, that differ only by case.
class CaseCheck {
 public:
  explicit CaseCheck(const std::string& directory) : directory_(directory) {}

  void add(const std::string& path) {
    for (std::size_t end = 0; end < path.size();) {
      end = std::min(path.find('/', end + 1), path.size());
      const std::string name = path.substr(0, end);
      const auto [known, is_new] = names_.try_emplace(lower_case(name), name);
      if (is_new || known->second == name) continue;
      throw Error(ErrorCode::exists,
                  fmt::format("\"{}\" and \"{}\" are one name there: the file system ignores case",
                              printed_key(known->second), printed_key(name)),
                  {.path = directory_, .hint = k_choose});
    }
  }

 private:
  const std::string& directory_;
  std::unordered_map<std::string, std::string> names_;
};

}  // namespace

ExtractedNames::ExtractedNames(const Dataset& dataset, const SampleKeys& keys, const std::vector<std::uint64_t>& wanted,
                               const FieldChoice& takes, const SafeDirectory& directory)
    : dataset_(dataset), keys_(keys), is_decoded_(dataset.num_shards()) {
  std::string repeated = repeated_path(wanted, takes);
  if (!repeated.empty()) {  // x.jpg and x.png both have labels
    shortens_ = false;
    repeated = repeated_path(wanted, takes);
  }
  if (!repeated.empty()) {  // a decoded name may be that of another sample
    decodes_ = false;
    repeated = repeated_path(wanted, takes);
  }
  if (!repeated.empty()) {
    throw Error(
        ErrorCode::exists, fmt::format("two samples would be the file {}", printed_key(repeated)),
        {.path = directory.path(), .hint = "choose one with `include`, or `bale convert` to give them other keys"});
  }
  std::optional<CaseCheck> case_check;
  if (directory.ignores_case()) case_check.emplace(directory.path());
  std::uint64_t last = ~std::uint64_t{0};
  visit(wanted, takes, [&](std::uint64_t sample, const std::string& path) {
    if (case_check) case_check->add(path);
    if (sample == last) return;
    last = sample;
    const std::string key(without_dot_prefix(dataset_.key(sample)));
    if (contained_name(key) == key) return;
    if (num_stripped_++ == 0) first_stripped_ = key;
  });
}

/// Whether bale made the keys of the shard: not if another program named its members so.
bool ExtractedNames::decodes(std::size_t shard) const {
  std::optional<bool>& is_decoded = is_decoded_[shard];
  if (!is_decoded) {
    const auto layouts = dataset_.use_shard(shard)->format().layouts;
    const bool has_members =
        std::any_of(layouts.begin(), layouts.end(), [](const Layout& layout) { return layout.keys_name_files; });
    is_decoded = !has_members || !dataset_.expected_digest(shard).empty();
  }
  return decodes_ && *is_decoded;
}

std::string ExtractedNames::path(std::uint64_t sample, std::string_view field) const {
  const auto [shard, number] = dataset_.position(sample);
  return keys_.file_name(shard, dataset_.key(sample), field, decodes(shard), shortens_);
}

void ExtractedNames::visit(const std::vector<std::uint64_t>& wanted, const FieldChoice& takes,
                           const Visitor& visitor) const {
  for (const std::uint64_t sample : wanted) {
    const auto [shard, number] = dataset_.position(sample);
    const IndexInUse held = dataset_.use_index(shard);
    for (const auto& [field, extent] : held->row(number)) {
      const std::string& name = held->fields()[field].name;
      if (takes(name)) visitor(sample, path(sample, name));
    }
  }
}

/// A path that two files would have; empty if there is none.
std::string ExtractedNames::repeated_path(const std::vector<std::uint64_t>& wanted, const FieldChoice& takes) const {
  const auto repeated = find_repeated_key(1, [&](std::size_t, const KeyVisitor& add) {
    visit(wanted, takes, [&](std::uint64_t, const std::string& path) { add(path); });
  });
  return repeated ? repeated->key : std::string();
}

}  // namespace bale::tools
