#include "bale/writer/stream/logged_source.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/image/image_check.hpp"
#include "bale/formats/shard/sample/key.hpp"

namespace bale {
namespace {

const FieldView* image_of(const SampleView& sample) {
  const auto found = std::find_if(sample.fields.begin(), sample.fields.end(),
                                  [](const FieldView& field) { return is_image_field(field.name); });
  return found == sample.fields.end() ? nullptr : &*found;
}

/// Whether probe_image() knows what the bytes are. Most are JPEGs, which two bytes tell.
bool is_image(Bytes bytes) {
  return as_text(bytes).starts_with("\xFF\xD8") || probe_image(bytes).kind != ImageKind::unknown;
}

}  // namespace

std::string name_of_sample(std::uint64_t number, std::string_view key) {
  return fmt::format("sample {} \"{}\"", number, printable(key));
}

std::string why_image_is_refused(const SampleView& sample) {
  const FieldView* const image = image_of(sample);
  if (image == nullptr || is_image(image->bytes)) return {};
  const std::string_view kind = name_by_signature(image->bytes);
  const std::string what = image->bytes.empty() ? "empty"
                           : kind.empty()       ? "not an image: no known signature"
                                          : fmt::format("not an image that bale packs: {} by its signature", kind);
  return fmt::format("field {}: {}", printable(image->name), what);
}

LoggedSource::LoggedSource(const SampleLog& pending, std::vector<std::string> fields,
                           const std::vector<std::string>& classes)
    : pending_(pending), fields_(std::move(fields)), classes_(classes) {
  for (const std::string& name : pending_.names()) {
    ids_.push_back(static_cast<std::uint32_t>(std::find(fields_.begin(), fields_.end(), name) - fields_.begin()));
  }
}

void LoggedSource::describe(std::uint64_t i, SourceSample& out) const {
  out.key = pending_.key(i);
  out.label = pending_.label(i);
  out.fields.clear();
  for (const SampleLog::Field& field : pending_.fields(i)) out.fields.push_back({ids_[field.name], field.bytes});
  std::sort(out.fields.begin(), out.fields.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
}

SampleView LoggedSource::read(std::uint64_t i, Scratch& scratch) const {
  Bytes rest = pending_.read(i, scratch);
  std::vector<FieldView>& views = scratch.fields();
  views.clear();
  for (const SampleLog::Field& field : pending_.fields(i)) {
    views.push_back({pending_.names()[field.name], rest.first(field.bytes)});
    rest = rest.subspan(field.bytes);
  }
  SampleView sample{.key = pending_.key(i), .label = pending_.label(i), .fields = views};
  const std::string why = why_image_is_refused(sample);
  if (!why.empty()) throw Error(ErrorCode::damaged, why, {.path = origin(i)});
  if (const FieldView* const image = image_of(sample)) {
    const ImageHeader header = probe_image(image->bytes);
    sample.width = header.width;
    sample.height = header.height;
  }
  return sample;
}

std::string LoggedSource::origin(std::uint64_t i) const {
  return name_of_sample(pending_.first() + i, pending_.key(i));
}

}  // namespace bale
