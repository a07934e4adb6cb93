// OwnProcess: the process that made an object. A child of fork() has the object's memory but none of its threads: it
// may neither wait for them nor destroy what they wait for.
#pragma once

#include <unistd.h>

namespace bale {

class OwnProcess {
 public:
  bool is_here() const { return pid_ == ::getpid(); }

 private:
  pid_t pid_ = ::getpid();
};

}  // namespace bale
