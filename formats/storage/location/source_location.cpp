// Files that a program opens: file://, and the schemes of add_url_scheme().
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/files/directory_entries.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/storage/location/locate.hpp"

namespace bale {
namespace {

constexpr std::string_view k_file_scheme = "file://";

class MountedFile final : public UrlSource {
 public:
  explicit MountedFile(const std::string& path) : file_(File::open_read(path)) {}

  std::uint64_t size() const override { return file_.size(); }
  std::string version() const override {
    struct stat info {};
    if (::fstat(file_.fd(), &info) != 0) throw_errno("examine", file_.path());
    return fmt::format("{}-{}-{}.{:09}", info.st_ino, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
  }
  std::size_t read_some(std::uint64_t offset, MutableBytes out) const override { return file_.read_some(offset, out); }

 private:
  File file_;
};

std::unique_ptr<UrlSource> open_mounted(const std::string& name) {
  const std::string path = *path_of_file_url(name);
  try {
    return std::make_unique<MountedFile>(path);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    throw Error(ErrorCode::not_found, error.message(), {.path = path});  // a directory: a web server has no such file
  }
}

std::vector<std::string> list_mounted(const std::string& directory) {
  const std::string path = *path_of_file_url(directory);
  if (!path_exists(path))
    throw Error(ErrorCode::not_found, "no such directory", {.path = directory, .hint = "check the name"});
  std::vector<std::string> names;
  for_each_entry(path, [&](const std::filesystem::directory_entry& entry) {
    if (is_file(entry)) names.push_back(join_path(directory, entry.path().filename().string()));
  });
  return names;
}

}  // namespace

std::optional<std::string> path_of_file_url(const std::string& name) {
  if (!begins_with_ignoring_case(name, k_file_scheme)) return std::nullopt;
  std::string path = name.substr(k_file_scheme.size());
  if (path.starts_with('/')) return path;
  throw Error(ErrorCode::invalid_argument, "a file:// name needs an absolute path of this machine",
              {.path = name, .hint = "write file:///PATH, with three slashes"});
}

UrlScheme file_scheme() {
  return {.name = "file",
          .open = open_mounted,
          .list = list_mounted,
          .check = [](const std::string& name) { path_of_file_url(name); },
          .needs_network = false};
}

namespace {

class SourceLocation final : public RemoteUrl {
 public:
  SourceLocation(const std::string& name, std::shared_ptr<const UrlScheme> scheme)
      : RemoteUrl(name), scheme_(std::move(scheme)), url_(scheme_->name + name.substr(scheme_->name.size())) {
    if (scheme_->check) scheme_->check(url_);
  }

  std::string identity() const override { return url_; }
  std::string server() const override { return scheme_->name; }
  bool is_offline() const override { return scheme_->needs_network && RemoteUrl::is_offline(); }

  HttpRequest get(const GetCondition& condition) const override {
    require_online();
    HttpRequest request = get_request(url_, condition);
    request.open = [scheme = scheme_, url = url_] { return scheme->open(url); };
    return request;
  }

  std::vector<std::string> list() const override {
    if (!scheme_->list) return RemoteUrl::list();
    require_online();
    std::vector<std::string> names = scheme_->list(url_);
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  const std::shared_ptr<const UrlScheme> scheme_;
  const std::string url_;
};

}  // namespace

std::shared_ptr<const RemoteUrl> locate_source(const std::string& name,
                                               const std::shared_ptr<const UrlScheme>& scheme) {
  return std::make_shared<SourceLocation>(name, scheme);
}

}  // namespace bale
