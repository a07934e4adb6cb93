// What a source passed over: the first notices kept, all of them counted.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bale/writer/source/source.hpp"

namespace bale {

class NoticeLog {
 public:
  void add(std::string path, std::string why) {
    ++count_;
    if (kept_.size() < Source::k_max_notices) kept_.push_back({std::move(path), std::move(why)});
  }
  const std::vector<SourceNotice>& kept() const { return kept_; }
  std::uint64_t count() const { return count_; }

 private:
  std::vector<SourceNotice> kept_;
  std::uint64_t count_ = 0;
};

}  // namespace bale
