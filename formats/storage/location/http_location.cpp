// http:// and https://: files of any web server.
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/names/uri_encoding.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/storage/location/locate.hpp"
#include "bale/formats/storage/location/remote_url.hpp"

namespace bale {
namespace {

/// Encodes what a URL cannot hold, such as spaces and bytes above 127. What is encoded already stays.
std::string without_odd_bytes(std::string_view url) {
  std::string encoded;
  for (const char c : url) {
    const bool is_odd = c <= ' ' || c == '"' || c == '<' || c == '>' || c == '\\' || c == '^' || c == '`' || c == '{' ||
                        c == '|' || c == '}' || c == '\x7f' || static_cast<unsigned char>(c) >= 0x80;
    encoded += is_odd ? percent_encode({&c, 1}, false) : std::string(1, c);
  }
  return encoded;
}

/// Also presigned.
class HttpLocation final : public RemoteUrl {
 public:
  explicit HttpLocation(const std::string& name) : RemoteUrl(name), url_(without_odd_bytes(name)) {
    try {
      const std::string_view authority = split_url(url_).authority;
      if (!authority.empty() && !authority.starts_with(':')) return;
    } catch (const Error&) {  // it does not name the URL
    }
    throw Error(ErrorCode::invalid_argument, "the URL has no host", {.path = name, .hint = "write https://HOST/PATH"});
  }

  std::string identity() const override { return without_signature(url_); }

  HttpRequest get(const GetCondition& condition) const override {
    require_online();
    return get_request(url_, condition);
  }

  std::string join(std::string_view file) const override {
    const std::size_t query = begin_of_query(name());
    return join_path(name().substr(0, query), percent_encode(file, true)) + name().substr(query);
  }

 private:
  std::string url_;
};

}  // namespace

std::shared_ptr<const RemoteUrl> locate_http(const std::string& name) { return std::make_shared<HttpLocation>(name); }

}  // namespace bale
