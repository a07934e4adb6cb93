#include "bale/formats/hdf5/writing/writer.hpp"

#include "bale_version.hpp"

namespace bale::h5 {

void write_keys(OutputFile& file, std::string_view text, const std::vector<std::size_t>& ends) {
  std::vector<std::string_view> keys;
  keys.reserve(ends.size());
  for (std::size_t i = 0, begin = 0; i < ends.size(); begin = ends[i++]) {
    keys.push_back(text.substr(begin, ends[i] - begin));
  }
  file.write_strings("keys", keys);
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
