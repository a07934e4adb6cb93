#include "bale/formats/storage/location/remote_url.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/names/uri_encoding.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/base/without_secrets.hpp"
#include "bale/formats/storage/http/file_transport.hpp"
#include "bale/formats/storage/http/retry.hpp"
#include "bale/formats/storage/location/listing_parts.hpp"

namespace bale {
namespace {

constexpr std::string_view k_http = "http://";
constexpr std::string_view k_https = "https://";
constexpr std::string_view k_hub = "hf://";
constexpr std::string_view k_hub_datasets = "hf://datasets/";
constexpr std::string_view k_refusal_hint = "check the credentials, and whether they may read it";

/// Without blanks and line ends around it, which secrets that come from files have.
std::string variable(const char* name, const char* otherwise = "") {
  const char* const value = std::getenv(name);
  const std::string_view given = value != nullptr ? stripped(value) : std::string_view();
  return given.empty() ? otherwise : std::string(given);
}

bool is_on(const char* name) {
  const std::string value = lower_case(variable(name));
  return value == "1" || value == "true" || value == "yes" || value == "on";
}

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

/// Schemes may be in upper case (RFC 3986, 3.1).
bool begins_with(std::string_view name, std::string_view scheme) { return begins_with_ignoring_case(name, scheme); }

void set_condition(HttpRequest& request, const GetCondition& condition) {
  if (condition.range) {
    request.headers.emplace_back("Range", fmt::format("bytes={}-{}", condition.range->offset,
                                                      condition.range->offset + condition.range->length - 1));
  }
  if (!condition.if_match.empty()) request.headers.emplace_back("If-Match", condition.if_match);
  if (!condition.if_none_match.empty()) request.headers.emplace_back("If-None-Match", condition.if_none_match);
}

/// http:// and https://, also presigned.
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
    HttpRequest request{.url = url_};
    set_condition(request, condition);
    return request;
  }

  std::string join(std::string_view file) const override {
    const std::size_t query = begin_of_query(name());
    return join_path(name().substr(0, query), percent_encode(file, true)) + name().substr(query);
  }

 private:
  std::string url_;
};

/// file:///PATH: a mounted file system that is read through the cache.
class FileLocation final : public RemoteUrl {
 public:
  explicit FileLocation(const std::string& name)
      : RemoteUrl(name), url_(std::string(k_file_scheme) + path_of_file_url(name)) {}

  std::string identity() const override { return url_; }

  HttpRequest get(const GetCondition& condition) const override {
    HttpRequest request{.url = url_};
    set_condition(request, condition);
    return request;
  }

  std::vector<std::string> list() const override {
    std::vector<std::string> names;
    std::error_code error;
    const std::filesystem::path directory(path_of_file_url(url_));
    for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
         entry.increment(error)) {
      if (entry->is_regular_file()) names.push_back(join_path(name(), entry->path().filename().string()));
    }
    if (error) {
      throw Error(ErrorCode::not_found, fmt::format("cannot list the directory: {}", error.message()),
                  {.path = shown(), .hint = "check the name"});
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::string url_;
};

/// hf://datasets/OWNER/NAME[@REVISION]/PATH: a file of a dataset on the Hugging Face Hub.
class HubLocation final : public RemoteUrl {
 public:
  explicit HubLocation(const std::string& name) : RemoteUrl(name) {
    const bool is_dataset = begins_with(name, k_hub_datasets);
    std::string_view rest = std::string_view(name).substr(is_dataset ? k_hub_datasets.size() : k_hub.size());
    const std::size_t slash = rest.find('/');
    const std::size_t end = slash == std::string_view::npos ? slash : rest.find('/', slash + 1);
    if (!is_dataset || slash == std::string_view::npos || slash == 0 || slash + 1 >= std::min(end, rest.size())) {
      throw Error(ErrorCode::invalid_argument, "not the name of a dataset on the Hub, or of a file in it",
                  {.path = name, .hint = "write hf://datasets/OWNER/NAME/PATH"});
    }
    repository_ = rest.substr(0, end);
    path_ = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (const std::size_t at = repository_.find('@'); at != std::string::npos) {
      revision_ = repository_.substr(at + 1);
      revision_ = percent_decode(revision_, false).value_or(revision_);
      repository_.erase(at);
      if (revision_ == "refs") take_special_revision();
    }
  }

  std::string identity() const override { return resolved_url(); }

  Error error_of(const HttpResponse& response) const override {
    const Error error = RemoteUrl::error_of(response);
    if (!is_refusal(error)) return error;
    return Error(error.code(), fmt::format("{}; a private dataset needs HF_TOKEN", error.message()),
                 {.path = shown(), .hint = error.context().hint});
  }

  HttpRequest get(const GetCondition& condition) const override {
    HttpRequest request = authorized(resolved_url());
    set_condition(request, condition);
    return request;
  }

  // API: https://huggingface.co/docs/hub/api, "Get a list of files in a repository".
  std::vector<std::string> list() const override {
    const std::string first = fmt::format("{}/api/datasets/{}/tree/{}/{}", endpoint(), repository_,
                                          percent_encode(revision_, false), percent_encode(path_, true));
    std::vector<std::string> names;
    list_all_parts(shown(), [&](const std::string& next) {
      const HttpResponse response = listing_part(next.empty() ? first : next);
      const Json page = parse_json(as_text(response.body));
      ListedPart part{.next = next_page(response.header("link"))};
      for (const Json& entry : page.as_list("the listing")) {
        if (part.first.empty()) part.first = entry.text_or_empty("path");
        if (entry.text_or_empty("type") == "file") names.push_back(join_path(name(), base_name(entry.text("path"))));
      }
      return part;
    });
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  HttpResponse listing_part(const std::string& url) const {
    for (Retry retry;;) {
      HttpRequest request = authorized(url);
      retry.set_limits(request);
      HttpResult result = HttpClient::instance().carry_out(std::move(request));
      auto* const response = std::get_if<HttpResponse>(&result);
      if (response != nullptr && response->status == 200) return std::move(*response);
      retry.wait_after(response != nullptr ? error_of(*response) : std::get<Error>(result), response);
    }
  }

  /// refs/convert/NAME and refs/pr/NUMBER, whose slashes need not be encoded, as in huggingface_hub's names.
  void take_special_revision() {
    const std::size_t kind = path_.find('/');
    if (kind == std::string::npos || (path_.substr(0, kind) != "convert" && path_.substr(0, kind) != "pr")) return;
    const std::size_t end = std::min(path_.find('/', kind + 1), path_.size());
    revision_ += "/" + path_.substr(0, end);
    path_.erase(0, std::min(end + 1, path_.size()));
  }

  static std::string endpoint() { return variable("HF_ENDPOINT", "https://huggingface.co"); }

  /// The URL of `<URL>; rel="next"`, without a host if it has none; empty if there is none. Throws `io` if it leads to
  /// another host, which must not see the token.
  std::string next_page(const std::string& link) const {
    const std::size_t open = link.find('<');
    const std::size_t close = link.find('>', open);
    if (close == std::string::npos || link.find("rel=\"next\"", close) == std::string::npos) return {};
    const std::string next = link.substr(open + 1, close - open - 1);
    const std::string own = endpoint();
    const UrlParts hub = split_url(own);
    if (next.starts_with('/') && !next.starts_with("//"))
      return fmt::format("{}://{}{}", hub.scheme, hub.authority, next);
    const bool is_url = next.find("://") != std::string::npos;
    const UrlParts parts = is_url ? split_url(next) : UrlParts{};
    if (parts.scheme == hub.scheme && parts.authority == hub.authority) return next;
    throw Error(ErrorCode::io,
                fmt::format("the listing continues at another host: {}", printable(without_secrets(next))),
                {.path = shown(), .hint = "check HF_ENDPOINT"});
  }

  HttpRequest authorized(const std::string& url) const {
    require_online();
    HttpRequest request{.url = url};
    std::string token = variable("HF_TOKEN");
    if (token.empty()) token = token_of_login();
    if (!token.empty()) request.headers.emplace_back("Authorization", "Bearer " + token);
    return request;
  }

  /// What `hf auth login` has stored.
  static std::string token_of_login() {
    const std::string caches = variable("XDG_CACHE_HOME", join_path(variable("HOME"), ".cache").c_str());
    const std::string home = variable("HF_HOME", join_path(caches, "huggingface").c_str());
    const std::string path = variable("HF_TOKEN_PATH", join_path(home, "token").c_str());
    try {
      const std::vector<std::byte> content = read_file(path, 1024);
      return std::string(stripped(as_text(content)));
    } catch (const Error&) {
      return {};
    }
  }

  std::string resolved_url() const {
    return fmt::format("{}/datasets/{}/resolve/{}/{}", endpoint(), repository_, percent_encode(revision_, false),
                       percent_encode(path_, true));
  }

  std::string repository_;
  std::string revision_ = "main";
  std::string path_;
};

}  // namespace

RemoteUrl::RemoteUrl(std::string name) : name_(std::move(name)), shown_(without_secrets(name_)) {}

Error RemoteUrl::error_of(const HttpResponse& response) const {
  const auto status = response.status;
  if (status == 404 || status == 410) {
    return Error(ErrorCode::not_found, "no such file on the server", {.path = shown(), .hint = "check the name"});
  }
  if (status == 412 || status == 416) {
    return Error(ErrorCode::changed, "the remote file changed during the read",
                 {.path = shown(), .hint = "run it again to read the new one"});
  }
  if (status == 401 || status == 403) {
    return Error(ErrorCode::io, fmt::format("the server refuses access (status {})", status),
                 {.path = shown(), .hint = std::string(k_refusal_hint)});
  }
  if (status == 408 || status == 425 || status == 429 || status >= 500) {
    return Error(ErrorCode::retryable, fmt::format("the server answers with status {}", status), {.path = shown()});
  }
  return Error(ErrorCode::io, fmt::format("the server answers with status {}", status), {.path = shown()});
}

bool RemoteUrl::is_offline() const {
  if (is_file_url(name_)) return false;
  return is_on("BALE_OFFLINE") || (begins_with(name_, k_hub) && is_on("HF_HUB_OFFLINE"));
}

void RemoteUrl::require_online() const {
  if (!is_offline()) return;
  throw Error(ErrorCode::retryable, "the cache does not have it, and this run is offline",
              {.path = shown(), .hint = "unset BALE_OFFLINE and HF_HUB_OFFLINE, or fetch it before"});
}

std::string RemoteUrl::join(std::string_view file) const { return join_path(name_, file); }

std::vector<std::string> RemoteUrl::list() const {
  throw Error(ErrorCode::unsupported, "this server has no listings",
              {.path = shown(), .hint = "name the shards, with braces if they are many: NAME-{000000..000009}"});
}

bool is_refusal(const Error& error) { return error.context().hint.starts_with(k_refusal_hint); }

bool is_served(std::string_view name) {
  return begins_with(name, k_http) || begins_with(name, k_https) || begins_with(name, k_hub) ||
         begins_with(name, k_s3_scheme) || is_file_url(name);
}

std::shared_ptr<const RemoteUrl> locate(const std::string& name) {
  if (begins_with(name, k_s3_scheme)) return locate_s3(name);
  if (begins_with(name, k_hub)) return std::make_shared<HubLocation>(name);
  if (is_file_url(name)) return std::make_shared<FileLocation>(name);
  return std::make_shared<HttpLocation>(name);
}

}  // namespace bale
