#include "bale/formats/tar/sink.hpp"

namespace bale::tar {
namespace {

/// The disk starts on every stretch of this size while the next is being gathered.
constexpr std::uint64_t k_writeback_bytes = std::uint64_t{16} << 20;

class PlainSink : public Sink {
 public:
  explicit PlainSink(File file) : file_(std::move(file)) {}

  void write(std::span<const Bytes> parts) override {
    file_.write_all_at(written_, parts);
    for (const Bytes part : parts) written_ += part.size();
    if (written_ - started_ >= k_writeback_bytes) {
      file_.start_writeback(started_, written_ - started_);
      started_ = written_;
    }
  }

  void finish() override { file_.close(); }

 private:
  File file_;
  std::uint64_t written_ = 0;
  std::uint64_t started_ = 0;  // writeback was asked for up to here
};

}  // namespace

std::unique_ptr<Sink> make_plain_sink(File file) { return std::make_unique<PlainSink>(std::move(file)); }

}  // namespace bale::tar
