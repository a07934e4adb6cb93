// ArraySource: images that a few files hold as raw pixels, as MNIST's idx files, the binary CIFAR archives and SVHN's
// MAT-files. Each is packed as a PNG, which has the same pixels.
//
// Memory: the whole files, uncompressed. Threads: see Source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/writer/source/source.hpp"

namespace bale {

/// Consecutive records of one file: labels and pixels.
struct ArrayPart {
  std::string path;                // for messages
  std::string prefix;              // of the keys: "train"
  std::uint64_t first_number = 0;  // of the first record, in its key
  std::uint64_t count = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t planes = 1;        // 1: gray, 3: all red, all green, all blue
  bool has_columns_first = false;  // the values of a column, not of a row, lie side by side
  std::vector<std::byte> bytes{};
  std::uint64_t first_offset = 0;  // of the first record in `bytes`
  std::uint64_t stride = 0;        // from record to record
  std::uint64_t pixels_at = 0;     // in a record
  std::vector<std::uint8_t> labels{};
  std::vector<std::uint8_t> coarse_labels{};  // CIFAR-100's, or empty

  std::uint64_t pixel_bytes() const { return std::uint64_t{width} * height * planes; }
};

struct ArrayFiles {
  std::vector<ArrayPart> parts;
  std::vector<std::string> classes;
  NoticeLog notices{};
};

/// Whether a directory of these files has idx files of images.
bool has_idx_files(const std::vector<std::string>& names);
/// MNIST, FashionMNIST, EMNIST, KMNIST: `*-images-idx3-ubyte` with `*-labels-idx1-ubyte`, each also with .gz. Throws
/// `damaged` with file and offset, `not_found` if the labels are missing.
ArrayFiles read_idx_files(const std::string& directory, const std::vector<std::string>& names);

/// Whether `path` is, by its name, a CIFAR archive.
bool is_cifar_archive(const std::string& path);
/// The binary archives of CIFAR-10 and CIFAR-100. Throws `unsupported` for the archives of pickles, and `damaged`.
ArrayFiles read_cifar(const std::string& path);
/// Throws `unsupported` if `files` of the directory are those of an archive of CIFAR.
void refuse_unpacked_cifar(const std::string& path, const std::vector<std::string>& files);

/// SVHN's cropped digits: train_32x32.mat, test_32x32.mat, extra_32x32.mat. Digits are classes "0" to "9", as
/// torchvision has them. Throws `unsupported` for other MATLAB files, and `damaged` with file and offset.
ArrayFiles read_svhn(const std::string& path);

/// The images as samples "PREFIX/00000". `path` is Source::places(). Throws `damaged` for a label that is none of the
/// classes, and what a class map throws.
std::unique_ptr<Source> make_array_source(const std::string& path, ArrayFiles files, const SourceOptions& options);

// Inflates the data of one gzip file or zlib stream into memory.

constexpr std::uint64_t k_max_array_bytes = std::uint64_t{4} << 30;  // of a file of arrays, uncompressed

enum class DeflateHeader { gzip, zlib };

/// The uncompressed bytes of `input`, which is one complete stream. Throws `damaged` with the offset in the file, where
/// `input` starts at `offset`, and `unsupported` above k_max_array_bytes.
std::vector<std::byte> inflate_all(Bytes input, DeflateHeader header, const std::string& path,
                                   std::uint64_t offset = 0);

}  // namespace bale
