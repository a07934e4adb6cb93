#include "bale/formats/container/writing/append_file.hpp"
#include "bale/formats/tar/writing/sink.hpp"

namespace bale::tar {
namespace {

class PlainSink : public Sink {
 public:
  explicit PlainSink(const std::string& path) : file_(path) {}

  void write(std::span<const Bytes> parts) override { file_.append(parts); }
  void finish() override { file_.close(); }

 private:
  AppendFile file_;
};

}  // namespace

std::unique_ptr<Sink> make_plain_sink(const std::string& path) { return std::make_unique<PlainSink>(path); }

}  // namespace bale::tar
