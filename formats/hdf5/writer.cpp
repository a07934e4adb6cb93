#include "bale/formats/hdf5/writer.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "bale_version.hpp"

namespace bale::h5 {

void check_fields(const SampleView& sample, const std::string& path) {
  const auto refuse = [&](const FieldView& field, std::string_view why, std::string hint) {
    throw Error(ErrorCode::invalid_argument, fmt::format("field \"{}\" {}", printable(field.name), why),
                {.path = path, .key = std::string(sample.key), .hint = std::move(hint)});
  };
  for (std::size_t i = 0; i < sample.fields.size(); ++i) {
    const FieldView& field = sample.fields[i];
    if (field.name.empty() || field.name == "." ||
        field.name.find_first_of(std::string_view("/\0", 2)) != field.name.npos) {
      refuse(field, "cannot be the name of a dataset", "rename the file or exclude it");
    }
    if (field.bytes.size() > std::numeric_limits<std::uint32_t>::max())
      refuse(field, "has 4 GiB or more", "exclude it");
    const auto same = [&](const FieldView& other) { return other.name == field.name; };
    if (std::any_of(sample.fields.begin(), sample.fields.begin() + static_cast<std::ptrdiff_t>(i), same)) {
      refuse(field, "occurs twice", "rename one of the files");
    }
  }
}

void check_options(const WriterOptions& options, const std::vector<std::string_view>& known) {
  for (const auto& [name, value] : options.format_options) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("layout {} has no option \"{}\"", options.layout, printable(name)),
                  {.hint = known.empty() ? "it has none" : fmt::format("it has: {}", fmt::join(known, ", "))});
    }
  }
}

void write_common(OutputFile& file, const WriterOptions& options, const std::vector<std::int64_t>& labels) {
  {
    const H5Handle dataset = file.write_table("labels", H5T_STD_I64LE, H5T_NATIVE_INT64, labels.size(), labels.data());
    file.write_attribute(dataset.id(), "no_label", H5T_STD_I64LE, H5T_NATIVE_INT64, &k_no_label);
  }
  if (!options.class_names.empty()) {
    file.write_strings("class_names", {options.class_names.begin(), options.class_names.end()});
  }
  const std::uint64_t num_samples = labels.size();
  file.write_attribute(file.id(), "bale_version", k_version_text);
  file.write_attribute(file.id(), "layout", options.layout);
  file.write_attribute(file.id(), "num_samples", H5T_STD_U64LE, H5T_NATIVE_UINT64, &num_samples);
}

}  // namespace bale::h5
