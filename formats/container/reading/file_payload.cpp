#include "bale/formats/container/reading/file_payload.hpp"

namespace bale {

FilePayload::FilePayload(const std::string& path) : file_(File::open_read(path)) {}

void FilePayload::read(std::uint64_t, std::uint32_t, const Extent& extent, MutableBytes out) const {
  file_.read_exact(extent.offset, out);
}

std::optional<FileRange> FilePayload::locate(std::uint64_t, std::uint32_t, const Extent& extent) const {
  return FileRange{extent.offset, extent.length};
}

void FilePayload::will_need(const FileRange& range) const { file_.advise_will_need(range.offset, range.length); }

}  // namespace bale
