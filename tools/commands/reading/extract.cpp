#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/names/contained_name.hpp"
#include "bale/formats/base/notice_log.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/base/text/escaped_bytes.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/formats/base/text/key_text.hpp"
#include "bale/formats/shard/format.hpp"
#include "bale/reader/check/report_json.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/reader/dataset/keys/names_apart.hpp"
#include "bale/reader/read_ahead.hpp"
#include "bale/reader/spec/dataset_spec.hpp"
#include "bale/reader/where.hpp"
#include "bale/tools/commands/commands.hpp"
#include "bale/tools/commands/open_dataset.hpp"
#include "bale/tools/commands/reading/safe_directory.hpp"
#include "bale/tools/report/json/json_output.hpp"
#include "bale/tools/terminal/notices.hpp"
#include "bale/tools/terminal/progress.hpp"
#include "bale/tools/terminal/signals.hpp"
#include "bale/writer/destination/overlap.hpp"
#include "bale/writer/source/folder/name_filter.hpp"

namespace bale::tools {
namespace {

/// The paths of the files that are written: each once, below the directory, and as the packed files were called.
class ExtractedNames {
 public:
  using FieldChoice = std::function<bool(std::string_view field)>;

  /// Of the fields that `takes` chooses of the samples `wanted`. Throws `exists` if two files would have one path, also
  /// if they differ by case and the file system of `directory` ignores it.
  ExtractedNames(const Dataset& dataset, const SampleKeys& keys, const std::vector<std::uint64_t>& wanted,
                 const FieldChoice& takes, const SafeDirectory& directory);

  std::string path(std::uint64_t sample, std::string_view field) const;
  /// Samples whose keys are absolute or have "..", "." or empty parts, which are stripped, and the first of them.
  std::uint64_t num_stripped() const { return num_stripped_; }
  const std::string& first_stripped() const { return first_stripped_; }

 private:
  using Visitor = std::function<void(std::uint64_t sample, const std::string& path)>;
  void visit(const std::vector<std::uint64_t>& wanted, const FieldChoice& takes, const Visitor& visitor) const;
  bool decodes(std::size_t shard) const;
  std::string repeated_path(const std::vector<std::uint64_t>& wanted, const FieldChoice& takes) const;

  const Dataset& dataset_;
  const SampleKeys& keys_;
  bool decodes_ = true;
  bool shortens_ = true;                                 // names of other fields begin with the image's stem
  mutable std::vector<std::optional<bool>> is_decoded_;  // shards
  std::uint64_t num_stripped_ = 0;
  std::string first_stripped_;
};

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

bool wanted_field(const ExtractCommand& command, std::string_view field) {
  return command.fields.empty() ||
         std::find(command.fields.begin(), command.fields.end(), field) != command.fields.end();
}

/// A pattern is compared with the key, as `bale ls` prints it, and with the key that distinguishes it.
std::vector<std::uint64_t> wanted_samples(const ExtractCommand& command, const Dataset& dataset, const SampleKeys& keys,
                                          const Where& where, WhereCounts& counts, NoticeLog& ledger) {
  std::vector<std::uint64_t> wanted = select_samples(dataset, where, counts);
  if (command.include.empty()) return wanted;
  NameFilter filter(command.include, {});
  const auto own_key = [&](std::uint64_t i, const std::string& key) {
    return keys.are_told_apart() ? keys.name(dataset.position(i).first, key) : key;
  };
  for (const std::uint64_t i : wanted) {
    const std::string key = dataset.key(i);
    filter.see_key(key);
    filter.see_key(own_key(i, key));
  }
  std::erase_if(wanted, [&](std::uint64_t i) {
    const std::string key = dataset.key(i);
    return !filter.takes(key) && !filter.takes(own_key(i, key));
  });
  filter.note_unmatched(ledger, command.spec);
  return wanted;
}

void check_fields(const ExtractCommand& command, const Dataset& dataset) {
  for (const std::string& field : command.fields) {
    const auto& known = dataset.fields();
    if (std::find(known.begin(), known.end(), field) != known.end()) continue;
    throw Error(ErrorCode::not_found, fmt::format("no sample has a field \"{}\"", printable(field)),
                {.path = command.spec, .hint = fmt::format("choose among: {}", printable(joined(known)))});
  }
}

/// Labels that another program's shards have next to the fields get no file.
void print_labels_without_files(const Dataset& dataset, const std::vector<std::uint64_t>& wanted, Terminal& terminal) {
  std::uint64_t num_labels = 0;
  for (const std::uint64_t sample : wanted) {
    const auto [shard, number] = dataset.position(sample);
    if (dataset.label_in_shard(shard, number) == k_no_label) continue;
    const IndexInUse held = dataset.use_index(shard);
    bool has_file = false;
    for (const auto& [field, extent] : held->row(number)) {
      has_file = has_file || held->fields()[field].name == k_label_field;
    }
    if (!has_file) ++num_labels;
  }
  if (num_labels == 0) return;
  terminal.note(fmt::format("{} in no file: `bale ls --long` prints labels, and `bale convert` keeps them",
                            num_labels == 1 ? "the label of 1 sample is" : plural(num_labels, "label") + " are"));
}

void print_renamed(const ExtractedNames& names, const SampleKeys& keys, Terminal& terminal) {
  if (keys.are_told_apart()) terminal.note("shards repeat keys: files are in folders with the names of their shards");
  if (names.num_stripped() == 0) return;
  terminal.note(fmt::format("{}: what leads outside the directory is stripped (such as \"{}\")",
                            plural(names.num_stripped(), "key"), excerpt(printed_key(names.first_stripped()), 256)));
}

/// Refuses to extract into a packed directory: its files are those that its manifest lists. Shards without a manifest
/// may be extracted into their own directory, as archives are.
void require_outside_datasets(const ExtractCommand& command) {
  std::vector<std::string> directories;
  for (const DatasetPart& part : resolve_dataset(command.spec).parts) {
    if (!part.manifest_path.empty()) directories.push_back(part.directory);
  }
  require_no_overlap(directories, command.directory);
}

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

int run_extract(const ExtractCommand& command, Terminal& terminal) {
  const Where where = parse_where(command.where, terminal);
  require_outside_datasets(command);
  const Dataset dataset = open_dataset(command.spec, terminal, command.quiet);
  check_fields(command, dataset);
  require_fields(where, command.where, dataset, terminal);
  WhereCounts counts;
  const SampleKeys keys(dataset);
  NoticeLog ledger = dataset.notices();
  const std::vector<std::uint64_t> wanted = wanted_samples(command, dataset, keys, where, counts, ledger);
  show_notices(ledger, "entry", terminal);
  show_lines(where_lines(counts), terminal);
  if (command.fields.empty()) print_labels_without_files(dataset, wanted, terminal);
  if (command.strict) require_all_taken(ledger, "entry");
  const auto takes = [&](std::string_view field) { return wanted_field(command, field); };
  SafeDirectory directory(command.directory);
  const ExtractedNames names(dataset, keys, wanted, takes, directory);
  print_renamed(names, keys, terminal);

  std::uint64_t bytes = 0;
  std::uint64_t files = 0;
  std::uint64_t kept = 0;
  const auto write_all = [&](Progress& progress) {
    progress.total_samples = wanted.size();
    ReadAhead ahead(dataset, [&](std::uint64_t n) -> std::optional<UpcomingSample> {
      if (n >= wanted.size()) return std::nullopt;
      return UpcomingSample{wanted[n]};
    });
    Scratch scratch;
    for (std::size_t at = 0; at < wanted.size(); ++at) {
      progress.throw_if_stopped();
      ahead.consumed(at);
      const SampleView sample = dataset.read(wanted[at], scratch);
      for (const FieldView& field : sample.fields) {
        if (!takes(field.name)) continue;
        if (directory.write(names.path(wanted[at], field.name), field.bytes, command.force) == Written::kept) ++kept;
        bytes += field.bytes.size();
        progress.bytes = bytes;
        ++files;
      }
      ++progress.samples;
    }
    return wanted.size();
  };
  const std::uint64_t samples = run_attended("extracted", progress_style(command.quiet), terminal, write_all);
  if (command.json) {
    terminal.print(json_document({{"directory", bytes_to_json(command.directory)},
                                  {"samples", samples},
                                  {"files", files},
                                  {"kept", kept},
                                  {"bytes", bytes},
                                  {"left_out", counts.num_left_out},
                                  {"notices", notices_json(ledger)}}));
  } else if (!command.quiet) {
    const std::string found = kept == 0 ? "" : fmt::format("; {} were there already", human_count(kept));
    terminal.print(fmt::format("{}: {} of {}, {}{}\n", shown_name(command.directory), plural(files, "file"),
                               plural(samples, "sample"), human_bytes(bytes), found));
  }
  return k_exit_ok;
}

}  // namespace bale::tools
