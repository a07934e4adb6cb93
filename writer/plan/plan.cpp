#include "bale/writer/plan/plan.hpp"

#include <strings.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/random.hpp"
#include "bale/formats/base/text/escaped_bytes.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/formats/shard/shard_name.hpp"
#include "bale/reader/version.hpp"
#include "bale/writer/edits/image_edits.hpp"
#include "bale/writer/plan/dataset_files.hpp"
#include "bale/writer/plan/shard_table.hpp"
#include "bale/writer/source/choose/chosen_source.hpp"

namespace bale {
namespace {

using Order = std::vector<std::uint32_t>;

// First parts of the random keys, so that two uses of one seed draw different sequences.
constexpr std::uint64_t k_shuffle_stream = 1;
constexpr std::uint64_t k_split_stream = 2;

constexpr std::uint64_t k_max_shards = 10'000'000;

constexpr std::size_t k_shown_name = 80;  // bytes of a field's name in a message

[[noreturn]] void fail_usage(const std::string& message, std::string hint = {}) {
  throw Error(ErrorCode::invalid_argument, message, {.hint = std::move(hint)});
}

/// Throws unless `name` is a plain file name on any file system and terminal.
void check_name(std::string_view what, const std::string& name) {
  const bool plain = !name.empty() && name.find('/') == std::string::npos && name[0] != '.' && printable(name) == name;
  if (!plain) {
    fail_usage(fmt::format("\"{}\" is not a valid name of a {}", printable(name), what),
               "use letters, digits, - and _");
  }
  constexpr std::size_t k_max_bytes = 220;  // of 255, for numbers and suffixes
  if (name.size() <= k_max_bytes) return;
  fail_usage(fmt::format("the name of the {} has {} bytes, too many for names of files", what, name.size()),
             what == "dataset" ? "choose a shorter one with `name`" : "choose a shorter one");
}

void check_options(const PackOptions& options) {
  if (options.format.format == nullptr || options.format.layout == nullptr) {
    fail_usage("no format", "leave `format` as it is, or set it by find_format()");
  }
  if (options.on_error > OnError::quarantine) fail_usage("on_error is none of OnError");
  if (options.mode > DestinationMode::overwrite) fail_usage("mode is none of DestinationMode");
  if ((options.compress_level || options.jpeg_planes) && !options.format.layout->compresses_fields) {
    const std::string_view name = options.format.layout->name;
    if (options.compress_level) {
      fail_usage(fmt::format("layout {} has no room for compressed fields", name), "leave `compress` out");
    }
    fail_usage(fmt::format("layout {} has no room for JPEGs as planes", name), "leave `jpeg_code` out");
  }
  if (options.jpeg_planes && options.seek_points) {
    fail_usage("seek points are for Huffman codes, which planes do not have", "leave `seek_points` or `jpeg_code` out");
  }
  check_edits(options.edits);
  check_sidecars(options.format, options.sidecars);
  if ((options.seek_points || options.edits.jpeg_lossless) && !options.format.layout->keeps_bytes) {
    fail_usage(fmt::format("layout {} keeps pixels, not files", options.format.layout->name),
               fmt::format("leave {} out", options.seek_points ? "`seek_points`" : "`jpeg_lossless`"));
  }
  double sum = 0;
  for (const Split& split : options.splits) {
    if (!(split.fraction > 0)) fail_usage(fmt::format("split {} has no positive fraction", split.name));
    sum += split.fraction;
    for (const Split& other : options.splits) {
      if (&other == &split || ::strcasecmp(other.name.c_str(), split.name.c_str()) != 0) continue;
      if (other.name == split.name) fail_usage(fmt::format("split {} is given twice", split.name));
      fail_usage(fmt::format("splits {} and {} differ only by case", other.name, split.name),
                 "not every file system distinguishes such directories");
    }
  }
  if (!options.splits.empty() && std::abs(sum - 1) > 1e-6) {
    fail_usage(fmt::format("split fractions add up to {}, not to 1", sum), "for example `split` train=0.95,val=0.05");
  }
  if (options.stratify && options.splits.empty()) fail_usage("`stratify` without `split`");
}

/// Divides `count` items by the splits' fractions. The sizes add up to `count`; each is within one of its exact share.
std::vector<std::uint64_t> cut(std::uint64_t count, const std::vector<Split>& splits) {
  std::vector<std::uint64_t> sizes;
  double fraction = 0;
  std::uint64_t used = 0;
  for (std::size_t s = 0; s < splits.size(); ++s) {
    fraction += splits[s].fraction;
    const bool last = s + 1 == splits.size();
    const auto end =
        last ? count : std::min(count, static_cast<std::uint64_t>(std::llround(fraction * static_cast<double>(count))));
    sizes.push_back(end - used);
    used = end;
  }
  return sizes;
}

/// Draws the members of every split. Each split keeps the given order.
std::vector<Order> split_order(const Source& source, const PackOptions& options, const Order& order) {
  std::map<std::int64_t, Order> groups;  // positions in `order`, by class or in one group
  for (std::uint32_t at = 0; at < order.size(); ++at) {
    groups[options.stratify ? source.label(order[at]) : 0].push_back(at);
  }
  std::vector<std::uint16_t> member(order.size());
  for (auto& [label, positions] : groups) {
    KeyedRandom random{k_split_stream, options.shuffle_seed.value_or(0), static_cast<std::uint64_t>(label)};
    random.shuffle(positions);
    const std::vector<std::uint64_t> sizes = cut(positions.size(), options.splits);
    std::uint64_t at = 0;
    for (std::size_t s = 0; s < sizes.size(); ++s) {
      for (const std::uint64_t end = at + sizes[s]; at < end; ++at)
        member[positions[at]] = static_cast<std::uint16_t>(s);
    }
  }
  std::vector<Order> result(options.splits.size());
  for (std::uint32_t at = 0; at < order.size(); ++at) result[member[at]].push_back(order[at]);
  return result;
}

std::uint64_t payload_bytes(const Source& source, std::uint32_t sample, SourceSample& scratch) {
  source.describe(sample, scratch);
  return scratch.total_bytes();
}

void cut_into_shards(const Source& source, const PackOptions& options, PlannedDataset& dataset, std::uint64_t first) {
  const std::uint64_t count = dataset.order.size();
  std::vector<std::uint64_t> ends;  // where each shard ends, if shards are cut by count
  if (options.sizing.shard_count != 0) {
    const std::uint64_t shards = std::min(options.sizing.shard_count, count);
    for (std::uint64_t s = 1; s <= shards; ++s) ends.push_back(s * count / shards);
  } else if (options.sizing.shard_samples != 0) {
    for (std::uint64_t end = options.sizing.shard_samples; end < count; end += options.sizing.shard_samples)
      ends.push_back(end);
    ends.push_back(count);
  }
  SourceSample scratch;
  PlannedShard shard;
  const auto close = [&](std::uint64_t end) {
    shard.end = end;
    dataset.shards.push_back(shard);
    shard = {.file = {}, .begin = end};
  };
  for (std::uint64_t at = 0; at < count; ++at) {
    const std::uint64_t bytes = payload_bytes(source, dataset.order[at], scratch);
    if (ends.empty() && at > shard.begin && shard.bytes + bytes > options.sizing.shard_bytes) close(at);
    shard.bytes += bytes;
    if (!ends.empty() && at + 1 == ends[dataset.shards.size()]) close(at + 1);
  }
  if (shard.begin < count) close(count);
  for (std::size_t number = 0; number < dataset.shards.size(); ++number) {
    dataset.shards[number].file =
        shard_file_name(*options.format.layout, dataset.name, first + number, dataset.shards.size());
  }
}

/// Throws, before anything is written, if the layout cannot hold all fields of the source.
void require_room_for_fields(const Source& source, const PackOptions& options) {
  for (const std::string& field : source.fields()) require_room_for_field(options, field);
}

std::string fingerprint_of(const Source& source, const PackOptions& options, const Plan& plan) {
  DigestStream stream;
  std::string text = fingerprint_of_options("plan", options, source.classes());
  for (const PlannedDataset& dataset : plan.datasets) {
    text += fmt::format("dataset {}/{}\n", dataset.subdirectory, dataset.name);
    for (const PlannedShard& shard : dataset.shards) {
      text += fmt::format("shard {}\n", shard.file);
      for (std::uint64_t at = shard.begin; at < shard.end; ++at) {
        source.fingerprint(dataset.order[at], text);
        if (text.size() > (std::size_t{64} << 10)) {
          stream.update(as_bytes(text));
          text.clear();
        }
      }
    }
  }
  stream.update(as_bytes(text));
  return digest_text(stream.digest());
}

/// Completes a plan whose datasets are known.
void add_facts(const PackOptions& options, const std::vector<std::string>& classes, Plan& plan) {
  plan.facts = facts_of_options(options, classes);
  if (plan.datasets.size() == 1) plan.facts["name"] = plan.datasets.front().name;
  if (plan.open) return;
  std::uint64_t num_shards = 0;
  for (const PlannedDataset& dataset : plan.datasets) num_shards += dataset.shards.size();
  plan.facts["samples"] = fmt::to_string(plan.num_samples);
  plan.facts["shards"] = fmt::to_string(num_shards);
}

}  // namespace

std::string purged_by(std::string_view id) {
  return fmt::format("purged: samples of it were removed on purpose, and version {} is without them", id);
}

std::uint64_t next_shard_number(const PackOptions& options, const Manifest& manifest) {
  std::set<std::string> names;
  for (const ManifestShard& shard : manifest.shards) names.insert(shard.file);
  for (const std::string& id : replaced_versions(options.destination)) {
    const std::string path = join_path(options.destination, kept_version(id));
    for (const ManifestShard& shard : load_manifest(path).shards) names.insert(shard.file);
  }
  std::uint64_t number = 0;
  while (!names.empty() && number < k_max_shards) {
    names.erase(shard_file_name(*options.format.layout, manifest.name, number++, 0));
  }
  if (!names.empty())
    fail_usage(fmt::format("the shard {} is not named as bale names shards", printable(*names.begin())));
  return std::max(number, manifest.next_shard);
}

ListSamples samples_of(const Source& source, const Plan& plan) {
  return [&source, &plan](const SampleVisitor& visit) {
    SourceSample sample;
    std::string text;
    for (const PlannedDataset& dataset : plan.datasets) {
      for (const std::uint32_t number : dataset.order) {
        text.clear();
        source.fingerprint(number, text);
        source.describe(number, sample);
        visit(sample.key, hash_key(text));
      }
    }
  };
}

void note_sizing(const PackOptions& options, const Plan& plan) {
  const ShardSizing& sizing = options.sizing;
  std::uint64_t num_shards = 0;
  for (const PlannedDataset& dataset : plan.datasets) num_shards += dataset.shards.size();
  const bool is_by_bytes = sizing.shard_count == 0 && sizing.shard_samples == 0;
  if (!is_by_bytes || num_shards <= plan.datasets.size() || 2 * num_shards <= plan.num_samples) return;
  if (!options.on_warning) return;
  options.on_warning(
      fmt::format("a `shard_size` of {} bytes makes {} shards of {} samples: choose a larger one, such as 256MiB",
                  sizing.shard_bytes, num_shards, plan.num_samples));
}

std::string dataset_name(const PackOptions& options) {
  std::string name = options.name.empty() ? options.default_name : options.name;
  if (name.empty()) name = base_name(options.destination);
  check_name("dataset", name);
  return name;
}

std::string fingerprint_of_options(std::string_view kind, const PackOptions& options,
                                   const std::vector<std::string>& classes) {
  std::string text =
      fmt::format("bale {} 1\n{}\n{}\n{}\n", kind, options.format.format->name, options.format.layout->name,
                  options.compress_level ? fmt::to_string(*options.compress_level) : "none");
  if (options.leaves_out_undecodable()) text += "undecodable images are left out\n";
  if (options.jpeg_planes) text += "jpeg planes 1\n";
  if (options.seek_points) text += "entry points\n";  // the name in 0.1.0, whose runs can be resumed
  for (const auto& [name, value] : options.format_options) text += fmt::format("option {}={}\n", name, value);
  for (const std::string& name : options.sidecars) text += fmt::format("sidecar {}\n", name);
  for (const auto& [name, value] : describe_edits(options.edits, !options.format.layout->keeps_bytes)) {
    text += fmt::format("edit {}={}\n", name, value);
  }
  text += fingerprint_of_stored(options);
  for (const std::string& name : classes) text += fmt::format("class {}:{}\n", name.size(), name);
  return text;
}

Codec codec_of_field(const PackOptions& options, std::string_view field) {
  const Layout& layout = *options.format.layout;
  if (!layout.compresses_fields || field == k_label_field || field.empty()) return Codec::none;
  if (options.jpeg_planes && is_jpeg_field(field)) return Codec::planes;
  if (is_image_field(field)) return Codec::none;
  return options.compress_level ? Codec::zstd : least_codec(options.format.format->field_rule, field);
}

void require_room_for_field(const PackOptions& options, const std::string& field) {
  const Layout& layout = *options.format.layout;
  const FieldInfo stored{.name = field, .codec = codec_of_field(options, field)};
  if (const std::string why = why_field_is_refused(options.format.format->field_rule, stored); !why.empty()) {
    fail_usage(fmt::format("format {}.{} cannot hold a field of the name \"{}\": {}", options.format.format->name,
                           layout.name, excerpt(printable(field), k_shown_name), why),
               "choose another `format`, or rename the field in the source");
  }
  if (layout.keeps_all_fields) return;
  // Samples may have different names for their image. A sample with two images is detected when it is read.
  if (field == k_label_field || is_image_field(field) || field == k_array_field) return;
  fail_usage(fmt::format("format {} holds one image and one label per sample, the source has a field \"{}\" as well",
                         options.format.format->name, printable(field)),
             "choose another `format`, or leave the field out of the source");
}

Plan make_open_plan(const PackOptions& options, const std::vector<std::string>& classes) {
  check_options(options);
  const auto refuse = [](const char* option) {
    fail_usage(fmt::format("{} needs all samples beforehand, and a Writer gets them one by one", option),
               "leave it out, and run `bale convert` on the result");
  };
  if (options.sizing.shard_count != 0) refuse("`shard_count`");
  if (options.shuffle_seed) refuse("`shuffle`");
  if (!options.splits.empty()) refuse("`split`");
  if (options.max_samples != 0) refuse("`max_samples`");
  if (options.on_error == OnError::quarantine) {
    fail_usage("a Writer has no files to put into quarantine", "choose `on_error` fail or skip");
  }
  Plan plan{.open = true};
  plan.datasets.push_back({.name = dataset_name(options), .subdirectory = {}, .order = {}, .shards = {}});
  DigestStream stream;
  stream.update(as_bytes(fingerprint_of_options("writer", options, classes)));
  stream.update(as_bytes(fmt::format("dataset {}\nshards of {} bytes or {} samples\n", plan.datasets[0].name,
                                     options.sizing.shard_bytes, options.sizing.shard_samples)));
  plan.fingerprint = digest_text(stream.digest());
  add_facts(options, classes, plan);
  return plan;
}

Plan make_plan(const Source& source, const PackOptions& options) { return make_plan(source, options, nullptr); }

Plan make_plan(const Source& source, const PackOptions& options, std::shared_ptr<const BaseVersion> base) {
  check_options(options);
  require_room_for_fields(source, options);
  if (source.size() == 0) fail_usage("nothing to pack: the source has no samples");
  if (source.size() > std::numeric_limits<std::uint32_t>::max()) fail_usage("more than 4,294,967,295 samples");
  require_unique_keys(source);

  Order order(source.size());
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  if (options.shuffle_seed) {
    KeyedRandom random{k_shuffle_stream, *options.shuffle_seed};
    random.shuffle(order);
  }
  if (options.max_samples != 0 && options.max_samples < order.size()) order.resize(options.max_samples);

  Plan plan;
  plan.num_samples = order.size();
  if (options.splits.empty()) {
    plan.datasets.push_back(
        {.name = dataset_name(options), .subdirectory = {}, .order = std::move(order), .shards = {}});
  } else {
    std::vector<Order> orders = split_order(source, options, order);
    for (std::size_t s = 0; s < orders.size(); ++s) {
      const std::string& name = options.splits[s].name;
      if (orders[s].empty()) fail_usage(fmt::format("split {} would be empty", name), "give it a larger fraction");
      check_name("split", name);
      plan.datasets.push_back({.name = name, .subdirectory = name, .order = std::move(orders[s]), .shards = {}});
    }
  }
  for (PlannedDataset& dataset : plan.datasets) {
    const std::uint64_t first = base ? next_shard_number(options, base->manifest) : 0;
    cut_into_shards(source, options, dataset, first);
    plan.next_shard = first + dataset.shards.size();
    for (const PlannedShard& shard : dataset.shards) plan.num_bytes += shard.bytes;
  }
  plan.fingerprint = fingerprint_of(source, options, plan);
  add_facts(options, source.classes(), plan);
  if (base) {
    DigestStream stream;
    stream.update(as_bytes(fmt::format("{}\nadded to {}\n", plan.fingerprint, base->id)));
    plan.fingerprint = digest_text(stream.digest());
    plan.facts["version"] = base->id;
    plan.base = std::move(base);
  }
  return plan;
}

}  // namespace bale
