// A scheme of the tests: tired:///PATH is the local file /PATH, from a server that fails some requests.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/storage/url_scheme.hpp"

namespace bale::test {

/// How many of the next requests for shards fail.
inline std::atomic<int> tired_requests{0};

class TiredFile final : public UrlSource {
 public:
  explicit TiredFile(const std::string& path) : file_(File::open_read(path)) {}
  std::uint64_t size() const override { return file_.size(); }
  std::string version() const override { return "1"; }
  std::size_t read_some(std::uint64_t offset, MutableBytes out) const override {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size() - std::min(offset, size())));
    file_.read_exact(offset, out.first(count));
    return count;
  }

 private:
  const File file_;
};

inline void add_tired_scheme() {
  add_url_scheme({.name = "tired", .open = [](const std::string& name) -> std::unique_ptr<UrlSource> {
                    const bool is_shard = !name.ends_with(".json") && !name.ends_with(".bidx");
                    if (is_shard && tired_requests-- > 0) throw Error(ErrorCode::retryable, "the server is tired");
                    return std::make_unique<TiredFile>(name.substr(std::string_view("tired://").size()));
                  }});
}

}  // namespace bale::test
