// A source of which a condition selects samples.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/system/parallel.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/reader/where.hpp"
#include "bale/writer/source/choose/chosen_source.hpp"
#include "bale/writer/source/source.hpp"

namespace bale {
namespace {

/// What is known of a sample that is not packed. Returns false if it cannot be read: packing will report why.
bool examine(const Source& source, const Where& where, std::uint64_t i, SampleFacts& out) {
  SourceSample described;
  source.describe(i, described);
  out = {.key = described.key, .index = i};
  if (described.label != k_no_label) out.label = described.label;
  const auto& classes = source.classes();
  if (out.label && *out.label >= 0 && static_cast<std::uint64_t>(*out.label) < classes.size()) {
    out.class_name = classes[static_cast<std::size_t>(*out.label)];
  }
  for (const SourceSample::Field& field : described.fields) {
    const std::string& name = source.fields()[field.id];
    if (!is_image_field(name) && name != k_array_field) continue;
    out.format = name;
    out.bytes = field.bytes;
    break;
  }
  if (!where.needs_image_size()) return true;
  try {
    Scratch scratch;
    const SampleView sample = source.read(i, scratch);
    if (sample.width != 0 && sample.height != 0) {
      out.width = sample.width;
      out.height = sample.height;
    }
    return true;
  } catch (const Error& error) {
    if (is_lack_of_resources(error)) throw;
    return false;
  }
}

enum class Choice : std::uint8_t { left_out, unknown, taken };

Choice choose(const Source& source, const Where& where, std::uint64_t i, SampleFacts& facts) {
  if (!source.facts(i, facts) && !examine(source, where, i, facts)) return Choice::taken;
  const Truth result = where.test(facts);
  if (result == Truth::yes) return Choice::taken;
  return result == Truth::no ? Choice::left_out : Choice::unknown;
}

}  // namespace

std::unique_ptr<Source> filter_source(std::unique_ptr<Source> source, const Where& where, unsigned jobs,
                                      WhereCounts& counts) {
  SampleFacts first;
  if (where.takes_all() || source->size() == 0) return source;
  if (where.needs_shard() && !source->facts(0, first)) {
    throw Error(ErrorCode::invalid_argument, "`where` names the shard, which only samples of a packed dataset have",
                {.hint = "leave shard out of the condition"});
  }
  const bool is_packed = where.needs_fields() && source->facts(0, first);
  where.require_fields(is_packed ? source->fields() : std::vector<std::string>());
  constexpr std::uint64_t k_block = 256;  // samples that one thread examines at a time
  std::vector<Choice> choices(source->size());
  run_parallel((choices.size() + k_block - 1) / k_block, jobs, [&](std::size_t block) {
    SampleFacts facts;
    const std::uint64_t begin = block * k_block;
    const std::uint64_t end = std::min<std::uint64_t>(begin + k_block, choices.size());
    for (std::uint64_t i = begin; i < end; ++i) choices[i] = choose(*source, where, i, facts);
  });
  std::vector<std::uint64_t> chosen;
  for (std::uint64_t i = 0; i < choices.size(); ++i) {
    if (choices[i] == Choice::taken) chosen.push_back(i);
    if (choices[i] == Choice::unknown) ++counts.num_unknown;
  }
  counts.num_samples += choices.size();
  counts.num_left_out += choices.size() - chosen.size();
  if (chosen.empty()) {
    throw Error(
        ErrorCode::invalid_argument, fmt::format("`where` selects none of {} samples", choices.size()),
        {.hint = counts.num_unknown == 0 ? "loosen the condition" : "comparisons with unknown values match nothing"});
  }
  return choose_samples(std::move(source), std::move(chosen));
}

}  // namespace bale
