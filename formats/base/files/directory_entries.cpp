#include "bale/formats/base/files/directory_entries.hpp"

#include <system_error>

#include "bale/formats/base/error.hpp"

namespace bale {

void for_each_entry(const std::string& directory,
                    const std::function<void(const std::filesystem::directory_entry&)>& each) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    each(*entry);
  }
  if (!error) return;
  errno = error.value();
  throw_errno("list the directory", directory);
}

bool is_file(const std::filesystem::directory_entry& entry) {
  std::error_code error;
  const bool is_regular = entry.is_regular_file(error);
  if (error && !says_absent(error.value())) {
    errno = error.value();
    throw_errno("look at", entry.path().string());
  }
  return is_regular;
}

}  // namespace bale
