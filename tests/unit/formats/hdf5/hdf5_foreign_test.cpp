// HDF5 containers of other makers, made here with the library itself; and those that must be refused.
#include <hdf5.h>

#include <array>

#include "bale/formats/hdf5/library/lzf.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/support/temp_dir.hpp"
#include "bale/tests/unit/formats/hdf5/hdf5_support.hpp"

using namespace bale;
using namespace bale::test;

namespace {

using Dims = std::vector<hsize_t>;

/// A file under construction; every handle is closed with it.
class Maker {
 public:
  explicit Maker(const std::string& path, hsize_t user_block = 0) {
    const hid_t creation = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_userblock(creation, user_block);
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST);
    file_ = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation, access);
    H5Pclose(access);
    H5Pclose(creation);
    REQUIRE(file_ >= 0);
  }
  ~Maker() { H5Fclose(file_); }
  Maker(const Maker&) = delete;
  Maker& operator=(const Maker&) = delete;

  hid_t id() const { return file_; }

  void write(const char* name, hid_t type, const Dims& dims, const void* data, const Dims& chunk = {},
             const std::vector<H5Z_filter_t>& filters = {}) {
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    if (!chunk.empty()) H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data());
    if (unfiltered_edges) H5Pset_chunk_opts(creation, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS);
    for (const H5Z_filter_t filter : filters) {
      if (filter == H5Z_FILTER_DEFLATE) H5Pset_deflate(creation, 6);
      if (filter == H5Z_FILTER_SHUFFLE) H5Pset_shuffle(creation);
      if (filter == H5Z_FILTER_FLETCHER32) H5Pset_fletcher32(creation);
    }
    const hid_t space = H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr);
    const hid_t dataset = H5Dcreate2(file_, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    REQUIRE(dataset >= 0);
    if (data != nullptr) REQUIRE(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  }

  bool unfiltered_edges = false;  // chunks that reach beyond the end are stored as they are

  void write_vlen(const char* name, const std::vector<std::string>& rows, const Dims& chunk = {},
                  const std::vector<H5Z_filter_t>& filters = {}) {
    std::vector<hvl_t> cells;
    for (const std::string& row : rows) cells.push_back({row.size(), const_cast<char*>(row.data())});
    write(name, H5Tvlen_create(H5T_STD_U8LE), {rows.size()}, cells.data(), chunk, filters);
  }

  void write_names(const char* name, const std::vector<std::string>& rows, std::size_t width) {
    std::string cells;
    for (std::string row : rows) {
      row.resize(width, '\0');
      cells += row;
    }
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, width);
    H5Tset_strpad(type, H5T_STR_NULLPAD);
    write(name, type, {rows.size(), 1}, cells.data());
  }

 private:
  hid_t file_;
};

template <typename T>
std::vector<T> ramp(std::size_t count) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<T>(i * 7 % 251);
  return values;
}

/// Each delivered .npy is a header that states `shape` and the rows of `data` in order.
template <typename T>
void check_rows(const std::string& path, const std::vector<T>& data, std::size_t rows, const std::string& shape) {
  const std::vector<OwnedSample> read = read_all(path, scan(path));
  REQUIRE(read.size() == rows);
  const std::size_t row_bytes = data.size() / rows * sizeof(T);
  for (std::size_t i = 0; i < rows; ++i) {
    const std::string& npy = read[i].at("npy");
    REQUIRE(npy.size() == 128 + row_bytes);
    CHECK_THAT(npy.substr(0, 128), ContainsSubstring(shape));
    CHECK(npy.substr(128) == std::string(reinterpret_cast<const char*>(data.data()) + i * row_bytes, row_bytes));
  }
}

const std::string k_jpeg_head = "\xff\xd8\xff\xe0 not decoded here ";

}  // namespace

TEST_CASE_METHOD(InTempDir, "Fuel's ILSVRC2012: vlen images, short int16 targets, fixed names") {
  const std::string path = dir / "ilsvrc2012.hdf5";
  const std::vector<std::string> images{k_jpeg_head + random_bytes(9000, 1), k_jpeg_head,
                                        k_jpeg_head + random_bytes(70, 2)};
  {
    Maker maker(path, GENERATE(0, 512));
    maker.write_vlen("encoded_images", images);
    const std::array<std::int16_t, 2> targets{7, 999};
    maker.write("targets", H5T_STD_I16LE, {2, 1}, targets.data());
    maker.write_names("filenames", {"n01440764_10026.JPEG", "ILSVRC2012_val_00000001.JPEG", "n01440764_10026.JPEG"},
                      32);
  }
  const std::vector<OwnedSample> read = read_all(path, scan(path));
  CHECK(read == std::vector<OwnedSample>{{"n01440764_10026", 7, {{"jpg", images[0]}}},
                                         {"ILSVRC2012_val_00000001", 999, {{"jpg", images[1]}}},
                                         {"n01440764_10026-00000002", k_no_label, {{"jpg", images[2]}}}});
}

TEST_CASE_METHOD(InHdf5Path, "vlen images of several kinds, and one that is none") {
  const std::vector<std::string> images{png_of(random_image(3, 2, 1)), "\xff\xd8\xff\xe0 of a JPEG", "damaged", ""};
  {
    Maker maker(path);
    maker.write_vlen("images", images);
    maker.write_vlen("masks", {"none", images[0], images[1], ""});
  }
  const ShardIndex index = scan(path);
  CHECK(index.fields().size() == 5);
  const std::vector<OwnedSample> read = read_all(path, index);
  REQUIRE(read.size() == images.size());
  const std::array<const char*, 4> names{"png", "jpg", "png", "png"};
  const std::array<const char*, 4> masks{"masks.bin", "masks.png", "masks.jpg", "masks.bin"};
  for (std::size_t i = 0; i < images.size(); ++i) {
    CHECK(read[i].fields.size() == 2);
    CHECK(read[i].at(names[i]) == images[i]);
    CHECK(read[i].at(masks[i]) == (i == 0 ? "none" : i == 3 ? "" : images[i - 1]));
  }
}

TEST_CASE_METHOD(InHdf5Path, "vlen images in filtered chunks, with numbers for keys") {
  std::vector<std::string> images;
  for (std::uint32_t i = 0; i < 100; ++i) images.push_back(png_of(random_image(1 + i % 3, 2, i)));
  std::vector<std::int32_t> labels = ramp<std::int32_t>(100);
  {
    Maker maker(path);
    maker.write_vlen("images", images, {16}, {H5Z_FILTER_SHUFFLE, H5Z_FILTER_DEFLATE});
    maker.write("labels", H5T_STD_I32BE, {100}, nullptr);
    const hid_t dataset = H5Dopen2(maker.id(), "labels", H5P_DEFAULT);
    REQUIRE(H5Dwrite(dataset, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, labels.data()) >= 0);
  }
  const ShardIndex index = scan(path);
  CHECK(index.fields()[0].located);
  const std::vector<OwnedSample> read = read_all(path, index);
  REQUIRE(read.size() == images.size());
  for (std::size_t i = 0; i < images.size(); ++i) CHECK(read[i].at("png") == images[i]);
  CHECK(read[42].key == "00000042");
  CHECK(read[42].label == 42 * 7 % 251);
}

TEST_CASE_METHOD(InHdf5Path, "arrays in every storage: chunks of rows, contiguous, chunks that cut rows") {
  const auto bytes = ramp<std::uint8_t>(10 * 3 * 8 * 6);
  const auto labels = ramp<std::int64_t>(10);
  SECTION("BigGAN: imgs in deflated chunks of four") {
    Maker maker(path);
    maker.write("imgs", H5T_STD_U8LE, {10, 3, 8, 6}, bytes.data(), {4, 3, 8, 6}, {H5Z_FILTER_DEFLATE});
    maker.write("labels", H5T_STD_I64LE, {10}, labels.data());
  }
  SECTION("contiguous, behind a user block") {
    Maker maker(path, 512);
    maker.write("images", H5T_STD_U8LE, {10, 3, 8, 6}, bytes.data());
    maker.write("targets", H5T_STD_I64LE, {10}, labels.data());
  }
  SECTION("chunks that cut images") {
    Maker maker(path);
    maker.write("images", H5T_STD_U8LE, {10, 3, 8, 6}, bytes.data(), {2, 3, 4, 6}, {H5Z_FILTER_DEFLATE});
    maker.write("y", H5T_STD_I64LE, {10, 1, 1}, labels.data());
  }
  SECTION("the last chunk is not whole, and not compressed") {
    Maker maker(path);
    maker.unfiltered_edges = true;
    maker.write("imgs", H5T_STD_U8LE, {10, 3, 8, 6}, bytes.data(), {4, 3, 8, 6},
                {H5Z_FILTER_SHUFFLE, H5Z_FILTER_DEFLATE});
    maker.write("labels", H5T_STD_I64LE, {10}, labels.data(), {3}, {H5Z_FILTER_SHUFFLE, H5Z_FILTER_DEFLATE});
  }
  SECTION("plain chunks with checksums") {
    Maker maker(path);
    maker.write("x", H5T_STD_U8LE, {10, 3, 8, 6}, bytes.data(), {1, 3, 8, 6}, {H5Z_FILTER_FLETCHER32});
    maker.write("y", H5T_STD_I64LE, {10}, labels.data());
  }
  check_rows(path, bytes, 10, "'shape': (3, 8, 6), ");
  const ShardIndex index = scan(path);
  CHECK(index.label(9) == labels[9]);
  CHECK(index.width(0) == 6);
  CHECK(index.height(0) == 8);
}

TEST_CASE_METHOD(InHdf5Path, "Caffe: float data and float labels") {
  const auto data = ramp<float>(4 * 1 * 5 * 5);
  const std::array<float, 4> labels{3, 1, 4, 1};
  {
    Maker maker(path);
    maker.write("data", H5T_IEEE_F32LE, {4, 1, 5, 5}, data.data());
    maker.write("label", H5T_IEEE_F32LE, {4}, labels.data());
  }
  check_rows(path, data, 4, "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 5, 5), }");
  CHECK(scan(path).label(2) == 4);
}

TEST_CASE_METHOD(InHdf5Path, "nothing outside the file is ever read") {
  const auto bytes = ramp<std::uint8_t>(100);
  {
    Maker other(dir / "other.h5");
    other.write("images", H5T_STD_U8LE, {10, 10}, bytes.data());
  }
  File::create(dir / "raw").write_at(0, std::as_bytes(std::span(bytes)));
  const Dims dims{10, 10};
  SECTION("external link") {
    Maker maker(path);
    H5Lcreate_external("other.h5", "/images", maker.id(), "images", H5P_DEFAULT, H5P_DEFAULT);
  }
  SECTION("soft link") {
    Maker maker(path);
    maker.write("hidden", H5T_STD_U8LE, dims, bytes.data());
    H5Lcreate_soft("/hidden", maker.id(), "images", H5P_DEFAULT, H5P_DEFAULT);
  }
  SECTION("external storage") {
    Maker maker(path);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(creation, (dir / "raw").c_str(), 0, 100);
    const hid_t space = H5Screate_simple(2, dims.data(), nullptr);
    REQUIRE(H5Dcreate2(maker.id(), "images", H5T_STD_U8LE, space, H5P_DEFAULT, creation, H5P_DEFAULT) >= 0);
  }
  SECTION("virtual dataset") {
    Maker maker(path);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    const hid_t space = H5Screate_simple(2, dims.data(), nullptr);
    REQUIRE(H5Pset_virtual(creation, space, (dir / "other.h5").c_str(), "/images", space) >= 0);
    REQUIRE(H5Dcreate2(maker.id(), "images", H5T_STD_U8LE, space, H5P_DEFAULT, creation, H5P_DEFAULT) >= 0);
  }
  CHECK_THAT(message_of(ErrorCode::unsupported, [&] { scan(path); }), ContainsSubstring("/images"));
}

TEST_CASE_METHOD(InHdf5Path, "counts that the file cannot hold, and files without images, are refused") {
  SECTION("a trillion rows never written") {
    Maker maker(path);
    maker.write("images", H5T_STD_U8LE, {hsize_t{1} << 40, 16}, nullptr, {1024, 16}, {H5Z_FILTER_DEFLATE});
  }
  SECTION("a trillion references never written") {
    Maker maker(path);
    maker.write("images", H5Tvlen_create(H5T_STD_U8LE), {hsize_t{1} << 40}, nullptr, {1024});
  }
  SECTION("a bomb: sixty million rows in a few kilobytes") {
    Maker maker(path);
    const std::vector<std::uint8_t> zeros(60'000'000);
    maker.write("images", H5T_STD_U8LE, {zeros.size() / 2, 2}, zeros.data(), {1'000'000, 2}, {H5Z_FILTER_DEFLATE});
  }
  SECTION("nothing that looks like images") {
    Maker maker(path);
    maker.write("weights", H5T_STD_U8LE, {10, 10}, nullptr);
  }
  SECTION("a newer layout of ours") {
    Maker maker(path);
    const hid_t space = H5Screate(H5S_SCALAR);
    for (const char* name : {"layout", "bale_version"}) {
      const hid_t attribute = H5Acreate2(maker.id(), name, H5T_C_S1, space, H5P_DEFAULT, H5P_DEFAULT);
      H5Awrite(attribute, H5T_C_S1, "9");
    }
    const std::int64_t label = 0;
    maker.write("labels", H5T_NATIVE_INT64, {1}, &label);
  }
  CHECK_THROWS_AS(scan(path), Error);
}

TEST_CASE("LZF streams give what they say, within the limit, or are refused") {
  const auto unpack = [](std::string_view stored, std::uint64_t limit) -> std::optional<std::string> {
    std::vector<std::byte> plain;
    if (!h5::lzf_decompress(as_bytes(stored), limit, plain)) return std::nullopt;
    return std::string(as_text(plain));
  };
  using namespace std::string_view_literals;
  CHECK(unpack("", 0) == "");
  CHECK(unpack("\2abc"sv, 3) == "abc");
  CHECK(unpack("\2abc\x20\2"sv, 6) == "abcabc");               // three bytes from three before
  CHECK(unpack("\0a\xE0\0\0"sv, 10) == std::string(10, 'a'));  // a copy that overlaps what it makes
  CHECK(unpack("\0a\xE0\xFF\0"sv, 265) == std::string(265, 'a'));
  CHECK_FALSE(unpack("\2abc"sv, 2));
  CHECK_FALSE(unpack("\2abc\x20\2"sv, 5));
  CHECK_FALSE(unpack("\2abc\x20\3"sv, 6));  // from before the beginning
  CHECK_FALSE(unpack("\x20\0"sv, 6));
  for (const std::string_view cut : {"\2ab"sv, "\0a\x20"sv, "\0a\xE0"sv, "\0a\xE0\0"sv}) CHECK_FALSE(unpack(cut, 100));
}
