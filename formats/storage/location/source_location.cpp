// Files that a program opens: file://, and the schemes of add_url_scheme().
#include <algorithm>
#include <utility>

#include "bale/formats/base/file.hpp"
#include "bale/formats/storage/location/locate.hpp"

namespace bale {
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
