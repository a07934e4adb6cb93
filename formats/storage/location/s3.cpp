// s3://BUCKET/KEY: files of S3 and of other servers that speak its language (aws/).
#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/storage/aws/answers/s3_answers.hpp"
#include "bale/formats/storage/aws/s3_location.hpp"
#include "bale/formats/storage/location/locate.hpp"
#include "bale/formats/storage/location/remote_url.hpp"
#include "bale/formats/storage/location/s3_account.hpp"

namespace bale {
namespace {

// "Error responses" in the API reference of S3: these pass, whatever their status.
constexpr std::array<std::string_view, 5> k_passing_codes{"RequestTimeout", "SlowDown", "InternalError",
                                                          "ServiceUnavailable", "OperationAborted"};

constexpr std::string_view k_may_be_missing =
    "; to credentials without s3:ListBucket S3 answers this for a missing file, too";
constexpr std::string_view k_sources =
    ": they come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, the profile that AWS_PROFILE names, web identity, "
    "or the "
    "metadata of the container or instance";

bool is_one_of(std::string_view code, std::span<const std::string_view> codes) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

class S3ObjectLocation final : public RemoteUrl {
 public:
  explicit S3ObjectLocation(const std::string& name) : RemoteUrl(name), location_(parse_s3_url(name)) {
    S3Account::of_process();  // a wrong setting is an error now
  }

  std::string identity() const override {
    return object_url(S3Account::of_process().settings(location_.bucket), location_);
  }

  HttpRequest get(const GetCondition& condition) const override {
    require_online();
    S3Account& account = S3Account::of_process();
    return get_object_request(
        account.settings(location_.bucket), location_, account.credentials().get(), account.now(),
        {.range = condition.range, .if_match = condition.if_match, .if_none_match = condition.if_none_match});
  }

  bool is_ready() const override { return S3Account::of_process().credentials().is_ready(); }

  Error error_of(const HttpResponse& response) const override {
    const S3ErrorAnswer answer = parse_s3_error(response.body);
    S3Account& account = S3Account::of_process();
    const auto named = [&](ErrorCode code, std::string_view what, std::string_view hint) {
      return Error(code, fmt::format("{}: {}", what, printable(answer.code)),
                   {.path = shown(), .hint = std::string(hint)});
    };
    if (is_one_of(answer.code, k_passing_codes)) return named(ErrorCode::retryable, "the server is busy", "");
    if (answer.code == "RequestTimeTooSkewed") {
      return named(ErrorCode::io, "the server refuses the signature", "set this machine's clock: its time is wrong");
    }
    if (answer.code == "ExpiredToken" || answer.code == "ExpiredTokenException" || answer.code == "InvalidToken") {
      const bool is_renewed = account.renew_credentials();
      return named(is_renewed ? ErrorCode::retryable : ErrorCode::io, "the credentials have expired",
                   is_renewed ? "" : "get new credentials");
    }
    const std::string region = answer.region.empty() ? response.header("x-amz-bucket-region") : answer.region;
    const bool is_elsewhere = response.status == 301 || response.status == 307 || response.status == 400;
    if (is_elsewhere && !region.empty() && region != account.settings(location_.bucket).region) {
      account.set_region(location_.bucket, region);
      return Error(ErrorCode::retryable, fmt::format("the bucket is in region {}", region), {.path = shown()});
    }
    if (answer.code == "PermanentRedirect" || answer.code == "AuthorizationHeaderMalformed") {
      return named(ErrorCode::io, "the bucket is in another region", "name its region in AWS_REGION");
    }
    const Error error = RemoteUrl::error_of(response);
    const std::string what =
        answer.code.empty() ? error.message() : fmt::format("{}: {}", error.message(), printable(answer.code));
    if (is_refusal(error) && !account.credentials().get()) {
      return Error(error.code(), fmt::format("{}, and no AWS credentials were found", what),
                   {.path = shown(), .hint = error.context().hint + std::string(k_sources)});
    }
    const bool may_be_missing = answer.code == "AccessDenied";
    return Error(error.code(), what,
                 {.path = shown(), .hint = error.context().hint + std::string(may_be_missing ? k_may_be_missing : "")});
  }

  std::shared_ptr<const RemoteUrl> moved() const override {
    const std::string versions = join_path(parent_directory(name()), "versions");
    return std::make_shared<S3ObjectLocation>(join_path(versions, base_name(name())));
  }

  std::vector<std::string> list() const override {
    S3ListQuery query{
        .prefix = location_.key.empty() || location_.key.ends_with('/') ? location_.key : location_.key + "/",
        .delimiter = "/"};
    std::vector<std::string> names;
    list_all_parts(shown(), [&](const std::string& token) {
      query.continuation_token = token;
      require_online();
      S3Account& account = S3Account::of_process();
      const HttpResponse response = answer_to([&] {
        return list_objects_request(account.settings(location_.bucket), location_.bucket, query,
                                    account.credentials().get(), account.now());
      });
      const S3Listing listing = parse_object_listing(response.body);
      for (const S3Object& object : listing.objects) {
        if (object.key != query.prefix)
          names.push_back(fmt::format("{}{}/{}", k_s3_scheme, location_.bucket, object.key));
      }
      return ListedPart{.next = listing.continuation_token, .first = listing.first_name()};
    });
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  S3Location location_;
};

}  // namespace

std::shared_ptr<const RemoteUrl> locate_s3(const std::string& name) { return std::make_shared<S3ObjectLocation>(name); }

}  // namespace bale
