// FrameSink: what compressing sinks share, cutting the stream into frames and writing them out.
#pragma once

#include <vector>

#include "bale/formats/tar/sink.hpp"

namespace bale::tar {

class FrameSink : public Sink {
 public:
  explicit FrameSink(File file) : file_(std::move(file)) {}

  void write(std::span<const Bytes> parts) final;
  void finish() final;

 protected:
  /// Compresses `content` into `frame`, whose old content is to be replaced.
  virtual void compress(Bytes content, std::vector<std::byte>& frame) = 0;
  /// Fills in what goes after the last frame.
  virtual void make_trailer(std::vector<std::byte>& trailer) = 0;

 private:
  void cut();
  void put(Bytes bytes);

  File file_;
  std::uint64_t written_ = 0;
  std::uint64_t started_ = 0;  // writeback was asked for up to here
  std::vector<std::byte> content_;
  std::vector<std::byte> frame_;
};

}  // namespace bale::tar
