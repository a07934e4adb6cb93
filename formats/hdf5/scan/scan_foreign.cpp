// Finds the samples of containers from other tools, by common names of datasets (FORMAT.md, "Foreign").
#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/text/human.hpp"
#include "bale/formats/container/reading/scanned_fields.hpp"
#include "bale/formats/hdf5/library/h5.hpp"
#include "bale/formats/hdf5/scan/scan.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/shard/sample.hpp"
#include "bale/formats/shard/sample/key.hpp"

namespace bale::h5 {
namespace {

/// Whether there is one element per row.
bool is_flat(const InputDataset& dataset) { return dataset.dims.size() >= 1 && dataset.count == dataset.dims[0]; }

}  // namespace

std::string field_of_dataset(const InputDataset& dataset) {
  const std::string name = field_name(dataset.name);
  switch (dataset.kind) {
    case ElementKind::integer:
    case ElementKind::real:
      return dataset.dims.empty() || numpy_type(dataset.type.id()).empty() ? std::string()
                                                                           : fmt::format("{}.{}", name, k_array_field);
    case ElementKind::fixed_string:
    case ElementKind::vlen_string:
      return is_flat(dataset) ? name + ".txt" : std::string();
    case ElementKind::vlen_bytes:
      return is_flat(dataset) ? name : std::string();
    case ElementKind::other:
      return {};
  }
  return {};
}

std::optional<InputDataset> find_row_dataset(const InputFile& file, std::string_view field) {
  for (const std::string& name : file.links("/", k_max_links)) {
    // The name excludes most links. Links that cannot be followed are ignored.
    if (!field.starts_with(field_name(name))) continue;
    try {
      auto dataset = file.find(name);
      if (!dataset || is_vlen(*dataset) || field_of_dataset(*dataset) != field) continue;
      return dataset;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::damaged) throw;
    }
  }
  return std::nullopt;
}

namespace {

constexpr std::array<const char*, 6> k_bytes_names{"images", "encoded_images", "image", "imgs", "data", "jpg"};
constexpr std::array<const char*, 5> k_key_names{"keys", "filenames", "names", "paths", "ids"};
// What HDF5's image and dimension-scale rules, netCDF and PyTables write for themselves.
constexpr std::array<std::string_view, 20> k_library_attributes{
    "CLASS",         "DIMENSION_LABELS", "DIMENSION_LIST",          "DISPLAY_ORIGIN", "EXTDIM",        "FILTERS",
    "FLAVOR",        "IMAGE_COLORMODEL", "IMAGE_MINMAXRANGE",       "IMAGE_SUBCLASS", "IMAGE_VERSION", "INTERLACE_MODE",
    "NAME",          "PALETTE",          "PYTABLES_FORMAT_VERSION", "REFERENCE_LIST", "TITLE",         "VERSION",
    "_NCProperties", "_Netcdf4Dimid"};
constexpr std::size_t k_listed_names = 20;
constexpr std::uint64_t k_head_bytes = 512;  // of an image, for its kind

std::optional<InputDataset> find_bytes(const InputFile& file) {
  for (const char* name : k_bytes_names) {
    auto dataset = file.find(name);
    if (dataset && dataset->kind == ElementKind::vlen_bytes) return dataset;
  }
  return std::nullopt;
}

/// The ranges of a string dataset, without the NUL that some writers append to a string.
std::vector<FileRange> locate_strings(const InputFile& file, const InputDataset& dataset) {
  std::vector<FileRange> ranges = locate_vlen(file, dataset);
  const std::vector<std::string> strings = file.read_strings(dataset);
  for (std::size_t i = 0; i < ranges.size(); ++i) ranges[i].length = strings[i].size();
  return ranges;
}

class ForeignScan {
 public:
  ForeignScan(const InputFile& file, IndexBuilder& index) : file_(file), index_(index) {}

  void run() {
    if (const auto bytes = find_bytes(file_)) {
      const std::vector<FileRange> ranges = locate_vlen(file_, *bytes);
      add_samples(ranges.size());
      set_images(ranges, "", "jpg");
      used_.insert(bytes->name);
    } else if (const auto array = find_array(file_)) {
      add_samples(array->dataset.dims[0]);
      set_array_extents(file_, *array, index_);
      used_.insert(array->dataset.name);
    } else {
      refuse();
    }
    add_columns();
  }

 private:
  [[noreturn]] void refuse() const {
    std::string names;
    for (const std::string& name : file_.links("/", k_listed_names)) {
      names += fmt::format("{}{}{}", names.empty() ? "" : ", ", printable(name), type_in_brackets(name));
    }
    file_.unsupported(fmt::format("no dataset of images found among {}", names.empty() ? "nothing" : names),
                      "images are looked for under names such as images, encoded_images, imgs, data");
  }

  std::string type_in_brackets(const std::string& name) const {
    try {
      const auto dataset = file_.find(name);
      return dataset ? fmt::format(" ({})", type_text(dataset->type.id())) : std::string();
    } catch (const Error&) {  // a soft or external link, for example: the name is enough
      return {};
    }
  }

  void add_samples(std::uint64_t num_samples) {
    if (num_samples > file_.size()) file_.damaged("more samples than bytes");
    const ForeignLabels labels = find_labels(file_, num_samples, index_.notices());
    used_.insert(labels.dataset);
    const std::vector<std::string> names = find_names(num_samples);
    ForeignKeys keys;
    for (std::uint64_t i = 0; i < num_samples; ++i) {
      index_.add_sample(keys.take(names.empty() ? std::string() : key_of_file(names[i]), i), labels.numbers[i]);
    }
  }

  std::vector<std::string> find_names(std::uint64_t num_samples) {
    for (const char* name : k_key_names) {
      const auto dataset = file_.find(name);
      if (!dataset || dataset->count != num_samples) continue;
      if (dataset->kind != ElementKind::fixed_string && !is_vlen(*dataset)) continue;
      used_.insert(name);
      return file_.read_strings(*dataset);
    }
    return {};
  }

  void set_ranges(const std::vector<FileRange>& ranges, std::string_view field_name) {
    const std::uint32_t field = index_.add_field(field_name);
    for (std::uint64_t i = 0; i < ranges.size(); ++i) {
      index_.set_extent(i, field, ranges[i].offset, static_cast<std::uint32_t>(ranges[i].length));
    }
  }

  /// Each element under the name of its kind of image, by its first bytes; others, such as damaged ones, under that of
  /// the first element that has bytes, or under `otherwise` if there is none.
  void set_images(const std::vector<FileRange>& ranges, const std::string& prefix, std::string_view otherwise) {
    std::vector<std::string_view> kinds(ranges.size());
    std::string_view first = otherwise;
    bool is_first = true;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      if (ranges[i].length == 0) continue;
      std::array<std::byte, k_head_bytes> room;
      const MutableBytes head = MutableBytes(room).first(std::min(ranges[i].length, k_head_bytes));
      file_.bytes().read_exact(ranges[i].offset, head);
      const ImageKind kind = probe_image(head).kind;
      if (kind != ImageKind::unknown) kinds[i] = image_field_name(kind);
      if (std::exchange(is_first, false)) first = image_field_name(kind);
    }
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      set_scanned_field(index_, i, {.name = prefix + std::string(kinds[i].empty() ? first : kinds[i])},
                        ranges[i].offset, ranges[i].length, {.path = file_.path(), .offset = ranges[i].offset});
    }
  }

  /// Every other dataset becomes a field if it can. Otherwise a notice names it.
  void add_columns() {
    const std::vector<std::string> links = file_.all_links(k_max_links);
    for (const std::string& name : links) {
      if (used_.contains(name)) continue;
      try {
        auto dataset = file_.find(name);
        if (dataset) add_column(std::move(*dataset));
      } catch (const Error& error) {
        const bool is_of_this_dataset = error.code() == ErrorCode::unsupported || error.code() == ErrorCode::damaged ||
                                        error.code() == ErrorCode::invalid_argument;
        if (!is_of_this_dataset) throw;
        index_.notices().add("/" + name, error.message());
      }
    }
    note_attributes(links);
    if (links.size() == k_max_links) {
      index_.notices().warn(fmt::format("more than {} datasets: others were not looked at", k_max_links));
    }
  }

  /// Warns of attributes, such as the names of classes, which are not delivered.
  void note_attributes(const std::vector<std::string>& links) const {
    std::vector<std::string> found;
    const auto look_at = [&](const std::string& object, const std::string& prefix) {
      for (const std::string& name : file_.attributes(object, k_listed_names + k_library_attributes.size())) {
        const auto end = k_library_attributes.end();
        if (std::find(k_library_attributes.begin(), end, name) == end) found.push_back(printable(prefix + name));
      }
    };
    look_at("/", "/");
    for (const std::string& name : links) look_at(name, "/" + name + "/");
    if (found.empty()) return;
    const bool has_more = found.size() > k_listed_names;
    if (has_more) found.resize(k_listed_names);
    index_.notices().warn(fmt::format("attributes that no field has: {}{}; `class_map` can name classes", joined(found),
                                      has_more ? ", ..." : ""));
  }

  void add_column(InputDataset dataset) {
    const std::string name = fmt::format("/{} ({})", dataset.name, type_text(dataset.type.id()));
    const auto leave = [&](std::string_view why) { index_.notices().add(name, why); };
    if (dataset.name.find('/') != std::string::npos) return leave("dataset in a group");
    if (dataset.dims.empty() || dataset.dims[0] != index_.size()) return leave("dataset without one row per image");
    std::string field = field_of_dataset(dataset);
    if (field.empty()) return leave("dataset of a type that cannot be a field");
    if (!dataset.missing_filter.empty()) return leave("dataset with a filter that is not supported");
    if (!fields_.insert(field).second) return leave("dataset name differs from another only in case");
    if (dataset.kind == ElementKind::vlen_bytes) {
      const std::vector<FileRange> ranges = locate_vlen(file_, dataset);
      set_images(ranges, field + ".", "bin");
    } else if (dataset.kind == ElementKind::vlen_string) {
      set_ranges(locate_strings(file_, dataset), field);
    } else if (dataset.kind == ElementKind::fixed_string) {
      set_texts(dataset, field);
    } else {
      set_numbers(std::move(dataset), field);
    }
  }

  void set_texts(const InputDataset& dataset, std::string_view field_name) {
    const std::vector<std::string> texts = file_.read_strings(dataset);
    const std::uint32_t field = index_.add_field(field_name, Codec::none, false);
    for (std::uint64_t i = 0; i < texts.size(); ++i) {
      index_.set_extent(i, field, i, static_cast<std::uint32_t>(texts[i].size()));
    }
  }

  void set_numbers(InputDataset dataset, std::string_view field_name) {
    const auto array = array_of(file_, std::move(dataset));
    if (!array) return;  // impossible: field_of_dataset() has checked the type
    const std::uint32_t field = index_.add_field(field_name, Codec::none, false);
    for (std::uint64_t i = 0; i < index_.size(); ++i) {
      index_.set_extent(i, field, i, static_cast<std::uint32_t>(array->delivered_bytes()));
    }
  }

  const InputFile& file_;
  IndexBuilder& index_;
  std::set<std::string> used_;    // datasets that must not become columns
  std::set<std::string> fields_;  // names of the columns
};

}  // namespace

void scan_foreign(const InputFile& file, IndexBuilder& index) { ForeignScan(file, index).run(); }

}  // namespace bale::h5
