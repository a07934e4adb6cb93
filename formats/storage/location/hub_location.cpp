// hf://datasets/OWNER/NAME[@REVISION]/PATH: files of datasets on the Hugging Face Hub.
#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/names/uri_encoding.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/storage/location/locate.hpp"
#include "bale/formats/storage/location/remote_url.hpp"

namespace bale {
namespace {

constexpr std::string_view k_hub = "hf://";
constexpr std::string_view k_hub_datasets = "hf://datasets/";

class HubLocation final : public RemoteUrl {
 public:
  explicit HubLocation(const std::string& name) : RemoteUrl(name) {
    const bool is_dataset = begins_with_ignoring_case(name, k_hub_datasets);
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

  bool is_offline() const override { return RemoteUrl::is_offline() || is_on("HF_HUB_OFFLINE"); }

  Error error_of(const HttpResponse& response) const override {
    const Error error = RemoteUrl::error_of(response);
    if (!is_refusal(error)) return error;
    return Error(error.code(), fmt::format("{}; a private dataset needs HF_TOKEN", error.message()),
                 {.path = shown(), .hint = error.context().hint});
  }

  HttpRequest get(const GetCondition& condition) const override {
    return authorized(get_request(resolved_url(), condition));
  }

  // API: https://huggingface.co/docs/hub/api, "Get a list of files in a repository".
  std::vector<std::string> list() const override {
    const std::string first = fmt::format("{}/api/datasets/{}/tree/{}/{}", endpoint(), repository_,
                                          percent_encode(revision_, false), percent_encode(path_, true));
    std::vector<std::string> names;
    list_all_parts(shown(), [&](const std::string& next) {
      const HttpResponse response = answer_to([&] { return authorized({.url = next.empty() ? first : next}); });
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
  /// refs/convert/NAME and refs/pr/NUMBER, whose slashes need not be encoded, as in huggingface_hub's names.
  void take_special_revision() {
    const std::size_t kind = path_.find('/');
    if (kind == std::string::npos || (path_.substr(0, kind) != "convert" && path_.substr(0, kind) != "pr")) return;
    const std::size_t end = std::min(path_.find('/', kind + 1), path_.size());
    revision_ += "/" + path_.substr(0, end);
    path_.erase(0, std::min(end + 1, path_.size()));
  }

  static std::string endpoint() { return environment_variable("HF_ENDPOINT", "https://huggingface.co"); }

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

  HttpRequest authorized(HttpRequest request) const {
    require_online();
    std::string token = environment_variable("HF_TOKEN");
    if (token.empty()) token = token_of_login();
    if (!token.empty()) request.headers.emplace_back("Authorization", "Bearer " + token);
    return request;
  }

  /// What `hf auth login` has stored.
  static std::string token_of_login() {
    const std::string caches =
        environment_variable("XDG_CACHE_HOME", join_path(environment_variable("HOME"), ".cache").c_str());
    const std::string home = environment_variable("HF_HOME", join_path(caches, "huggingface").c_str());
    const std::string path = environment_variable("HF_TOKEN_PATH", join_path(home, "token").c_str());
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

std::shared_ptr<const RemoteUrl> locate_on_hub(const std::string& name) { return std::make_shared<HubLocation>(name); }

}  // namespace bale
