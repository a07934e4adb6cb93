#include "bale/tools/survey/survey.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/system/cores.hpp"
#include "bale/formats/base/system/threads.hpp"
#include "bale/formats/shard/sample/key.hpp"

namespace bale {
namespace {

constexpr std::uint64_t k_block_samples = 32;

class Pass {
 public:
  Pass(Survey& result, const SurveyOptions& options, Progress& progress)
      : survey_(result), options_(options), progress_(progress) {
    survey_.images.resize(survey_.begins.back());
    if (options.keep_thumbprints) survey_.thumbprints.resize(survey_.images.size());
    survey_.samplings = {std::string()};
  }

  void run(std::size_t part) {
    const Source& source = *survey_.parts[part].source;
    number_classes(part);
    const std::uint64_t blocks = (source.size() + k_block_samples - 1) / k_block_samples;
    const unsigned jobs = options_.jobs != 0 ? options_.jobs : usable_cores();
    run_parallel(blocks, jobs, [&](std::size_t block) {
      const auto range = [&](std::uint64_t number) {
        return std::pair(std::min(number * k_block_samples, source.size()),
                         std::min((number + 1) * k_block_samples, source.size()));
      };
      const auto [next, next_end] = range(block + jobs);
      for (std::uint64_t i = next; i < next_end; ++i) source.will_need(i);
      const auto [begin, end] = range(block);
      Scratch scratch;
      for (std::uint64_t i = begin; i < end; ++i) {
        progress_.throw_if_stopped();
        const std::uint64_t image = survey_.begins[part] + i;
        examine(source, i, scratch, image);
        ++progress_.samples;
      }
    });
  }

 private:
  /// The names of the source's classes in their order, then the labels without a name in theirs.
  void number_classes(std::size_t part) {
    const Source& source = *survey_.parts[part].source;
    std::vector<std::uint32_t> numbers;
    for (const std::string& name : source.classes()) numbers.push_back(number_class(name));
    std::map<std::int64_t, std::uint32_t> unnamed;
    const auto has_name = [&](std::int64_t label) {
      return label >= 0 && static_cast<std::uint64_t>(label) < numbers.size();
    };
    for (std::uint64_t i = 0; i < source.size(); ++i) {
      const std::int64_t label = source.label(i);
      if (label != k_no_label && !has_name(label)) unnamed.emplace(label, 0);
    }
    for (auto& [label, number] : unnamed) number = number_class(fmt::format("{}", label));
    for (std::uint64_t i = 0; i < source.size(); ++i) {
      const std::int64_t label = source.label(i);
      if (label == k_no_label) continue;
      survey_.images[survey_.begins[part] + i].class_number =
          has_name(label) ? numbers[static_cast<std::size_t>(label)] : unnamed.at(label);
    }
  }

  std::uint32_t number_class(const std::string& name) {
    const auto [at, is_new] = class_numbers_.emplace(name, static_cast<std::uint32_t>(survey_.classes.size()));
    if (is_new) survey_.classes.push_back(name);
    return at->second;
  }

  /// The image's own file, which Source::read() refuses if it is not an image. Returns whether there is one that can be
  /// read.
  bool examine_file(const Source& source, std::uint64_t i, std::uint64_t image) {
    const std::vector<SourceFile> files = source.files(i);
    if (files.empty()) return false;
    try {
      const std::string& path = files.front().path;
      const std::vector<std::byte> bytes = read_file(path);
      progress_.bytes += bytes.size();
      keep(examine_image(bytes, field_name(path.substr(path.rfind('.') + 1)), options_.max_pixels), image);
      return true;
    } catch (const Error& error) {
      if (is_lack_of_resources(error)) throw;
      return false;
    }
  }

  void examine(const Source& source, std::uint64_t i, Scratch& scratch, std::uint64_t image) {
    try {
      const SampleView sample = source.read(i, scratch);
      const FieldView* const field = sample.find_image();
      const ExaminedImage examined =
          field == nullptr ? examine_image({}, {}, 0) : examine_image(field->bytes, field->name, options_.max_pixels);
      progress_.bytes += examined.bytes;
      keep(examined, image);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::interrupted || is_lack_of_resources(error)) throw;
      if (!examine_file(source, i, image)) survey_.images[image].remarks.add(Remark::unreadable);
      if (survey_.images[image].remarks.has_corrupt()) note(image, error.message());
    }
    if (survey_.images[image].remarks.has_corrupt()) ++progress_.skipped;
  }

  void keep(const ExaminedImage& examined, std::uint64_t number) {
    SurveyedImage& image = survey_.images[number];
    image.digest = examined.digest;
    image.bytes = examined.bytes;
    image.hash = examined.hash;
    image.width = examined.width;
    image.height = examined.height;
    image.kind = examined.kind;
    image.orientation = examined.orientation;
    image.is_progressive = examined.coding.is_progressive;
    image.is_decoded = examined.is_decoded;
    image.remarks = examined.remarks;
    if (examined.kind == ImageKind::jpeg) image.sampling = number_sampling(sampling_name(examined.coding));
    if (options_.keep_thumbprints) survey_.thumbprints[number] = examined.print;
    if (!examined.why.empty()) note(number, examined.why);
  }

  std::uint8_t number_sampling(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find(survey_.samplings.begin(), survey_.samplings.end(), name);
    const auto number = static_cast<std::uint8_t>(found - survey_.samplings.begin());
    if (found == survey_.samplings.end()) survey_.samplings.push_back(name);
    return number;
  }

  void note(std::uint64_t image, std::string why) {
    const std::lock_guard lock(mutex_);
    survey_.reasons[image] = std::move(why);
  }

  Survey& survey_;
  const SurveyOptions options_;
  Progress& progress_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::uint32_t> class_numbers_;
};

/// Numbers of samplings depend on which thread was first.
void sort_samplings(Survey& survey) {
  std::vector<std::string> sorted = survey.samplings;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::uint8_t> numbers;
  for (const std::string& name : survey.samplings) {
    numbers.push_back(static_cast<std::uint8_t>(std::find(sorted.begin(), sorted.end(), name) - sorted.begin()));
  }
  for (SurveyedImage& image : survey.images) image.sampling = numbers[image.sampling];
  survey.samplings = std::move(sorted);
}

void drop_usual_remarks(Survey& survey) {
  for (const Remark remark : {Remark::gray, Remark::tiny, Remark::cmyk}) {
    const auto has = [&](const SurveyedImage& image) { return image.remarks.has(remark); };
    const auto count = std::count_if(survey.images.begin(), survey.images.end(), has);
    if (static_cast<std::uint64_t>(count) <= survey.images.size() / 2) continue;
    for (SurveyedImage& image : survey.images) image.remarks.remove(remark);
  }
}

}  // namespace

std::size_t Survey::part_of(std::uint64_t image) const {
  return static_cast<std::size_t>(std::upper_bound(begins.begin(), begins.end(), image) - begins.begin()) - 1;
}

std::string Survey::origin(std::uint64_t image) const {
  const std::size_t part = part_of(image);
  return parts[part].source->origin(image - begins[part]);
}

std::string Survey::key(std::uint64_t image) const {
  const std::size_t part = part_of(image);
  SourceSample sample;
  parts[part].source->describe(image - begins[part], sample);
  return sample.key;
}

Survey survey_images(std::vector<SurveyPart> parts, const SurveyOptions& options, Progress& progress) {
  Survey result{.parts = std::move(parts), .begins = {0}};
  for (const SurveyPart& part : result.parts) result.begins.push_back(result.begins.back() + part.source->size());
  progress.total_samples = result.begins.back();
  Pass pass(result, options, progress);
  for (std::size_t part = 0; part < result.parts.size(); ++part) pass.run(part);
  sort_samplings(result);
  drop_usual_remarks(result);
  return result;
}

}  // namespace bale
