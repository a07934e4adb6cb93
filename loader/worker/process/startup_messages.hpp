// StartupMessages: what worker programs print before they have started, such as errors of the dynamic linker.
#pragma once

#include <string>

namespace bale::loader_detail {

class StartupMessages {
 public:
  StartupMessages();
  ~StartupMessages();
  StartupMessages(const StartupMessages&) = delete;
  StartupMessages& operator=(const StartupMessages&) = delete;

  /// For the workers' output; -1 if the system refused a memfd.
  int fd() const { return fd_; }
  /// The last line that was printed; empty if there is none. Deletes all lines.
  std::string take_last_line();

 private:
  int fd_ = -1;
};

}  // namespace bale::loader_detail
