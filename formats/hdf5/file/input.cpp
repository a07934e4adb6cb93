#include "bale/formats/hdf5/file/input.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unordered_map>

#include <fmt/format.h>

#include "bale/formats/base/storage.hpp"
#include "bale/formats/hdf5/file/chunks.hpp"

namespace bale::h5 {
namespace {

// Limit of the total size of rows that were never written and so take no bytes in the file.
constexpr std::uint64_t k_max_unwritten_bytes = 256 << 20;
// A vlen element on disk: length (4 bytes), collection address (8), object index (4) (FORMAT.md, "Vlen").
constexpr std::uint64_t k_reference_bytes = 16;

ElementKind element_kind(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return ElementKind::integer;
    case H5T_FLOAT:
      return ElementKind::real;
    case H5T_STRING:
      return H5Tis_variable_str(type) > 0 ? ElementKind::vlen_string : ElementKind::fixed_string;
    case H5T_VLEN: {
      const H5Handle base(H5Tget_super(type), H5Tclose);
      const bool bytes = base && H5Tget_class(base.id()) == H5T_INTEGER && H5Tget_size(base.id()) == 1;
      return bytes ? ElementKind::vlen_bytes : ElementKind::other;
    }
    case H5T_ENUM: {
      const H5Handle base(H5Tget_super(type), H5Tclose);
      return base && H5Tget_class(base.id()) == H5T_INTEGER ? ElementKind::integer : ElementKind::other;
    }
    default:
      return ElementKind::other;
  }
}

/// The first filter of a pipeline that the library cannot undo, e.g. "blosc (32001)"; empty if it has all.
std::string missing_filter(hid_t creation) {
  const int count = H5Pget_nfilters(creation);
  for (int i = 0; i < count; ++i) {
    unsigned flags = 0;
    unsigned config = 0;
    std::size_t num_values = 0;
    char name[64] = {};
    const H5Z_filter_t filter = H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &num_values, nullptr,
                                               sizeof name - 1, name, &config);
    const bool known = filter >= 0 && H5Zfilter_avail(filter) > 0 && H5Zget_filter_info(filter, &config) >= 0 &&
                       (config & H5Z_FILTER_CONFIG_DECODE_ENABLED) != 0;
    if (known) continue;
    H5Eclear2(H5E_DEFAULT);
    return fmt::format("{} ({})", name[0] == '\0' ? "without a name" : printable(name), filter);
  }
  return {};
}

template <typename Info>
herr_t collect_name(hid_t, const char* name, const Info*, void* out) {
  auto& [names, limit] = *static_cast<std::pair<std::vector<std::string>*, std::size_t>*>(out);
  if (names->size() >= limit) return 1;
  names->emplace_back(name);
  return 0;
}

/// libhdf5 opens local files only. Not open if the file is local itself.
File local_copy(const std::string& path) {
  const Storage* const storage = remote_storage_of(path);
  if (storage == nullptr) return {};
  if (auto copy = storage->cache().local_copy(path)) return std::move(*copy);
  throw Error(ErrorCode::io, "an HDF5 file is read by its library from a local copy, and the cache has no room",
              {.path = path,
               .hint = "give BALE_CACHE_LIMIT more, or make an index with `bale index` and put it next to the file",
               .system_error = ENOSPC,
               .is_of_machine = true});
}

H5Handle open_for_reading(const std::string& path, const std::string& local_path) {
  const H5Handle access = take(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, ErrorCode::io, "make a property list", path);
  H5Pset_fclose_degree(access.id(), H5F_CLOSE_STRONG);
  H5Pset_file_locking(access.id(), false, true);  // published shards never change; some network mounts refuse locks
  return take(H5Fopen(local_path.c_str(), H5F_ACC_RDONLY, access.id()), H5Fclose, ErrorCode::damaged,
              "open as a container", path);
}

}  // namespace

InputFile::InputFile(const std::string& path)
    : bytes_(File::open_read(path)),
      size_(bytes_.size()),
      copy_(local_copy(path)),
      file_(open_for_reading(path, copy_.is_open() ? copy_.path() : path)) {
  const H5Handle creation(H5Fget_create_plist(file_.id()), H5Pclose);
  hsize_t user_block = 0;
  std::size_t address_bytes = 0;
  std::size_t length_bytes = 0;
  if (!creation || H5Pget_userblock(creation.id(), &user_block) < 0 ||
      H5Pget_sizes(creation.id(), &address_bytes, &length_bytes) < 0) {
    throw_h5(ErrorCode::damaged, "read the superblock", path);
  }
  if (address_bytes != 8 || length_bytes != 8) unsupported("addresses are not of 8 bytes", "rewrite it with h5repack");
  user_block_ = user_block;
}

void InputFile::damaged(std::string_view why) const {
  throw Error(ErrorCode::damaged, why, {.path = path(), .hint = "copy or pack it again"});
}

void InputFile::unsupported(std::string_view why, std::string hint) const {
  throw Error(ErrorCode::unsupported, why, {.path = path(), .hint = std::move(hint)});
}

bool InputFile::has_hard_link(const std::string& name) const {
  for (std::size_t end = name.find('/');; end = name.find('/', end + 1)) {
    const std::string prefix = name.substr(0, end);
    const htri_t exists = H5Lexists(file_.id(), prefix.c_str(), H5P_DEFAULT);
    if (exists < 0) throw_h5(ErrorCode::damaged, "look up a name", path());
    if (exists == 0) return false;
    H5L_info_t info{};
    if (H5Lget_info(file_.id(), prefix.c_str(), &info, H5P_DEFAULT) < 0) {
      throw_h5(ErrorCode::damaged, "look up a name", path());
    }
    if (info.type != H5L_TYPE_HARD) {
      unsupported(fmt::format("/{} is a soft or external link", printable(prefix)),
                  "replace it by a copy of its target: in h5py, copy() with expand_soft or expand_external");
    }
    if (end == std::string::npos) return true;
  }
}

std::optional<InputDataset> InputFile::find(const std::string& name) const {
  if (!has_hard_link(name)) return std::nullopt;
  H5Handle id =
      take(H5Oopen(file_.id(), name.c_str(), H5P_DEFAULT), H5Oclose, ErrorCode::damaged, "open an object", path());
  if (H5Iget_type(id.id()) != H5I_DATASET) return std::nullopt;
  return describe(std::move(id), name);
}

InputDataset InputFile::require(const std::string& name) const {
  auto dataset = find(name);
  if (!dataset) damaged(fmt::format("dataset /{} is missing", printable(name)));
  return std::move(*dataset);
}

InputDataset InputFile::describe(H5Handle id, const std::string& name) const {
  InputDataset dataset;
  dataset.name = name;
  const H5Handle creation = take(H5Dget_create_plist(id.id()), H5Pclose, ErrorCode::damaged, "read a dataset", path());
  dataset.layout = H5Pget_layout(creation.id());
  if (dataset.layout == H5D_VIRTUAL || H5Pget_external_count(creation.id()) != 0) {
    unsupported(fmt::format("/{} keeps its data in other files", printable(name)),
                "rewrite it with `h5repack -l CONTI`");
  }
  dataset.type = take(H5Dget_type(id.id()), H5Tclose, ErrorCode::damaged, "read a type", path());
  dataset.kind = element_kind(dataset.type.id());
  if (dataset.layout == H5D_CHUNKED) dataset.missing_filter = missing_filter(creation.id());
  dataset.element_bytes = is_vlen(dataset) ? k_reference_bytes : H5Tget_size(dataset.type.id());

  const H5Handle space = take(H5Dget_space(id.id()), H5Sclose, ErrorCode::damaged, "read a dataspace", path());
  const int rank = H5Sget_simple_extent_ndims(space.id());
  if (rank < 0) throw_h5(ErrorCode::damaged, "read a dataspace", path());
  dataset.dims.resize(static_cast<std::size_t>(rank));
  if (rank > 0 && H5Sget_simple_extent_dims(space.id(), dataset.dims.data(), nullptr) < 0) {
    throw_h5(ErrorCode::damaged, "read a dataspace", path());
  }
  const std::uint64_t stored = std::min<std::uint64_t>(H5Dget_storage_size(id.id()), size_);
  const bool is_sparse = dataset.layout == H5D_CHUNKED || (dataset.layout == H5D_CONTIGUOUS && stored == 0);
  const std::uint64_t limit = is_sparse ? stored * k_max_ratio + k_max_unwritten_bytes : size_;
  std::uint64_t total = std::max<std::uint64_t>(dataset.element_bytes, 1);
  dataset.count = 1;
  for (const hsize_t dim : dataset.dims) {
    dataset.count *= dim;
    if (__builtin_mul_overflow(total, std::uint64_t{dim}, &total)) total = ~std::uint64_t{0};
  }
  if (dataset.count != 0 && total > limit && is_sparse) {
    unsupported(fmt::format("/{} has more than 256 MiB of rows that were never written", printable(name)),
                "leave the dataset out, or write all its rows");
  }
  if (dataset.count != 0 && total > limit) {
    damaged(fmt::format("/{} states more elements than the file holds", printable(name)));
  }
  if (std::find(dataset.dims.begin(), dataset.dims.end(), hsize_t{0}) != dataset.dims.end()) dataset.count = 0;
  dataset.id = std::move(id);
  return dataset;
}

std::vector<std::string> InputFile::links(const std::string& group, std::size_t limit) const {
  std::vector<std::string> names;
  const bool root = group == "/";
  if (!root && !has_hard_link(group)) return names;
  const H5Handle id =
      take(H5Oopen(file_.id(), group.c_str(), H5P_DEFAULT), H5Oclose, ErrorCode::damaged, "open a group", path());
  if (H5Iget_type(id.id()) != H5I_GROUP) return names;
  std::pair<std::vector<std::string>*, std::size_t> out{&names, limit};
  hsize_t at = 0;
  if (H5Literate(id.id(), H5_INDEX_NAME, H5_ITER_INC, &at, collect_name<H5L_info_t>, &out) < 0) {
    throw_h5(ErrorCode::damaged, "list a group", path());
  }
  return names;
}

std::vector<std::string> InputFile::all_links(std::size_t limit) const {
  constexpr std::size_t k_max_depth = 16;  // groups may be linked in a cycle
  std::vector<std::string> found;
  std::vector<std::pair<std::string, std::size_t>> groups{{"/", 0}};
  for (std::size_t next = 0; next < groups.size() && found.size() < limit; ++next) {
    const auto [group, depth] = groups[next];
    for (const std::string& name : links(group, limit - found.size())) {
      const std::string path = group == "/" ? name : group + "/" + name;
      if (is_group(path) && depth < k_max_depth && groups.size() < limit) {
        groups.emplace_back(path, depth + 1);
      } else {
        found.push_back(path);
      }
    }
  }
  return found;
}

bool InputFile::is_group(const std::string& name) const {
  H5L_info_t info{};
  if (H5Lget_info(file_.id(), name.c_str(), &info, H5P_DEFAULT) < 0 || info.type != H5L_TYPE_HARD) return false;
  const H5Handle id(H5Oopen(file_.id(), name.c_str(), H5P_DEFAULT), H5Oclose);
  return id && H5Iget_type(id.id()) == H5I_GROUP;
}

void InputFile::require_filters(const InputDataset& dataset) const {
  if (dataset.missing_filter.empty()) return;
  unsupported(fmt::format("/{}: HDF5 filter {} is not supported", printable(dataset.name), dataset.missing_filter),
              "rewrite it with `h5repack -f GZIP=4`");
}

std::optional<std::string> InputFile::text_attribute(const std::string& object, const char* name) const {
  const H5Handle owner =
      take(H5Oopen(file_.id(), object.c_str(), H5P_DEFAULT), H5Oclose, ErrorCode::damaged, "open an object", path());
  const htri_t exists = H5Aexists(owner.id(), name);
  if (exists < 0) throw_h5(ErrorCode::damaged, "look up an attribute", path());
  if (exists == 0) return std::nullopt;
  const H5Handle attribute =
      take(H5Aopen(owner.id(), name, H5P_DEFAULT), H5Aclose, ErrorCode::damaged, "open an attribute", path());
  const H5Handle type = take(H5Aget_type(attribute.id()), H5Tclose, ErrorCode::damaged, "read a type", path());
  const H5Handle space = take(H5Aget_space(attribute.id()), H5Sclose, ErrorCode::damaged, "read a dataspace", path());
  const std::size_t size = H5Tget_size(type.id());
  if (element_kind(type.id()) != ElementKind::fixed_string || H5Sget_simple_extent_npoints(space.id()) != 1 ||
      size == 0 || size > k_small_bytes) {
    return std::nullopt;
  }
  std::string text(size, '\0');
  if (H5Aread(attribute.id(), type.id(), text.data()) < 0) throw_h5(ErrorCode::damaged, "read an attribute", path());
  return text.substr(0, text.find('\0'));
}

std::vector<std::string> InputFile::attributes(const std::string& object, std::size_t limit) const {
  std::vector<std::string> names;
  H5L_info_t link{};
  const bool is_root = object == "/";
  if (!is_root && (H5Lget_info(file_.id(), object.c_str(), &link, H5P_DEFAULT) < 0 || link.type != H5L_TYPE_HARD)) {
    H5Eclear2(H5E_DEFAULT);
    return names;
  }
  const H5Handle owner(H5Oopen(file_.id(), object.c_str(), H5P_DEFAULT), H5Oclose);
  std::pair<std::vector<std::string>*, std::size_t> out{&names, limit};
  hsize_t at = 0;
  if (!owner || H5Aiterate2(owner.id(), H5_INDEX_NAME, H5_ITER_INC, &at, collect_name<H5A_info_t>, &out) < 0) {
    H5Eclear2(H5E_DEFAULT);
  }
  return names;
}

void InputFile::check_table(const InputDataset& dataset) const {
  require_filters(dataset);
  if (dataset.count * dataset.element_bytes > size_ + k_small_bytes) {
    damaged(fmt::format("/{} is larger than the file", printable(dataset.name)));
  }
}

std::vector<std::int64_t> InputFile::read_integers(const InputDataset& dataset) const {
  if (dataset.kind != ElementKind::integer && dataset.kind != ElementKind::real) {
    unsupported(fmt::format("/{} does not hold numbers", printable(dataset.name)));
  }
  check_table(dataset);
  std::vector<std::int64_t> values(dataset.count);
  if (!values.empty() && H5Dread(dataset.id.id(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0) {
    throw_h5(ErrorCode::damaged, fmt::format("read /{}", printable(dataset.name)), path());
  }
  return values;
}

std::vector<std::uint8_t> InputFile::read_bytes(const InputDataset& dataset) const {
  if (dataset.kind != ElementKind::integer || dataset.element_bytes != 1) {
    damaged(fmt::format("/{} does not hold bytes", printable(dataset.name)));
  }
  check_table(dataset);
  std::vector<std::uint8_t> values(dataset.count);
  if (!values.empty() &&
      H5Dread(dataset.id.id(), dataset.type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0) {
    throw_h5(ErrorCode::damaged, fmt::format("read /{}", printable(dataset.name)), path());
  }
  return values;
}

std::vector<std::string> InputFile::read_fixed_strings(const InputDataset& dataset) const {
  check_table(dataset);
  std::string text(dataset.count * dataset.element_bytes, '\0');
  if (!text.empty() && H5Dread(dataset.id.id(), dataset.type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()) < 0) {
    throw_h5(ErrorCode::damaged, fmt::format("read /{}", printable(dataset.name)), path());
  }
  const H5T_str_t padding = H5Tget_strpad(dataset.type.id());
  std::vector<std::string> strings;
  strings.reserve(dataset.count);
  for (std::uint64_t i = 0; i < dataset.count; ++i) {
    std::string value = text.substr(i * dataset.element_bytes, dataset.element_bytes);
    if (padding == H5T_STR_NULLTERM) value.resize(std::min(value.find('\0'), value.size()));
    value.resize(value.find_last_not_of('\0') + 1);  // a NUL within is a part of the others, as for h5py
    if (padding == H5T_STR_SPACEPAD) value.resize(value.find_last_not_of(' ') + 1);
    strings.push_back(std::move(value));
  }
  return strings;
}

std::vector<std::string> InputFile::read_strings(const InputDataset& dataset) const {
  if (dataset.kind == ElementKind::fixed_string) return read_fixed_strings(dataset);
  std::vector<std::string> strings;
  std::uint64_t total = 0;
  for (const FileRange& range : locate_vlen(*this, dataset)) {
    // References may share an object, but in a valid file the lengths never add up to more than the file.
    total += range.length;
    if (total > size_) damaged(fmt::format("/{}: strings are longer than the file", printable(dataset.name)));
    std::string value(range.length, '\0');
    bytes_.read_exact(range.offset, std::as_writable_bytes(std::span(value)));
    if (dataset.kind == ElementKind::vlen_string) value.resize(std::min(value.find('\0'), value.size()));
    strings.push_back(std::move(value));
  }
  return strings;
}

namespace {

// "HDF5 File Format Specification Version 3.0", III.E Global Heap. A collection is "GCOL", version (1 byte), reserved
// (3), size (8), then objects: index (2), references (2), reserved (4), size (8), data padded to 8 bytes. Object 0 is
// the free space at the end of the collection.
constexpr std::uint64_t k_collection_header_bytes = 16;
constexpr std::uint64_t k_object_header_bytes = 16;
constexpr std::uint64_t k_window_bytes = 4096;  // the library's smallest collection

class GlobalHeap {
 public:
  explicit GlobalHeap(const InputFile& file)
      : file_(file), objects_left_(file.size() / k_object_header_bytes), window_(k_window_bytes) {}

  FileRange locate(std::uint64_t address, std::uint32_t object) {
    auto [entry, is_new] = collections_.try_emplace(address);
    if (is_new) walk(address, entry->second);
    const Objects& objects = entry->second;
    const auto found = std::lower_bound(objects.begin(), objects.end(), object,
                                        [](const Object& a, std::uint32_t index) { return a.index < index; });
    if (found == objects.end() || found->index != object) fail("a reference to no object");
    return found->range;
  }

  [[noreturn]] void fail(std::string_view why) const { file_.damaged(fmt::format("variable-length data: {}", why)); }

 private:
  struct Object {
    std::uint32_t index;
    FileRange range;
  };
  using Objects = std::vector<Object>;

  void walk(std::uint64_t address, Objects& objects) {
    const std::uint64_t base = file_.user_block() + address;
    if (address > file_.size() || base + k_collection_header_bytes > file_.size()) fail("a reference past the end");
    const std::byte* header = bytes_at(base, k_collection_header_bytes);
    if (std::memcmp(header, "GCOL\1", 5) != 0) fail("a reference to no collection");
    const auto size = load_at<std::uint64_t>(header + 8);
    if (size < k_collection_header_bytes || size > file_.size() - base) fail("a collection past the end");
    const std::uint64_t end = base + size;
    for (std::uint64_t at = base + k_collection_header_bytes; at + k_object_header_bytes <= end;) {
      const std::byte* object = bytes_at(at, k_object_header_bytes);
      const auto index = load_at<std::uint16_t>(object);
      const auto bytes = load_at<std::uint64_t>(object + 8);
      if (index == 0) break;
      // Collections do not overlap, so a file cannot have more objects than there is room for headers.
      if (objects_left_-- == 0) fail("overlapping collections");
      const std::uint64_t room = end - at - k_object_header_bytes;
      if (bytes > room) fail("an object longer than its collection");
      objects.push_back({index, {at + k_object_header_bytes, bytes}});
      at += k_object_header_bytes + std::min(room, (bytes + 7) / 8 * 8);
    }
    std::sort(objects.begin(), objects.end(), [](const Object& a, const Object& b) { return a.index < b.index; });
  }

  /// `count` bytes at `offset`, through a window that is read ahead.
  const std::byte* bytes_at(std::uint64_t offset, std::size_t count) {
    if (offset < window_start_ || offset + count > window_start_ + window_filled_) {
      window_start_ = offset;
      window_filled_ = file_.bytes().read_some(offset, window_);
      if (window_filled_ < count) fail("the file ends inside a collection");
    }
    return window_.data() + (offset - window_start_);
  }

  const InputFile& file_;
  std::uint64_t objects_left_;
  std::unordered_map<std::uint64_t, Objects> collections_;
  std::vector<std::byte> window_;
  std::uint64_t window_start_ = 0;
  std::size_t window_filled_ = 0;
};

}  // namespace

std::vector<FileRange> locate_vlen(const InputFile& file, const InputDataset& dataset) {
  if (dataset.kind != ElementKind::vlen_bytes && dataset.kind != ElementKind::vlen_string) {
    file.unsupported(fmt::format("/{} does not hold variable-length bytes", printable(dataset.name)));
  }
  const std::vector<std::byte> references = read_raw_rows(file, dataset);
  GlobalHeap heap(file);
  std::vector<FileRange> ranges;
  ranges.reserve(dataset.count);
  for (std::uint64_t i = 0; i < dataset.count; ++i) {
    const std::byte* reference = references.data() + i * dataset.element_bytes;
    const auto length = load_at<std::uint32_t>(reference);
    const auto address = load_at<std::uint64_t>(reference + 4);
    const auto object = load_at<std::uint32_t>(reference + 12);
    if (length == 0 || address == 0) {
      if (length != 0) heap.fail("a reference without an address");
      ranges.push_back({0, 0});
      continue;
    }
    FileRange range = heap.locate(address, object);
    if (length > range.length) heap.fail("an element longer than its object");
    range.length = length;
    ranges.push_back(range);
  }
  return ranges;
}

}  // namespace bale::h5
