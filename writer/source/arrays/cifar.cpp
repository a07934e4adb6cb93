// The binary CIFAR archives (https://www.cs.toronto.edu/~kriz/cifar.html): records of one label (CIFAR-10) or two
// (CIFAR-100: coarse, fine), then 32 x 32 red, green and blue values.
#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/writer/source/arrays/array_source.hpp"
#include "bale/writer/source/files/text_files.hpp"

namespace bale {
namespace {

constexpr std::uint32_t k_side = 32;
constexpr std::uint64_t k_pixel_bytes = std::uint64_t{k_side} * k_side * 3;

/// The members: their bytes by file name.
std::map<std::string, std::vector<std::byte>> read_members(const std::string& path) {
  std::map<std::string, std::vector<std::byte>> members;
  const Dataset archive = Dataset::open(path, {.relative_names = true});
  Scratch scratch;
  for (std::uint64_t i = 0; i < archive.size(); ++i) {
    const SampleView sample = archive.read(i, scratch);
    for (const FieldView& field : sample.fields) {
      const std::string name = fmt::format("{}.{}", base_name(std::string(sample.key)), field.name);
      members[name].assign(field.bytes.begin(), field.bytes.end());
    }
  }
  return members;
}

/// `path` is that of the file, for messages.
std::vector<std::string> lines_of(const std::vector<std::byte>& bytes, const std::string& path) {
  std::vector<std::string> lines;
  for_each_line(as_text(bytes), [&](std::string_view line, std::size_t number) {
    require_utf8(line, path, number);
    lines.emplace_back(line);
  });
  return lines;
}

[[noreturn]] void refuse_pickles(const std::string& path) {
  throw Error(ErrorCode::unsupported, "CIFAR as Python pickles, which bale never loads",
              {.path = path,
               .hint = "take the binary version of the archive, or call "
                       "bale.pack(torchvision.datasets.CIFAR10(...), DST)"});
}

}  // namespace

bool is_cifar_archive(const std::string& path) {
  const std::string name = base_name(path);
  const bool is_named = name.starts_with("cifar-10-") || name.starts_with("cifar-100-");
  const bool is_known = name.find("-binary.") != std::string::npos || name.find("-python.") != std::string::npos;
  return is_named && is_known && name.ends_with(".gz");
}

void refuse_unpacked_cifar(const std::string& path, const std::vector<std::string>& files) {
  const auto has = [&](std::string_view name) { return std::find(files.begin(), files.end(), name) != files.end(); };
  if (has("data_batch_1") || (has("train") && has("test") && has("meta"))) refuse_pickles(path);
  if (!has("data_batch_1.bin") && !(has("train.bin") && has("test.bin"))) return;
  throw Error(ErrorCode::unsupported, "an archive of CIFAR that is unpacked",
              {.path = path, .hint = "name the archive itself, which has -binary in its name"});
}

ArrayFiles read_cifar(const std::string& path) {
  if (base_name(path).find("-binary.") == std::string::npos) refuse_pickles(path);
  std::map<std::string, std::vector<std::byte>> members = read_members(path);
  const bool is_100 = members.contains("train.bin");
  ArrayFiles files;
  const std::string names = is_100 ? "fine_label_names.txt" : "batches.meta.txt";
  files.classes = lines_of(members[names], fmt::format("{}: {}", path, names));
  const std::vector<std::string> wanted =
      is_100 ? std::vector<std::string>{"train.bin", "test.bin"}
             : std::vector<std::string>{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                        "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"};
  std::map<std::string, std::uint64_t> counts;
  for (const std::string& file : wanted) {
    const auto found = members.find(file);
    if (found == members.end()) {
      throw Error(ErrorCode::damaged, fmt::format("no {}, which CIFAR's archives have", file),
                  {.path = path, .hint = "download it again"});
    }
    const std::uint64_t num_labels = is_100 ? 2 : 1;
    ArrayPart part{.path = fmt::format("{}: {}", path, file), .prefix = file.starts_with("test") ? "test" : "train"};
    part.width = part.height = k_side;
    part.planes = 3;
    part.pixels_at = num_labels;
    part.stride = num_labels + k_pixel_bytes;
    part.bytes = std::move(found->second);
    part.count = part.bytes.size() / part.stride;
    if (part.bytes.empty() || part.bytes.size() % part.stride != 0) {
      throw Error(ErrorCode::damaged,
                  fmt::format("{} has {} bytes, which are not whole images", file, part.bytes.size()),
                  {.path = path, .hint = "download it again"});
    }
    for (std::uint64_t i = 0; i < part.count; ++i) {
      const auto* const record = part.bytes.data() + i * part.stride;
      if (is_100) part.coarse_labels.push_back(static_cast<std::uint8_t>(record[0]));
      part.labels.push_back(static_cast<std::uint8_t>(record[num_labels - 1]));
    }
    part.first_number = std::exchange(counts[part.prefix], counts[part.prefix] + part.count);
    files.parts.push_back(std::move(part));
  }
  return files;
}

}  // namespace bale
