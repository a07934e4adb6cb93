#include "bale/formats/container/streams/stream.hpp"

namespace bale {
namespace {

class PlainStream : public Stream {
 public:
  explicit PlainStream(const std::string& path) : file_(File::open_read(path)), size_(file_.size()) {}

  std::uint64_t size() const override { return size_; }
  void read_exact(std::uint64_t offset, MutableBytes out) const override { file_.read_exact(offset, out); }
  std::optional<FileRange> locate(std::uint64_t offset, std::uint64_t length) const override {
    return FileRange{offset, length};
  }
  void will_need(const FileRange& range) const override { file_.advise_will_need(range.offset, range.length); }

 private:
  File file_;
  std::uint64_t size_;
};

}  // namespace

std::unique_ptr<Stream> open_plain_stream(const std::string& path) { return std::make_unique<PlainStream>(path); }

}  // namespace bale
