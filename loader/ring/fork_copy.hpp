// ForkCopy: a part of shared memory of which children of fork() get copies, as they do of all other memory. Without it,
// a batch that a child holds would change when workers fill its slot again, and what the child writes would be the
// parent's.
//
// Only fork() copies; vfork(), posix_spawn() and what uses them do not.
// Threads: any number may make and destroy them.
#pragma once

#include <cstddef>

#include "bale/formats/base/bytes.hpp"

namespace bale::loader_detail {

class ForkCopy {
 public:
  /// Precondition: `part` begins at a page, and no other memory that is in use begins in its last page. Parts that
  /// begin at the same address are the same.
  explicit ForkCopy(MutableBytes part);
  ~ForkCopy();
  ForkCopy(const ForkCopy&) = delete;
  ForkCopy& operator=(const ForkCopy&) = delete;

 private:
  std::byte* begin_;
};

}  // namespace bale::loader_detail
