#include "bale/writer/request/run_lines.hpp"

#include <algorithm>
#include <map>
#include <string>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/formats/shard/shard_index.hpp"

namespace bale {

std::string skipped_count(std::span<const SkippedSample> skipped) {
  std::uint64_t count = 0;
  for (const SkippedSample& sample : skipped) count += sample.num_samples.value_or(1);
  const bool is_known =
      std::all_of(skipped.begin(), skipped.end(), [](const auto& sample) { return sample.num_samples.has_value(); });
  return fmt::format("{}{}", is_known ? "" : "at least ", plural(count, "sample"));
}

Lines skipped_lines(const std::vector<SkippedSample>& skipped, const OptionNames& options) {
  constexpr std::size_t k_max_listed = 10;
  Lines lines;
  for (std::size_t i = 0; i < std::min(skipped.size(), k_max_listed); ++i) {
    const std::string origin = printable(skipped[i].origin);
    const std::string why = options.shown(printable(skipped[i].why));
    lines.push_back(why.starts_with(origin) ? "skipped " + why : fmt::format("skipped {}: {}", origin, why));
  }
  if (skipped.size() > k_max_listed) {
    lines.push_back(fmt::format("skipped {} more", skipped_count(std::span(skipped).subspan(k_max_listed))));
  }
  return lines;
}

Lines replaced_lines(const PackReport& report) {
  Lines lines;
  for (const PackReport::Replaced& replaced : report.replaced) {
    lines.push_back(fmt::format("replaced the dataset \"{}\" of {} in {}", printable(replaced.name),
                                plural(replaced.num_samples, "sample"), shown_name(replaced.directory)));
  }
  return lines;
}

Lines added_lines(const PackReport& report) {
  if (!report.added) return {};
  const AddedSamples& added = *report.added;
  Lines lines;
  const std::size_t first = report.outputs.front().manifest.classes.size() - added.new_classes.size();
  for (std::size_t n = 0; n < added.new_classes.size(); ++n) {
    lines.push_back(fmt::format("new class {}: {}", first + n, printable(added.new_classes[n])));
  }
  if (added.num_existing != 0) {
    lines.push_back(fmt::format("{} left out that the dataset has", plural(added.num_existing, "sample")));
  }
  lines.push_back(added.version == added.parent
                      ? fmt::format("nothing to add: version {} stays", added.version)
                      : fmt::format("{} added: version {} after {}", plural(report.num_samples, "sample"),
                                    added.version, added.parent));
  return lines;
}

namespace {

struct Counted {
  std::uint64_t total = 0;
  std::string kinds{};  // "3 tiff, 1 unknown"
};

Counted counted(const std::map<std::string, std::uint64_t>& counts) {
  Counted all;
  for (const auto& [kind, count] : counts) {
    all.total += count;
    all.kinds += fmt::format("{}{} {}", all.kinds.empty() ? "" : ", ", human_count(count), kind);
  }
  return all;
}

}  // namespace

Lines planes_lines(const PackReport& report) {
  if (report.jpegs.empty()) return {};
  std::map<std::string, std::uint64_t> others = report.jpegs;
  const auto planes = others.extract(std::string(name_of(Codec::planes)));
  std::string line = fmt::format("{} stored as planes", plural(planes ? planes.mapped() : 0, "JPEG"));
  const Counted stay = counted(others);
  if (stay.total != 0) line += fmt::format("; {} stored unchanged: {}", human_count(stay.total), stay.kinds);
  return {std::move(line)};
}

Lines undecodable_lines(const PackReport& report) {
  const Counted undecodable = counted(report.undecodable);
  if (undecodable.total == 0) return {};
  return {fmt::format("{} packed that bale's loader does not decode: {}", plural(undecodable.total, "image"),
                      undecodable.kinds)};
}

std::string number_list(std::span<const std::uint64_t> numbers, std::string_view range) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (last < i + 2) last = i;
    text += fmt::format("{}{}", text.empty() ? "" : ",", numbers[i]);
    if (last != i) text += fmt::format("{}{}", range, numbers[last]);
    i = last + 1;
  }
  return text;
}

Lines missing_lines(const MergeReport& report, const std::string& source) {
  Lines lines;
  if (report.num_parts != 0) {
    lines.push_back(fmt::format("missing of {} parts: {}", report.num_parts, number_list(report.missing_parts, "-")));
  }
  if (report.missing_shards.empty()) {
    lines.push_back(
        fmt::format("run their programs again: Writer(part=..., parts={}, resume=True) continues", report.num_parts));
    return lines;
  }
  const std::string plan = shown_name(source);
  if (report.num_parts != 0) {
    lines.push_back(fmt::format("Slurm: sbatch --array={} with: bale pack --plan {} --part $SLURM_ARRAY_TASK_ID/{}",
                                number_list(report.missing_parts, "-"), plan, report.num_parts));
  }
  lines.push_back(
      fmt::format("one machine: bale pack --plan {} --shards {}", plan, number_list(report.missing_shards, "..")));
  return lines;
}

}  // namespace bale
