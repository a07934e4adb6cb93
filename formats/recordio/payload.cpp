#include "bale/formats/recordio/recordio.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/container/reading/file_payload.hpp"
#include "bale/formats/recordio/image_record.hpp"
#include "bale/formats/recordio/place.hpp"

namespace bale::recordio {
namespace {

/// Located columns are plain. In other columns every extent says how to read it.
class PlacePayload final : public FilePayload {
 public:
  PlacePayload(const std::string& path, const ShardIndex& index) : FilePayload(path), index_(index) {}

  void read(std::uint64_t sample, std::uint32_t field, const Extent& extent, MutableBytes out) const override {
    const Place place = Place::unpack(extent.offset);
    if (place.is_plain()) return FilePayload::read(sample, field, extent, out);
    if (!place.is_text) return read_payload(file_, place.offset, place.words, out);
    const std::string text = header_text(place.offset, index_.fields()[field].name);
    if (text.size() != out.size()) {
      throw Error(ErrorCode::damaged, "header and index disagree", {.path = file_.path(), .offset = place.offset});
    }
    std::copy_n(as_bytes(text).begin(), out.size(), out.begin());
  }

  std::optional<FileRange> locate(std::uint64_t, std::uint32_t, const Extent& extent) const override {
    const Place place = Place::unpack(extent.offset);
    if (place.is_text) return FileRange{place.offset, k_part_header_bytes + k_image_header_bytes};
    return FileRange{place.offset, extent.length + place.words * k_word_bytes};
  }

 private:
  std::string header_text(std::uint64_t offset, std::string_view field) const {
    FileWindow window(file_);
    Record record;
    if (!RecordWalk(window, offset).next(record)) return "";
    const IrHeader header = read_header(window, record);
    return field == k_labels_field ? header.labels_text() : header.class_text();
  }

  const ShardIndex& index_;
};

}  // namespace

std::unique_ptr<Payload> open(const std::string& path, const ShardIndex& index) {
  const auto is_located = [](const FieldInfo& field) { return field.located; };
  const bool plain = std::all_of(index.fields().begin(), index.fields().end(), is_located);
  if (plain) return std::make_unique<FilePayload>(path);
  return std::make_unique<PlacePayload>(path, index);
}

}  // namespace bale::recordio
