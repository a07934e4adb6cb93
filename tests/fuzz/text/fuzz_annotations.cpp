// Whatever the bytes of annotations, they are read or refused, and what is read of them is JSON. The first byte chooses
// the format.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "bale/formats/base/error.hpp"
#include "bale/tests/fuzz/fuzz_support.hpp"
#include "bale/writer/source/annotations/annotation_set.hpp"
#include "bale/writer/source/classes/class_names.hpp"

namespace {

/// A PNG's signature and header: 8 x 4 pixels.
constexpr std::string_view k_image("\x89PNG\r\n\x1A\n\0\0\0\rIHDR\0\0\0\x08\0\0\0\x04\x08\x02\0\0\0", 29);

/// A directory with one file, for the formats that have one file per image.
struct Folder {
  Folder() : path(std::filesystem::temp_directory_path() / ("bale-fuzz-" + std::to_string(::getpid()))) {
    std::filesystem::create_directory(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

const Folder& write_folder(const char* name, std::string_view text) {
  static const Folder folder;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path)) std::filesystem::remove(entry);
  std::ofstream(folder.path + "/" + name, std::ios::binary) << text;
  return folder;
}

void read_all(bale::AnnotationSet& set, const bale::FolderImages& folder, bale::AnnotationLog& log) {
  set.match(folder, log);
  const bale::FieldView fields[] = {{"png", {reinterpret_cast<const std::byte*>(k_image.data()), k_image.size()}}};
  const bale::SampleView image{.key = "a", .width = 8, .height = 4, .fields = fields};
  std::vector<std::string> images = set.images();
  images.insert(images.end(), folder.paths.begin(), folder.paths.end());
  for (const std::string& name : images) {
    const std::uint32_t row = set.row_of(name);
    bale::test::keep(set.bytes(row, 0));
    std::string text;
    try {
      set.append(row, 0, image, text);
    } catch (const bale::Error&) {
      continue;
    }
    if (!nlohmann::json::accept(text)) std::abort();
    set.append_identity(row, text);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  const bale::test::MemoryFile file(text);
  bale::NoticeLog notices;
  std::vector<bale::SourceLoss> losses;
  bale::AnnotationLog log(true, notices, losses);
  try {
    switch (data[0] % 5) {
      case 0:
        read_all(*bale::open_coco(file.path(), {}, log), {"/proc/self/fd", {}}, log);
        break;
      case 1:
        read_all(*bale::open_open_images(file.path(), {}, log), {"/proc/self/fd", {"a.png", "b.jpg"}}, log);
        break;
      case 2:
        bale::test::keep(bale::parse_data_yaml(text, "x").names.size());
        break;
      case 3: {
        const Folder& folder = write_folder("a.txt", text);
        read_all(*bale::open_yolo(folder.path, {}, log), {folder.path, {"a.png"}}, log);
        break;
      }
      default: {
        const Folder& folder = write_folder("a.xml", text);
        read_all(*bale::open_voc(folder.path, {}, log), {folder.path, {"a.png"}}, log);
      }
    }
  } catch (const bale::Error&) {
  }
  return 0;
}
