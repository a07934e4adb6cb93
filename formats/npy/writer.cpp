#include "bale/formats/npy/npy.hpp"

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/files/writeback.hpp"
#include "bale/formats/container/writing/uniform_images.hpp"
#include "bale/formats/container/writing/written_fields.hpp"
#include "bale/formats/npy/image_array.hpp"
#include "bale/formats/shard/key.hpp"

namespace bale::npy {
namespace {

/// The header is written last, when the number of images is known. Its length does not depend on that number.
class Writer final : public ShardWriter {
 public:
  explicit Writer(const WriterOptions& options)
      : path_(options.path), images_(options), file_(File::create(options.path)) {}

  void add(const SampleView& sample) override {
    for (const FieldView& field : sample.fields) check_field(sample, field);
    const Image image = images_.decode(sample);
    const auto* const pixels = reinterpret_cast<const std::byte*>(image.rgb.data());
    file_.write_at(end_, Bytes(pixels, image.rgb.size()));
    images_.accept(image);
    end_ += image.rgb.size();
    ++num_images_;
    writeback_.advance(file_.fd(), end_);
  }

  void finish(IndexBuilder& index) override {
    const std::uint64_t shape[] = {num_images_, images_.height(), images_.width(), 3};
    file_.write_at(0, as_bytes(array_header_text("|u1", shape)));
    file_.close();
    set_image_extents(
        path_,
        {.num_images = num_images_, .height = images_.height(), .width = images_.width(), .data_offset = k_data_offset},
        index);
  }

 private:
  static constexpr std::uint64_t k_data_offset = 128;

  void check_field(const SampleView& sample, const FieldView& field) const {
    const auto refuse = [&](std::string_view what) {
      throw Error(ErrorCode::invalid_argument, fmt::format("field \"{}\" {}", printable(field.name), what),
                  {.path = path_, .key = std::string(sample.key), .hint = "choose another format"});
    };
    if (field.name == k_label_field) {
      if (sample.label == k_no_label) refuse("is not a whole number, and labels are kept as numbers");
    } else if (&field != sample.find_image()) {
      refuse("has no place next to an image and a label");
    }
  }

  std::string path_;
  UniformImages images_;
  File file_;
  std::uint64_t num_images_ = 0;
  std::uint64_t end_ = k_data_offset;
  Writeback writeback_{k_data_offset};
};

}  // namespace

std::unique_ptr<ShardWriter> create(const WriterOptions& options) {
  check_format_options(options, {"size"});
  return std::make_unique<Writer>(options);
}

}  // namespace bale::npy
