#include "bale/writer/plan/plan_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/codec/zstd_codec.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/files/temporary_file.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/base/version.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/formats/shard/shard_name.hpp"
#include "bale/writer/edits/image_edits.hpp"
#include "bale/writer/plan/plan.hpp"
#include "bale/writer/plan/shard_table.hpp"
#include "bale/writer/source/saved/saved_source.hpp"

namespace bale {
namespace {

// The head of a plan file as JSON text: options, datasets, and the source's own head.
//
// Pure functions, safe in any thread.

struct PlanHead {
  PackOptions options{};
  Plan plan{};  // without order and shards
  std::vector<std::string> classes{};
  std::map<std::string, std::string> earlier_edits{};
  KeyForm keys = KeyForm::plain;
  std::vector<SourceLoss> losses{};
  std::string source{};     // Source::save_head()
  std::string directory{};  // in which relative paths begin; empty if there are none
};

/// What determines the bytes and is not an option: all parts must agree in it.
Json maker_of(const PackOptions& options) {
  return {{"bale", version()},
          {"edits", Json::object_of(describe_edits(options.edits, !options.format.layout->keeps_bytes))}};
}

Json to_json(const PackOptions& options) {
  Json json = stored_options(options);
  json.update({{"destination", bytes_to_json(options.destination)},
               {"format", options.format.format->name},
               {"layout", options.format.layout->name},
               {"format_options", Json::object_of(options.format_options)}});
  return json;
}

std::map<std::string, std::string> texts_by_name(const Json& json, const char* name) {
  std::map<std::string, std::string> texts;
  for (const auto& [key, value] : json.members(name)) texts[key] = value.as_text(key);
  return texts;
}

PackOptions options_from_json(const Json& json) {
  PackOptions options{.destination = json.bytes("destination")};
  options.format = find_format(json.text("format"), json.text("layout"));
  options.format_options = texts_by_name(json, "format_options");
  load_stored_options(json, options);
  options.mode = DestinationMode::resume;
  return options;
}

std::string plan_head_text(const PlanHead& head) {
  Json datasets = Json::array();
  for (const PlannedDataset& dataset : head.plan.datasets) {
    datasets.push_back({{"name", dataset.name}, {"subdirectory", dataset.subdirectory}});
  }
  const Json json{{"maker", maker_of(head.options)},
                  {"options", to_json(head.options)},
                  {"datasets", datasets},
                  {"samples", head.plan.num_samples},
                  {"bytes", head.plan.num_bytes},
                  {"plan", head.plan.fingerprint},
                  {"directory", bytes_to_json(head.directory)},
                  {"classes", bytes_list_to_json(head.classes)},
                  {"earlier_edits", Json::object_of(head.earlier_edits)},
                  {"keys", key_form_name(head.keys)},
                  {"losses", losses_to_json(head.losses)},
                  {"source", head.source}};
  return json.dump({.sorted = true});
}

/// Throws `damaged`, or an exception of the JSON library, for anything that plan_head_text() does not make, and
/// `unsupported` if another version of bale made it, or this one would encode images in another way.
PlanHead parse_plan_head(std::string_view text, const std::string& path) {
  const Json json = parse_json(text);
  const Json& maker = json.at("maker");
  if (maker.text("bale") != version()) {
    throw Error(ErrorCode::unsupported,
                fmt::format("bale {} made this plan, this is bale {}", printable(maker.text("bale")), version()),
                {.path = path, .hint = "plan and pack with one version, so that all parts have the same bytes"});
  }
  PlanHead head{.options = options_from_json(json.at("options")),
                .classes = json.bytes_list("classes"),
                .earlier_edits = texts_by_name(json, "earlier_edits"),
                .keys = json.contains("keys")        ? key_form_named(json.text("keys"))
                        : json.truth("encoded_keys") ? KeyForm::encoded
                                                     : KeyForm::plain,
                .losses = losses_from_json(json.list("losses")),
                .source = json.text("source"),
                .directory = json.bytes("directory")};
  if (maker.dump() != maker_of(head.options).dump({.sorted = true})) {
    throw Error(
        ErrorCode::unsupported, "this machine has a different JPEG encoder than the one that made the plan",
        {.path = path, .hint = "use the same libjpeg-turbo on all machines, so that all parts have the same bytes"});
  }
  for (const Json& dataset : json.list("datasets")) {
    const std::string& name = dataset.text("name");
    const std::string& subdirectory = dataset.text("subdirectory");
    if (!is_plain_name(name) || (!subdirectory.empty() && !is_plain_name(subdirectory))) {
      throw Error(ErrorCode::damaged, "a dataset of the plan has no plain name", {.path = path});
    }
    head.plan.datasets.push_back({.name = name, .subdirectory = subdirectory, .order = {}, .shards = {}});
  }
  head.plan.num_samples = json.count("samples");
  head.plan.num_bytes = json.count("bytes");
  head.plan.fingerprint = json.text("plan");
  return head;
}

constexpr std::string_view k_plan_magic = "baleplan";
constexpr std::uint32_t k_version = 1;
constexpr int k_level = 3;
constexpr std::size_t k_block_bytes = std::size_t{1} << 20;  // of rows; a block has at least one
constexpr std::uint64_t k_max_block_bytes = std::uint64_t{1} << 30;
constexpr std::uint64_t k_max_head_bytes = std::uint64_t{1} << 30;

Bytes block_as_bytes(const void* at, std::size_t size) { return {static_cast<const std::byte*>(at), size}; }

std::string hexadecimal(const Digest& digest) { return digest_text(digest).substr(std::string_view("xxh3:").size()); }

bool is_absolute(const std::string& name) { return name.starts_with('/') || remote_storage_of(name) != nullptr; }

std::string current_directory() {
  const std::unique_ptr<char, decltype(&::free)> path(::getcwd(nullptr, 0), &::free);
  if (path == nullptr) throw_errno("name the current directory", ".");
  return path.get();
}

std::vector<char> decompress(Bytes frame, std::uint64_t limit) {
  std::vector<char> text(zstd_content_size(frame, limit));
  zstd_decompress(frame, {reinterpret_cast<std::byte*>(text.data()), text.size()});
  return text;
}

}  // namespace

struct PlanFile::Trailer {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t zero;
  std::uint64_t head_offset;
  std::uint64_t head_bytes;
  std::uint64_t table_offset;
  std::uint64_t num_shards;
  Digest digest;  // of head, table, and this up to here

  Bytes checked() const { return block_as_bytes(this, offsetof(Trailer, digest)); }
};

/// Writes the parts of a plan one after another.
class PlanFile::Output {
 public:
  explicit Output(const std::string& path) : file_(File::create(path)) { write(as_bytes(k_plan_magic)); }

  Entry write_shard(const Source& source, const PlannedDataset& dataset, const PlannedShard& shard) {
    Entry entry{.offset = at_,
                .bytes = 0,
                .num_rows = shard.end - shard.begin,
                .payload_bytes = shard.bytes,
                .dataset = 0,
                .zero = 0,
                .digest = {}};
    DigestStream digest;
    std::string block;
    std::string row;
    for (std::uint64_t at = shard.begin; at < shard.end; ++at) {
      row.clear();
      source.save(dataset.order[at], row);
      is_relative_ = is_relative_ || !is_absolute(source.origin(dataset.order[at]));
      RowWriter(block).text(row);
      if (block.size() >= k_block_bytes || at + 1 == shard.end) write_block(block, digest);
    }
    entry.bytes = at_ - entry.offset;
    entry.digest = digest.digest();
    return entry;
  }

  void finish(const std::string& head, const std::vector<Entry>& entries) {
    Trailer trailer{.magic = {},
                    .version = k_version,
                    .zero = 0,
                    .head_offset = at_,
                    .head_bytes = 0,
                    .table_offset = 0,
                    .num_shards = entries.size(),
                    .digest = {}};
    std::copy(k_plan_magic.begin(), k_plan_magic.end(), trailer.magic.begin());
    DigestStream digest;
    zstd_compress(as_bytes(head), k_level, frame_);
    trailer.head_bytes = frame_.size();
    digest.update(frame_);
    write(frame_);
    trailer.table_offset = at_;
    const Bytes table = block_as_bytes(entries.data(), entries.size() * sizeof(Entry));
    digest.update(table);
    write(table);
    digest.update(trailer.checked());
    trailer.digest = digest.digest();
    write(block_as_bytes(&trailer, sizeof trailer));
    file_.sync();
    file_.close();
  }

  /// Whether any sample so far has a path that depends on the current directory.
  bool is_relative() const { return is_relative_; }

 private:
  void write_block(std::string& block, DigestStream& digest) {
    zstd_compress(as_bytes(block), k_level, frame_);
    const std::uint64_t size = frame_.size();
    for (const Bytes part : {block_as_bytes(&size, sizeof size), Bytes(frame_)}) {
      digest.update(part);
      write(part);
    }
    block.clear();
  }
  void write(Bytes bytes) {
    file_.write_at(at_, bytes);
    at_ += bytes.size();
  }

  File file_;
  std::uint64_t at_ = 0;
  std::vector<std::byte> frame_;
  bool is_relative_ = false;
};

void PlanFile::write(const std::string& path, const Source& source, const PackOptions& options, const Plan& plan) {
  if (name_is_taken(path)) {
    throw Error(ErrorCode::exists, "exists already",
                {.path = path, .hint = "choose another name for the plan, or delete it"});
  }
  PlanHead head{.options = options,
                .classes = source.classes(),
                .earlier_edits = source.edits(),
                .keys = source.key_form(),
                .losses = source.losses(),
                .source = source.save_head()};
  for (const PlannedDataset& dataset : plan.datasets) {
    head.plan.datasets.push_back(
        {.name = dataset.name, .subdirectory = dataset.subdirectory, .order = {}, .shards = {}});
  }
  head.plan.num_samples = plan.num_samples;
  head.plan.num_bytes = plan.num_bytes;
  head.plan.fingerprint = plan.fingerprint;
  const std::string staged = join_path(parent_directory(path), temporary_name());
  try {
    Output output(staged);
    std::vector<Entry> entries;
    for (std::size_t number = 0; number < plan.datasets.size(); ++number) {
      for (const PlannedShard& shard : plan.datasets[number].shards) {
        entries.push_back(output.write_shard(source, plan.datasets[number], shard));
        entries.back().dataset = static_cast<std::uint32_t>(number);
      }
    }
    if (output.is_relative() || !is_absolute(options.destination)) head.directory = current_directory();
    const std::string text = plan_head_text(head);
    // The packing of a part needs the secrets of the source's URL, and nobody else does.
    if (without_secrets(text) != text && ::chmod(staged.c_str(), S_IRUSR | S_IWUSR) != 0)
      throw_errno("protect", staged);
    output.finish(text, entries);
    publish_rename(staged, path);
  } catch (...) {
    ::unlink(staged.c_str());
    throw;
  }
}

void PlanFile::refuse(std::string_view why) const {
  throw Error(ErrorCode::damaged, why, {.path = path(), .hint = "make the plan again"});
}

PlanFile PlanFile::open(const std::string& path) {
  PlanFile plan(File::open_read(path));
  const std::uint64_t size = plan.file_.size();
  Trailer trailer{};
  if (size < k_plan_magic.size() + sizeof trailer) plan.refuse("not a plan");
  plan.file_.read_exact(size - sizeof trailer, {reinterpret_cast<std::byte*>(&trailer), sizeof trailer});
  if (std::string_view(trailer.magic.data(), trailer.magic.size()) != k_plan_magic)
    plan.refuse("not a plan, or cut off");
  if (trailer.version != k_version) {
    throw Error(ErrorCode::unsupported, "another version of bale made this plan",
                {.path = path, .hint = "plan and pack with one version"});
  }
  const std::uint64_t end = size - sizeof trailer;
  const bool fits = trailer.table_offset <= end && trailer.head_offset <= trailer.table_offset &&
                    trailer.head_bytes == trailer.table_offset - trailer.head_offset &&
                    trailer.head_bytes <= k_max_head_bytes &&
                    trailer.num_shards == (end - trailer.table_offset) / sizeof(Entry) &&
                    (end - trailer.table_offset) % sizeof(Entry) == 0;
  if (!fits) plan.refuse("the plan is damaged");
  std::vector<std::byte> frame(trailer.head_bytes);
  plan.file_.read_exact(trailer.head_offset, frame);
  plan.entries_.resize(trailer.num_shards);
  plan.file_.read_exact(trailer.table_offset,
                        {reinterpret_cast<std::byte*>(plan.entries_.data()), plan.entries_.size() * sizeof(Entry)});
  DigestStream digest;
  digest.update(frame);
  digest.update(block_as_bytes(plan.entries_.data(), plan.entries_.size() * sizeof(Entry)));
  digest.update(trailer.checked());
  if (digest.digest() != trailer.digest) plan.refuse("the plan is damaged");
  plan.digest_ = hexadecimal(trailer.digest);
  const std::vector<char> head = decompress(frame, k_max_head_bytes);
  plan.read_head({head.data(), head.size()});
  plan.lay_out();
  return plan;
}

void PlanFile::read_head(std::string_view text) {
  try {
    PlanHead head = parse_plan_head(text, path());
    options_ = std::move(head.options);
    plan_ = std::move(head.plan);
    source_head_ = std::move(head.source);
    classes_ = std::move(head.classes);
    earlier_edits_ = std::move(head.earlier_edits);
    keys_ = head.keys;
    losses_ = std::move(head.losses);
    directory_ = std::move(head.directory);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::damaged || !error.context().path.empty()) throw;
    refuse(fmt::format("the plan is damaged: {}", error.message()));
  }
}

/// Names the shards and numbers their samples.
void PlanFile::lay_out() {
  std::vector<std::uint64_t> counts(plan_.datasets.size());
  for (std::size_t number = 0; number < entries_.size(); ++number) {
    const Entry& entry = entries_[number];
    const bool in_order = number == 0 || entries_[number - 1].dataset <= entry.dataset;
    if (entry.dataset >= counts.size() || !in_order || entry.num_rows == 0) refuse("the plan is damaged");
    ++counts[entry.dataset];
  }
  std::uint64_t number = 0;
  for (std::size_t d = 0; d < counts.size(); ++d) {
    PlannedDataset& dataset = plan_.datasets[d];
    first_shard_.push_back(number);
    std::uint64_t begin = 0;
    for (std::uint64_t s = 0; s < counts[d]; ++s, ++number) {
      const Entry& entry = entries_[number];
      dataset.shards.push_back({.file = shard_file_name(*options_.format.layout, dataset.name, s, counts[d]),
                                .begin = begin,
                                .end = begin + entry.num_rows,
                                .bytes = entry.payload_bytes});
      begin += entry.num_rows;
    }
  }
}

void PlanFile::require_directory() const {
  if (directory_.empty() || directory_ == current_directory()) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("the plan has paths that are relative to {}", printable(directory_)),
              {.path = path(), .hint = "run this in that directory, or plan with absolute paths"});
}

PlanFile::Place PlanFile::place(std::uint64_t number) const {
  const PlannedDataset& dataset = plan_.datasets[entries_[number].dataset];
  return {&dataset, &dataset.shards[number - first_shard_[entries_[number].dataset]]};
}

void PlanFile::read_rows(std::uint64_t number, const std::function<void(std::string_view)>& row) const {
  const Entry& entry = entries_[number];
  DigestStream digest;
  std::uint64_t num_rows = 0;
  std::vector<std::byte> frame;
  const std::uint64_t file_bytes = file_.size();
  if (entry.offset > file_bytes || entry.bytes > file_bytes - entry.offset) refuse("the plan is damaged");
  for (std::uint64_t at = entry.offset, end = entry.offset + entry.bytes; at < end;) {
    std::uint64_t size = 0;
    if (end - at < sizeof size) refuse("the plan is damaged");
    file_.read_exact(at, {reinterpret_cast<std::byte*>(&size), sizeof size});
    at += sizeof size;
    if (size > end - at || size > k_max_block_bytes) refuse("rows of the plan are damaged");
    frame.resize(size);
    file_.read_exact(at, frame);
    at += size;
    digest.update(block_as_bytes(&size, sizeof size));
    digest.update(frame);
    try {
      const std::vector<char> block = decompress(frame, k_max_block_bytes);
      for (RowReader in({block.data(), block.size()}); !in.at_end(); ++num_rows) row(in.text());
    } catch (const Error& error) {
      // A flipped bit makes zstd speak of a dictionary, too.
      const bool is_damage = error.code() == ErrorCode::damaged || error.code() == ErrorCode::unsupported;
      if (!is_damage || !error.context().path.empty()) throw;
      refuse("rows of the plan are damaged");
    }
  }
  if (digest.digest() != entry.digest || num_rows != entry.num_rows) refuse("rows of the plan are damaged");
}

}  // namespace bale
