// Certificates: the authorities that a TLS connection trusts, in one file or in a directory of OpenSSL's.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

namespace bale {

struct Certificates {
  std::string path{};  // empty: none are named
  bool is_directory = false;

  /// Looks once what the path is. What is not there counts as a file: libcurl reports it.
  static Certificates at(std::string path) {
    std::error_code ignored;
    const bool is_directory = std::filesystem::is_directory(path, ignored);
    return {std::move(path), is_directory};
  }
};

}  // namespace bale
