// Signatures, S3 locations and the XML answers of S3.
#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bale/formats/base/names/uri_encoding.hpp"
#include "bale/formats/storage/aws/answers/s3_answers.hpp"
#include "bale/formats/storage/aws/context/aws_context.hpp"
#include "bale/formats/storage/aws/s3_location.hpp"
#include "bale/formats/storage/aws/sigv4.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"

using namespace bale;

namespace {

const Credentials k_example{.access_key_id = "AKIAIOSFODNN7EXAMPLE",
                            .secret_access_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
const Credentials k_temporary{.access_key_id = k_example.access_key_id,
                              .secret_access_key = k_example.secret_access_key,
                              .session_token = "to+ken/with=odd=="};

std::string signed_header(const HttpRequest& request, const std::string& name) {
  std::string found;
  for (const auto& [key, value] : request.headers) {
    if (key == name) found += found.empty() ? value : "|" + value;
  }
  return found;
}

std::string after(const std::string& text, const std::string& start, char end) {
  const std::size_t at = text.find(start);
  if (at == std::string::npos) return "none";
  const std::size_t from = at + start.size();
  return text.substr(from, text.find(end, from) - from);
}

std::string signature_in(const HttpRequest& request) {
  return after(signed_header(request, "Authorization"), "Signature=", ',');
}
std::string signed_headers_in(const HttpRequest& request) {
  return after(signed_header(request, "Authorization"), "SignedHeaders=", ',');
}

/// A request of aws-sig-v4-test-suite, signed as it says.
std::string suite_signature(HttpRequest request, const std::string& token = "") {
  const Credentials credentials{.access_key_id = "AKIDEXAMPLE",
                                .secret_access_key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
                                .session_token = token};
  request.url = "https://example.amazonaws.com" + request.url;
  const SigningScope scope{
      .region = "us-east-1", .service = "service", .time = *parse_utc_time("2015-08-30T12:36:00Z")};
  sign_request(request, credentials, scope, sha256_hex(request.body));
  return signature_in(request);
}

/// A request of the S3 API reference, "Authenticating Requests", signed as it says.
HttpRequest s3_example(HttpRequest request, std::string_view payload = k_empty_payload) {
  request.url = "https://examplebucket.s3.amazonaws.com" + request.url;
  const SigningScope scope{.region = "us-east-1", .time = *parse_utc_time("2013-05-24T00:00:00Z")};
  sign_request(request, k_example, scope, payload);
  return request;
}

AwsContext context_of(std::map<std::string, std::string> variables) {
  variables.try_emplace("HOME", "/nonexistent");
  return {.variable = [variables](const std::string& name) -> std::optional<std::string> {
            const auto found = variables.find(name);
            if (found == variables.end()) return std::nullopt;
            return found->second;
          },
          .perform = [](HttpRequest) -> HttpResponse { throw Error(ErrorCode::retryable, "no network"); },
          .now = [] { return UtcTime{}; },
          .pause = [](std::chrono::milliseconds) {}};
}

S3Listing listing_of(const std::string& content) {
  const std::string xml =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">" +
      content + "</ListBucketResult>";
  return parse_object_listing(as_bytes(xml));
}

}  // namespace

TEST_CASE("The signatures of aws-sig-v4-test-suite are reproduced") {
  CHECK(suite_signature({.url = "/"}) == "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
  CHECK(suite_signature({.url = "/?Param2=value2&Param1=value1"}) ==
        "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
  CHECK(suite_signature({.url = "/\xE1\x88\xB4"}) ==
        "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85");
  CHECK(suite_signature({.url = "/./example/..//"}) ==
        "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
  CHECK(suite_signature(
            {.url = "/", .headers = {{"My-Header1", "value2"}, {"My-Header1", "value2"}, {"My-Header1", "value1"}}}) ==
        "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea");
  CHECK(suite_signature({.url = "/", .headers = {{"My-Header1", " value1"}, {"My-Header2", " \"a   b   c\""}}}) ==
        "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736");
  CHECK(suite_signature({.method = "POST", .url = "/"}) ==
        "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
  CHECK(suite_signature({.method = "POST",
                         .url = "/",
                         .headers = {{"Content-Type", "application/x-www-form-urlencoded"}},
                         .body = "Param1=value1"}) ==
        "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a");
  CHECK(suite_signature({.method = "POST",
                         .url = "/",
                         .headers = {{"Content-Type", "application/x-www-form-urlencoded; charset=utf8"}},
                         .body = "Param1=value1"}) ==
        "1a72ec8f64bd914b0e42e42607c7fbce7fb2c7465f63e3092b3b0d39fa77a6fe");
}

TEST_CASE("The signatures in the S3 documentation are reproduced") {
  const HttpRequest object = s3_example({.url = "/test.txt", .headers = {{"Range", "bytes=0-9"}}});
  CHECK(signature_in(object) == "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  CHECK(signed_headers_in(object) == "host;range;x-amz-content-sha256;x-amz-date");
  CHECK(signed_header(object, "x-amz-date") == "20130524T000000Z");
  CHECK(signed_header(object, "x-amz-content-sha256") == k_empty_payload);
  CHECK(signature_in(s3_example({.url = "/?lifecycle"})) ==
        "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  CHECK(signature_in(s3_example({.url = "/?prefix=J&max-keys=2"})) ==
        "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
  const std::string body = "Welcome to Amazon S3.";
  CHECK(signature_in(s3_example(
            {.method = "PUT",
             .url = "/test%24file.text",
             .headers = {{"Date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
             .body = body},
            sha256_hex(body))) == "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

// Made by botocore 1.44.5: S3SigV4Auth (Range: bytes=5-9, If-Match: "abc"), at 2026-11-03T23:59:59Z.
TEST_CASE("Odd keys are signed as botocore signs them") {
  struct Example {
    std::string key;
    std::string plain;
    std::string temporary;
  };
  const std::vector<Example> examples = {
      {"class=cat/a+b c%20d.jpg", "7169b5f486e39ec19e2353520f5d1e38cf3576a9ba33b15722d54602f1943a39",
       "b4e67fb1685d17002694b840d046ba8d7ffdd104024ef4779a2034d07b067cc3"},
      {"a//b/./c/../d", "4d3ef92a479917508235de5006fa6707dbb42528c43f2bdb1e29c19649d1307e",
       "aa32a745f27698d5ba45c260f4c9150c917f341395fa9026428a02b3025f3eba"},
      {"\xC3\xBCml\xC3\xA4ut/\xE4\xB8\xAD~!*'()&$@:;,",
       "426c9541532c1e8f07839bb5dd1a4c30568d9bd56ad1c7116f81c8c43ce05956",
       "71799bd57e0dedbfefcbc2ec6ae0dcca3e85c823e768c5e62ed961dd45b0922b"},
      {"%2F%%", "683ffffa932d0c19295d60fa047f2db13e46b8473b07eec39bca188d84e28381",
       "1b25753a871f9fe862d2d9d169ced6737a2c9d489a775f9aa7e8c63fba9fd076"},
  };
  const UtcTime now = *parse_utc_time("2026-11-03T23:59:59Z");
  const S3Settings aws{.region = "eu-central-1"};
  const S3GetOptions options{.range = FileRange{.offset = 5, .length = 5}, .if_match = "\"abc\""};
  for (const Example& example : examples) {
    CAPTURE(example.key);
    const S3Location location{.bucket = "my-bucket", .key = example.key};
    CHECK(signature_in(get_object_request(aws, location, k_example, now, options)) == example.plain);
    HttpRequest request = get_object_request(aws, location, k_temporary, now, options);
    CHECK(signature_in(request) == example.temporary);
    CHECK(signed_header(request, "x-amz-security-token") == k_temporary.session_token);
  }
  const S3Settings paid{.region = "eu-central-1", .requester_pays = true};
  const S3ListQuery query{.prefix = "class=cat/a+b c", .delimiter = "/", .continuation_token = "1/ab==", .max_keys = 7};
  const HttpRequest list = list_objects_request(paid, "my-bucket", query, k_temporary, now);
  CHECK(signature_in(list) == "5bbe879cbea328f38f8e47643b7fce2d506bcd224c31aadaab8f7c89d743a006");
}

TEST_CASE("A request can be signed again") {
  const S3Settings settings;
  const S3Location location{.bucket = "my-bucket", .key = "a"};
  const UtcTime first = *parse_utc_time("2026-11-03T23:59:59Z");
  HttpRequest request = get_object_request(settings, location, k_temporary, first);
  request.headers.emplace_back("User-Agent", "bale");
  const SigningScope later{.region = "us-east-1", .time = first + std::chrono::seconds{1}};
  sign_request(request, k_example, later, k_empty_payload);
  CHECK(signature_in(request) == signature_in(get_object_request(settings, location, k_example, later.time)));
  CHECK(signed_header(request, "x-amz-date") == "20261104T000000Z");
  CHECK(signed_header(request, "x-amz-security-token").empty());
  CHECK(signed_headers_in(request) == "host;x-amz-content-sha256;x-amz-date");
}

TEST_CASE("The Host header that is signed is the one that is sent") {
  const SigningScope scope{.region = "us-east-1"};
  const auto sign = [&](const std::string& url) {
    HttpRequest request{.url = url};
    sign_request(request, k_example, scope, k_empty_payload);
    return signature_in(request);
  };
  CHECK(sign("https://host/a") == sign("https://host:443/a"));
  CHECK(sign("https://host/a") == sign("http://host:80/a"));
  CHECK(sign("https://host/a") == sign("https://user:password@host/a"));
  CHECK(sign("https://host/a") != sign("https://host:80/a"));
  CHECK(sign("http://[::1]/a") != sign("http://[::1]:9000/a"));
  CHECK(sign("http://[::1]/a") == sign("http://[::1]:80/a"));
  CHECK(sign("https://host/a?b&a=2&a=1") == sign("https://host/a?a=1&a=2&b="));
  CHECK(sign("https://host") == sign("https://host/"));
  for (const char* bad : {"", "host/a", "://host", "https://", "https:///a"}) {
    CAPTURE(bad);
    CHECK(test::code_of([&] { sign(bad); }) == ErrorCode::invalid_argument);
  }
}

TEST_CASE("Percent-encoding keeps every byte") {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  CHECK(percent_decode(percent_encode(all, false), false) == all);
  CHECK(percent_decode(percent_encode(all, true), true) == all);
  CHECK(percent_encode("a/b+c d~\xFF", false) == "a%2Fb%2Bc%20d~%FF");
  CHECK(percent_encode("a/b", true) == "a/b");
  CHECK(percent_decode("a+b%2b", true) == "a b+");
  CHECK(percent_decode("a+b%2B", false) == "a+b+");
  for (const char* bad : {"%", "a%2", "%zz", "%2g"}) CHECK(!percent_decode(bad, false));
}

TEST_CASE("Times of AWS are read and written") {
  const UtcTime time = *parse_utc_time("2024-02-29T23:59:58Z");
  CHECK(compact_utc_time(time) == "20240229T235958Z");
  CHECK(parse_utc_time("2024-02-29T23:59:58.123Z") == time);
  CHECK(parse_utc_time("2024-03-01T01:29:58+01:30") == time);
  CHECK(parse_utc_time("2024-02-29T22:59:58-0100") == time);
  for (const char* bad : {"", "2024-02-29", "2023-02-29T00:00:00Z", "2024-02-29T24:00:00Z", "2024-02-29T23:59:58",
                          "2024-02-29T23:59:58Zx", "2024-2-29T23:59:58Z", "+024-02-29T23:59:58Z"}) {
    CAPTURE(bad);
    CHECK(!parse_utc_time(bad));
  }
}

TEST_CASE("S3 URLs are taken apart without decoding") {
  CHECK(parse_s3_url("s3://bucket/a/b%20c+d//e?f#g") == S3Location{"bucket", "a/b%20c+d//e?f#g"});
  CHECK(parse_s3_url("s3://bucket") == S3Location{"bucket", ""});
  CHECK(parse_s3_url("s3://bucket/") == S3Location{"bucket", ""});
  CHECK(parse_s3_url("s3://bucket//a") == S3Location{"bucket", "/a"});
  CHECK(parse_s3_url("s3://My.old_Bucket/a") == S3Location{"My.old_Bucket", "a"});
  for (const char* bad : {"", "s3:", "s3:/bucket/a", "s3://", "s3:///a", "bucket/a", "s3://a b/c", "s3://user@host/a",
                          "s3://host:90/a", "s3://.a/b", "s3://a./b", "s3://a..b/c", "s3://b\xC3\xBC/c", "s3://a?b"}) {
    CAPTURE(bad);
    const Error error = test::error_of([&] { parse_s3_url(bad); });
    CHECK(error.code() == ErrorCode::invalid_argument);
    CHECK(!error.context().hint.empty());
  }
}

TEST_CASE("URLs of objects and listings follow the addressing style") {
  const S3Settings aws{.region = "eu-west-1"};
  CHECK(object_url(aws, {"my-bucket", "a b/c=d"}) == "https://my-bucket.s3.eu-west-1.amazonaws.com/a%20b/c%3Dd");
  CHECK(object_url(aws, {"my.bucket", "a"}) == "https://s3.eu-west-1.amazonaws.com/my.bucket/a");
  CHECK(object_url(aws, {"Bucket", "/a"}) == "https://s3.eu-west-1.amazonaws.com/Bucket//a");
  CHECK(object_url({.region = "cn-north-1"}, {"bucket", "a"}) == "https://bucket.s3.cn-north-1.amazonaws.com.cn/a");
  CHECK(object_url({.addressing = S3Addressing::path}, {"bucket", "a"}) ==
        "https://s3.us-east-1.amazonaws.com/bucket/a");
  const S3Settings own{.endpoint = "http://storage:9000/prefix"};
  CHECK(object_url(own, {"bucket", "a"}) == "http://storage:9000/prefix/bucket/a");
  const S3Settings own_virtual{.endpoint = own.endpoint, .addressing = S3Addressing::virtual_host};
  CHECK(object_url(own_virtual, {"bucket", "a"}) == "http://bucket.storage:9000/prefix/a");
  const S3Settings address{.endpoint = "http://10.0.0.1:9000", .addressing = S3Addressing::virtual_host};
  CHECK(object_url(address, {"bucket", "a"}) == "http://10.0.0.1:9000/bucket/a");
  CHECK(list_objects_url(aws, "bucket", {}) ==
        "https://bucket.s3.eu-west-1.amazonaws.com/?encoding-type=url&list-type=2");
  CHECK(list_objects_url(own, "bucket",
                         {.prefix = "a/ b", .delimiter = "/", .continuation_token = "x+y=", .max_keys = 5}) ==
        "http://storage:9000/prefix/bucket?continuation-token=x%2By%3D&delimiter=%2F&encoding-type=url&list-type=2&"
        "max-keys=5&prefix=a%2F%20b");
}

TEST_CASE("The settings of S3 come from the environment") {
  const S3Settings usual = read_s3_settings(context_of({}));
  CHECK(usual.region == "us-east-1");
  CHECK(usual.endpoint.empty());
  CHECK(usual.addressing == S3Addressing::automatic);
  CHECK(!usual.requester_pays);
  const S3Settings chosen = read_s3_settings(context_of({{"AWS_REGION", "a-1"},
                                                         {"AWS_DEFAULT_REGION", "b-1"},
                                                         {"AWS_ENDPOINT_URL", "http://other"},
                                                         {"AWS_ENDPOINT_URL_S3", "http://own:9000/"},
                                                         {"AWS_S3_ADDRESSING_STYLE", "virtual"},
                                                         {"AWS_REQUEST_PAYER", "requester"}}));
  CHECK(chosen.region == "a-1");
  CHECK(chosen.endpoint == "http://own:9000");
  CHECK(chosen.addressing == S3Addressing::virtual_host);
  CHECK(chosen.requester_pays);
  CHECK(read_s3_settings(context_of({{"AWS_DEFAULT_REGION", "b-1"}, {"AWS_REGION", ""}})).region == "b-1");
  CHECK(read_s3_settings(context_of({{"AWS_ENDPOINT_URL", "https://other"}})).endpoint == "https://other");
  const auto fails = [&](const std::string& name, const std::string& value) {
    return test::error_of([&] { read_s3_settings(context_of({{name, value}})); });
  };
  CHECK(fails("AWS_REGION", "evil.example/").code() == ErrorCode::invalid_argument);
  CHECK(fails("AWS_ENDPOINT_URL_S3", "host:9000").code() == ErrorCode::invalid_argument);
  CHECK(fails("AWS_ENDPOINT_URL_S3", "https://").code() == ErrorCode::invalid_argument);
  CHECK_THAT(fails("AWS_ENDPOINT_URL_S3", "https://me:hidden@host").what(), !ContainsSubstring("hidden"));
  CHECK(fails("AWS_S3_ADDRESSING_STYLE", "sideways").code() == ErrorCode::invalid_argument);
  CHECK(fails("AWS_REQUEST_PAYER", "me").code() == ErrorCode::invalid_argument);
}

TEST_CASE("Requests for objects have the conditions that were requested") {
  const S3Location location{.bucket = "bucket", .key = "a"};
  const HttpRequest plain = get_object_request({}, location, std::nullopt, UtcTime{});
  CHECK(plain.headers.empty());
  CHECK(!plain.follow_redirects);
  const std::uint64_t far = std::uint64_t{1} << 40;
  const HttpRequest request = get_object_request(
      {.requester_pays = true}, location, std::nullopt, UtcTime{},
      {.range = FileRange{.offset = far, .length = far}, .if_match = "\"x\"", .if_none_match = "\"y\""});
  CHECK(signed_header(request, "Range") == "bytes=1099511627776-2199023255551");
  CHECK(signed_header(request, "If-Match") == "\"x\"");
  CHECK(signed_header(request, "If-None-Match") == "\"y\"");
  CHECK(signed_header(request, "x-amz-request-payer") == "requester");
  CHECK(request.max_body_bytes == far);
  CHECK(test::code_of([&] {
          get_object_request({}, location, std::nullopt, UtcTime{}, {.range = FileRange{.offset = 5, .length = 0}});
        }) == ErrorCode::invalid_argument);
}

TEST_CASE("Listings are read") {
  const S3Listing listing = listing_of(
      "<Name>bucket</Name><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
      "<Contents><Key>a+b/%2B%C3%BC%0A%25.tar</Key><Size>18446744073709551615</Size><ETag>&quot;e-2&quot;</ETag>"
      "<StorageClass>STANDARD</StorageClass></Contents>"
      "<Contents><Key>c%20d</Key><Size>0</Size><ETag>e</ETag></Contents>"
      "<Contents><Key>f</Key><Size>0</Size></Contents>"
      "<CommonPrefixes><Prefix>e+f%2F</Prefix></CommonPrefixes>"
      "<NextContinuationToken>1%2F+=</NextContinuationToken>");
  REQUIRE(listing.objects.size() == 3);
  CHECK(listing.objects[0].key == "a b/+\xC3\xBC\n%.tar");
  CHECK(listing.objects[0].size == 18446744073709551615ULL);
  CHECK(listing.objects[0].etag == "\"e-2\"");
  CHECK(listing.objects[1].key == "c d");
  CHECK(listing.objects[1].etag == "\"e\"");
  CHECK(listing.objects[2].etag.empty());
  CHECK(listing.common_prefixes == std::vector<std::string>{"e f/"});
  CHECK(listing.continuation_token == "1%2F+=");
  const S3Listing raw = listing_of(
      "<IsTruncated>false</IsTruncated><Contents><Key> a+b%20&amp;</Key><Size>1</Size>"
      "</Contents><Contents><Key> </Key><Size>1</Size></Contents>");
  REQUIRE(raw.objects.size() == 2);
  CHECK(raw.objects[0].key == " a+b%20&");
  CHECK(raw.objects[1].key == " ");
  CHECK(raw.continuation_token.empty());
  CHECK(listing_of("<IsTruncated>false</IsTruncated>").objects.empty());
}

TEST_CASE("What is not a complete listing is damaged") {
  const std::string end = "<IsTruncated>false</IsTruncated>";
  const std::string url = "<EncodingType>url</EncodingType>";
  for (const std::string& content : std::vector<std::string>{
           "", "<IsTruncated>true</IsTruncated>", end + "<Contents><Size>1</Size></Contents>",
           end + "<Contents><Key>a</Key></Contents>", end + "<Contents><Key>a</Key><Size>-1</Size></Contents>",
           end + "<Contents><Key>a</Key><Size>1x</Size></Contents>",
           end + "<Contents><Key>a</Key><Size>18446744073709551616</Size></Contents>",
           end + url + "<Contents><Key>a%2</Key><Size>1</Size></Contents>",
           end + url + "<Contents><Key>a%00b</Key><Size>1</Size></Contents>", end + "<CommonPrefixes></CommonPrefixes>",
           end + "<Contents>", end + std::string("<Contents><Key>a\0b</Key><Size>1</Size></Contents>", 49)}) {
    CAPTURE(content);
    CHECK(test::code_of([&] { listing_of(content); }) == ErrorCode::damaged);
  }
  for (const char* text : {"", "<html><body>hello</body></html>", "{}", "<Error><Code>NoSuchBucket</Code></Error>"}) {
    CAPTURE(text);
    CHECK(test::code_of([&] { parse_object_listing(as_bytes(text)); }) == ErrorCode::damaged);
  }
}

TEST_CASE("Answers about uploads are read, and damaged ones are not") {
  CHECK(parse_upload_id(
            as_bytes("<InitiateMultipartUploadResult><UploadId>7</UploadId></InitiateMultipartUploadResult>")) == "7");
  CHECK(parse_upload_id(as_bytes("<InitiateMultipartUpload><UploadId>7</UploadId></InitiateMultipartUpload>")) == "7");
  const auto listing_of_uploads = [](const std::string& content) {
    return parse_upload_listing(as_bytes("<ListMultipartUploadsResult>" + content + "</ListMultipartUploadsResult>"));
  };
  const std::string upload = "<Upload><Key>a%2Fb+c</Key><UploadId>7</UploadId></Upload>";
  CHECK(listing_of_uploads(upload).uploads.at(0).key == "a%2Fb+c");
  CHECK(listing_of_uploads("<EncodingType>url</EncodingType>" + upload).uploads.at(0).key == "a/b c");
  const std::string more = "<IsTruncated>true</IsTruncated>";
  CHECK(listing_of_uploads(more + "<NextKeyMarker>k</NextKeyMarker>").next_key == "k");
  using namespace std::string_literals;
  for (const std::string& content : {more, "<EncodingType>url</EncodingType><Upload><Key>a%2</Key></Upload>"s,
                                     "<EncodingType>url</EncodingType><Upload><Key>a%00b</Key></Upload>"s, "<Upload>"s,
                                     "<Upload><Key>a\0b</Key><UploadId>7</UploadId></Upload>"s}) {
    CAPTURE(content);
    CHECK(test::code_of([&] { listing_of_uploads(content); }) == ErrorCode::damaged);
  }
  for (const char* text : {"", "{}", "<html/>", "<InitiateMultipartUploadResult/>"}) {
    CAPTURE(text);
    CHECK(test::code_of([&] { parse_upload_id(as_bytes(text)); }) == ErrorCode::damaged);
    CHECK(test::code_of([&] { parse_upload_listing(as_bytes(text)); }) == ErrorCode::damaged);
  }
}

TEST_CASE("Error answers of S3 are read, and others are not") {
  const S3ErrorAnswer error = parse_s3_error(
      as_bytes("<?xml version=\"1.0\"?><Error><Code>AuthorizationHeaderMalformed</Code><Message>The region is wrong\x01"
               "</Message><Region>eu-west-1</Region><RequestId>1</RequestId></Error>"));
  CHECK(error.code == "AuthorizationHeaderMalformed");
  CHECK(error.message == "The region is wrong\\x01");
  CHECK(error.region == "eu-west-1");
  for (const char* text : {"", "<html/>", "not found", "<Error>"}) {
    CAPTURE(text);
    CHECK(parse_s3_error(as_bytes(text)).code.empty());
  }
}
