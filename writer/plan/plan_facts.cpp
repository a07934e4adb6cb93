#include "bale/writer/plan/plan_facts.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/text/escaped_bytes.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/formats/base/text/key_text.hpp"
#include "bale/writer/edits/image_edits.hpp"

namespace bale {
namespace {

constexpr std::size_t k_named_samples = 3;  // of each kind of change
constexpr std::size_t k_shown_fact = 100;   // bytes of a key or a value
constexpr const char* k_samples = "samples";
constexpr const char* k_class_names = "class_names";

/// The names of edits in manifests that are not those of their options.
constexpr std::pair<const char*, const char*> k_edit_options[] = {
    {"metadata", "strip_metadata"}, {"jpeg_coding", "jpeg_lossless"}, {"jpeg_quality", "quality"}};
/// Facts that are not options, as they are shown.
constexpr std::pair<const char*, const char*> k_other_facts[] = {{k_samples, "samples"},
                                                                 {"shards", "shards"},
                                                                 {"classes", "classes"},
                                                                 {"edit", "part of an edit"},
                                                                 {"filter", "the filter of resizing"},
                                                                 {"jpeg_encoder", "the JPEG encoder"}};

void add_edits(const std::map<std::string, std::string>& edits, PlanFacts& facts) {
  for (const auto& [name, value] : edits) {
    const auto known = std::find_if(std::begin(k_edit_options), std::end(k_edit_options),
                                    [&wanted = name](const auto& option) { return wanted == option.first; });
    facts[known == std::end(k_edit_options) ? name : known->second] = value;
  }
}

void add_classes(const std::vector<std::string>& classes, PlanFacts& facts) {
  DigestStream names;
  for (const std::string& name : classes) names.update(as_bytes(fmt::format("{}:{}\n", name.size(), name)));
  facts["classes"] = fmt::to_string(classes.size());
  facts[k_class_names] = digest_text(names.digest());
}

std::string value_in(const PlanFacts& facts, const std::string& name) {
  const auto found = facts.find(name);
  return found == facts.end() ? "none" : excerpt(printable(found->second), k_shown_fact);
}

std::string describe_fact(const std::string& name, const PlanFacts& before, const PlanFacts& after) {
  const std::string from = value_in(before, name);
  const std::string to = value_in(after, name);
  if (from == to) return {};
  if (name == k_class_names) {
    return value_in(before, "classes") == value_in(after, "classes") ? "other names of classes" : std::string{};
  }
  const auto other = std::find_if(std::begin(k_other_facts), std::end(k_other_facts),
                                  [&](const auto& fact) { return name == fact.first; });
  const std::string shown = other != std::end(k_other_facts) ? other->second : fmt::format("`{}`", printable(name));
  return fmt::format("{} from {} to {}", shown, from, to);
}

/// One kind of change: how many samples, and the first of them.
struct SampleChange {
  std::uint64_t count = 0;
  std::vector<std::string> names{};

  void add(std::string_view key) {
    if (count++ < k_named_samples) names.push_back(excerpt(printed_key(key), k_shown_fact));
  }
  std::string text(const char* what) const {
    const std::string more = count > names.size() ? fmt::format(" and {} more", count - names.size()) : std::string{};
    return fmt::format("{} {} ({}{})", count, what, joined(names), more);
  }
};

void add_sample_changes(const ListSamples& before, const ListSamples& after, std::vector<std::string>& changes) {
  struct KnownSample {
    std::uint64_t key;
    std::uint64_t content;
    bool is_there;
  };
  std::vector<KnownSample> known;
  before([&](std::string_view key, std::uint64_t content) { known.push_back({hash_key(key), content, false}); });
  const auto comes_first = [](const KnownSample& a, const KnownSample& b) { return a.key < b.key; };
  std::sort(known.begin(), known.end(), comes_first);
  const auto find = [&](std::string_view key) {
    const KnownSample wanted{hash_key(key), 0, false};
    const auto found = std::lower_bound(known.begin(), known.end(), wanted, comes_first);
    return found != known.end() && found->key == wanted.key ? &*found : nullptr;
  };
  SampleChange added;
  SampleChange removed;
  SampleChange changed;
  after([&](std::string_view key, std::uint64_t content) {
    KnownSample* const sample = find(key);
    if (sample == nullptr) return added.add(key);
    sample->is_there = true;
    if (sample->content != k_unknown_content && sample->content != content) changed.add(key);
  });
  before([&](std::string_view key, std::uint64_t) {
    if (!find(key)->is_there) removed.add(key);
  });
  const std::pair<const SampleChange&, const char*> kinds[] = {
      {added, "added"}, {removed, "removed"}, {changed, "changed"}};
  for (const auto& [change, what] : kinds) {
    if (change.count != 0) changes.push_back(change.text(what));
  }
}

}  // namespace

PlanFacts facts_from(const Json& run) {
  PlanFacts facts;
  if (!run.contains("facts")) return facts;
  for (const auto& [name, value] : run.members("facts")) facts[name] = value.as_text(name);
  return facts;
}

PlanFacts facts_of_options(const PackOptions& options, const std::vector<std::string>& classes) {
  PlanFacts facts;
  const auto set = [&](const char* name, auto value) { facts[name] = fmt::to_string(value); };
  facts["format"] = fmt::format("{}.{}", options.format.format->name, options.format.layout->name);
  for (const auto& [name, value] : options.format_options) facts[name] = printable(value);
  if (options.compress_level) set("compress", *options.compress_level);
  if (options.leaves_out_undecodable()) set("check_images", "on");
  if (options.jpeg_planes) set("jpeg_code", "planes");
  if (options.seek_points) set("seek_points", "on");
  if (!options.sidecars.empty()) facts["sidecars"] = joined(options.sidecars, ",");
  add_edits(describe_edits(options.edits, !options.format.layout->keeps_bytes), facts);
  const ShardSizing& sizing = options.sizing;
  if (sizing.shard_count != 0) {
    set("shard_count", sizing.shard_count);
  } else if (sizing.shard_samples != 0) {
    set("shard_samples", sizing.shard_samples);
  } else {
    set("shard_size", sizing.shard_bytes);
  }
  if (options.shuffle_seed) set("shuffle", *options.shuffle_seed);
  std::string splits;
  for (const Split& split : options.splits) {
    splits += fmt::format("{}{}={}", splits.empty() ? "" : ",", split.name, split.fraction);
  }
  if (!splits.empty()) facts["split"] = splits;
  if (options.stratify) set("stratify", "on");
  if (options.max_samples != 0) set("max_samples", options.max_samples);
  add_classes(classes, facts);
  return facts;
}

PlanFacts facts_of_manifest(const Manifest& manifest, const PackOptions& options, PlanFacts& facts) {
  PlanFacts before{{"name", manifest.name},
                   {"format", fmt::format("{}.{}", manifest.format, manifest.layout)},
                   {"shards", fmt::to_string(manifest.shards.size())},
                   {k_samples, fmt::to_string(manifest.num_samples + manifest.num_skipped)}};
  add_classes(manifest.classes, before);
  PlanFacts edits;  // earlier edits of the images are in the manifest as well
  add_edits(describe_edits(options.edits, !options.format.layout->keeps_bytes), edits);
  PlanFacts edits_before;
  add_edits(manifest.edits, edits_before);
  std::erase_if(edits_before, [&](const auto& edit) { return !edits.contains(edit.first); });
  std::erase_if(facts, [&](const auto& fact) { return !before.contains(fact.first) && !edits.contains(fact.first); });
  std::erase_if(before,
                [&](const auto& fact) { return !facts.contains(fact.first); });  // a Writer's samples are not known
  before.merge(edits_before);
  return before;
}

std::string describe_changes(const PlanFacts& before, const ListSamples& samples_before, const PlanFacts& after,
                             const ListSamples& samples_after) {
  if (before.empty()) return {};
  const bool has_samples = samples_before && samples_after;
  PlanFacts all = after;
  all.insert(before.begin(), before.end());
  std::vector<std::string> changes;
  for (const auto& [name, value] : all) {
    if (has_samples && (name == k_samples || name == "shards")) continue;  // they follow from what else changed
    std::string change = describe_fact(name, before, after);
    if (!change.empty()) changes.push_back(std::move(change));
  }
  if (has_samples) add_sample_changes(samples_before, samples_after, changes);
  if (changes.empty())
    return has_samples ? "the order, sizes or times of the samples, or an option of how shards are written"
                       : std::string{};
  return joined(changes);
}

void refuse_other_plan(const std::string& path, std::string_view what, const std::string& changes,
                       std::string_view hint) {
  throw Error(ErrorCode::exists, fmt::format("{}{}{}", what, changes.empty() ? "" : ": ", changes),
              {.path = path, .hint = std::string(hint)});
}

}  // namespace bale
