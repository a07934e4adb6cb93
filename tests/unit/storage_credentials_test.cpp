// Where AWS credentials are found, and when they are fetched again.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/storage/aws/credential_process.hpp"
#include "bale/formats/storage/aws/credential_sources.hpp"
#include "bale/formats/storage/aws/credentials.hpp"
#include "bale/formats/storage/aws/profile.hpp"
#include "bale/formats/storage/aws/s3_location.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/support/temp_dir.hpp"
#include "bale/tests/support/text_file.hpp"

using namespace bale;

namespace {

const UtcTime k_start = *parse_utc_time("2026-11-03T12:00:00Z");

HttpResponse answer(long status, const std::string& body = "") {
  const Bytes bytes = as_bytes(body);
  return {.status = status, .body = {bytes.begin(), bytes.end()}};
}

std::string json_keys(const std::string& id, const std::string& expiration) {
  return fmt::format(R"({{"Code": "Success", "AccessKeyId": "{}", "SecretAccessKey": "s3cr3t", "Token": "t0ken", )"
                     R"("Expiration": "{}"}})",
                     id, expiration);
}

std::string header_of(const HttpRequest& request, const std::string& name) {
  for (const auto& [key, value] : request.headers) {
    if (key == name) return value;
  }
  return "";
}

/// A machine: its environment, its home directory, its clock, and the servers that it reaches.
struct Machine {
  test::TempDir home{};
  std::map<std::string, std::string> variables{};
  std::function<HttpResponse(const HttpRequest&)> server = [](const HttpRequest&) -> HttpResponse {
    throw Error(ErrorCode::retryable, "the connection failed");
  };
  std::vector<HttpRequest> requests{};
  UtcTime now = k_start;

  AwsContext context() {
    return {.variable = [this](const std::string& name) -> std::optional<std::string> {
              if (name == "HOME") return home.path();
              const auto found = variables.find(name);
              if (found == variables.end()) return std::nullopt;
              return found->second;
            },
            .perform =
                [this](HttpRequest request) {
                  requests.push_back(request);
                  return server(request);
                },
            .now = [this] { return now; },
            .pause = [](std::chrono::milliseconds) {}};
  }
  std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(home / ".aws");
    test::spit(home / name, text);
    return home / name;
  }
  std::optional<Credentials> find() { return find_credentials(context()); }
  std::string found_id() {
    const auto found = find();
    return found ? found->access_key_id : "none";
  }
  Error failure() {
    return test::error_of([&] { find(); });
  }
};

/// The instance metadata of a machine with the role "a role".
HttpResponse metadata_answer(const HttpRequest& request, const std::string& expiration) {
  if (request.method == "PUT") {
    CHECK(request.url == "http://169.254.169.254/latest/api/token");
    CHECK(header_of(request, "x-aws-ec2-metadata-token-ttl-seconds") == "21600");
    return answer(200, "session");
  }
  CHECK(header_of(request, "x-aws-ec2-metadata-token") == "session");
  const std::string roles = "http://169.254.169.254/latest/meta-data/iam/security-credentials/";
  if (request.url == roles) return answer(200, "a role\n");
  CHECK(request.url == roles + "a%20role");
  return answer(200, json_keys("INSTANCE", expiration));
}

/// A container whose server returns keys that are numbered and expire an hour after they were made.
struct Container : Machine {
  int num_keys = 0;
  long status = 200;

  Container() {
    variables["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "/role";
    server = [this](const HttpRequest&) {
      if (status != 200) return answer(status);
      ++num_keys;
      const auto seconds = (now - k_start + std::chrono::hours{1}) / std::chrono::seconds{1};
      return answer(200, json_keys(fmt::format("KEY{}", num_keys),
                                   fmt::format("2026-11-03T{:02}:{:02}:{:02}Z", 12 + seconds / 3600, seconds / 60 % 60,
                                               seconds % 60)));
    };
  }
};

}  // namespace

TEST_CASE("Credentials of the environment come first") {
  Machine machine;
  machine.variables = {{"AWS_ACCESS_KEY_ID", "ENV"}, {"AWS_SECRET_ACCESS_KEY", "s3cr3t"}};
  machine.write(".aws/credentials", "[default]\naws_access_key_id = FILE\naws_secret_access_key = x\n");
  CHECK(machine.find() == Credentials{.access_key_id = "ENV", .secret_access_key = "s3cr3t"});
  machine.variables["AWS_SESSION_TOKEN"] = "t0ken";
  CHECK(machine.find()->session_token == "t0ken");
  machine.variables["AWS_ACCESS_KEY_ID"] = "";
  const Error error = machine.failure();
  CHECK(error.code() == ErrorCode::invalid_argument);
  CHECK(std::string(error.what()) ==
        "AWS credentials from the environment: AWS_ACCESS_KEY_ID is not set; set AWS_ACCESS_KEY_ID and "
        "AWS_SECRET_ACCESS_KEY, or neither");
  machine.variables["AWS_SECRET_ACCESS_KEY"] = "";
  CHECK(machine.found_id() == "FILE");
  for (const char* value : {"yes", "TRUE", "1"}) {
    machine.variables["AWS_NO_SIGN_REQUEST"] = value;
    CHECK(machine.found_id() == "none");
  }
  machine.variables["AWS_NO_SIGN_REQUEST"] = "no";
  CHECK(machine.found_id() == "FILE");
  CHECK(machine.requests.empty());
}

TEST_CASE("A machine without credentials is anonymous after two short requests") {
  Machine machine;
  CHECK(machine.found_id() == "none");
  REQUIRE(machine.requests.size() == 2);
  CHECK(machine.requests[0].total_timeout == std::chrono::seconds{1});
  CHECK(machine.requests[0].connect_timeout == std::chrono::seconds{1});
  CHECK(!machine.requests[0].follow_redirects);
  machine.requests.clear();
  machine.variables["AWS_EC2_METADATA_DISABLED"] = "true";
  CHECK(machine.found_id() == "none");
  CHECK(machine.requests.empty());
}

TEST_CASE("Profiles are read from both files") {
  Machine machine;
  machine.write(".aws/config",
                "\xEF\xBB\xBF# a comment\r\n"
                "[default]\r\n"
                "region = eu-west-1   # Ireland\r\n"
                "aws_access_key_id = CONFIG\n"
                "aws_secret_access_key = s3cr3t\n"
                "aws_session_token = of-config\n"
                "\n"
                "[profile  'my team'] ; ours\n"
                "  Region=eu-west-2\n"
                "  services = local\n"
                "  endpoint_url = https://general\n"
                "  s3 =\n"
                "    addressing_style = path\n"
                "    # a comment\n"
                "    max_concurrent_requests = 20\n"
                "  output = json\n"
                "[services local]\n"
                "s3 =\n"
                "  endpoint_url = http://local:9000\n");
  machine.write(".aws/credentials",
                "[default]\naws_access_key_id=FILE\naws_secret_access_key=a=b/+c\n\n[my team]\n"
                "aws_access_key_id=TEAM\naws_secret_access_key=x\n");
  CHECK(machine.find() == Credentials{.access_key_id = "FILE", .secret_access_key = "a=b/+c"});
  CHECK(read_s3_settings(machine.context()).region == "eu-west-1");
  machine.variables["AWS_PROFILE"] = "my team";
  CHECK(machine.found_id() == "TEAM");
  const S3Settings settings = read_s3_settings(machine.context());
  CHECK(settings.region == "eu-west-2");
  CHECK(settings.addressing == S3Addressing::path);
  CHECK(settings.endpoint == "http://local:9000");
  const Profile profile = load_profile(machine.context());
  CHECK(profile.setting("output") == "json");
  CHECK(profile.setting("s3.max_concurrent_requests") == "20");
  CHECK(configured_endpoint(machine.context(), profile, "sts") == "https://general");
  machine.variables["AWS_S3_ADDRESSING_STYLE"] = "virtual";
  machine.variables["AWS_ENDPOINT_URL"] = "http://environment";
  CHECK(read_s3_settings(machine.context()).addressing == S3Addressing::virtual_host);
  CHECK(read_s3_settings(machine.context()).endpoint == "http://environment");
  machine.variables["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] = "true";
  CHECK(read_s3_settings(machine.context()).endpoint.empty());
  machine.variables["AWS_PROFILE"] = "missing";
  CHECK(machine.failure().code() == ErrorCode::invalid_argument);
  CHECK(test::code_of([&] { read_s3_settings(machine.context()); }) == ErrorCode::invalid_argument);
}

TEST_CASE("The shared files may lie elsewhere") {
  Machine machine;
  machine.variables["AWS_SHARED_CREDENTIALS_FILE"] = "~/keys";
  machine.variables["AWS_CONFIG_FILE"] = "/dev/null";
  machine.write("keys", "[default]\naws_access_key_id = HERE\naws_secret_access_key = x");
  CHECK(machine.found_id() == "HERE");
  machine.variables["AWS_SHARED_CREDENTIALS_FILE"] = machine.home.path();  // a directory
  CHECK(machine.failure().code() == ErrorCode::invalid_argument);
  machine.variables["AWS_SHARED_CREDENTIALS_FILE"] = machine.home / "missing";
  machine.variables["AWS_EC2_METADATA_DISABLED"] = "true";
  CHECK(machine.found_id() == "none");
}

TEST_CASE("A shared file that cannot be understood is an error that shows none of it") {
  for (const char* text : {"[default]\ns3cr3t\n", "[default\nx = s3cr3t\n", "x = s3cr3t\n", "[default]\n= s3cr3t\n"}) {
    CAPTURE(text);
    Machine machine;
    const std::string path = machine.write(".aws/credentials", text);
    const Error error = machine.failure();
    CHECK(error.code() == ErrorCode::invalid_argument);
    CHECK(error.context().path == path);
    CHECK_THAT(error.what(), ContainsSubstring("line "));
    CHECK_THAT(error.what(), !ContainsSubstring("s3cr3t"));
  }
  Machine machine;
  machine.write(".aws/credentials", "[default]\naws_access_key_id = HALF\n");
  CHECK_THAT(machine.failure().what(), ContainsSubstring("aws_secret_access_key is not set"));
}

TEST_CASE("Profiles that bale does not support say what to do") {
  for (const char* text : {"role_arn = arn:aws:iam::1:role/a\nsource_profile = base\naws_access_key_id = A\n"
                           "aws_secret_access_key = B\n",
                           "sso_session = mine\n", "sso_start_url = https://a\n"}) {
    Machine machine;
    machine.write(".aws/config", std::string("[default]\n") + text);
    const Error error = machine.failure();
    CHECK(error.code() == ErrorCode::invalid_argument);
    CHECK_THAT(error.context().hint, ContainsSubstring("aws configure export-credentials --profile default"));
  }
}

TEST_CASE("credential_process runs a command without a shell") {
  Machine machine;
  const std::string keys = machine.write("keys.json",
                                         "{\"Version\": 1, \"AccessKeyId\": \"PROCESS\", "
                                         "\"SecretAccessKey\": \"x\", \"SessionToken\": \"y\", "
                                         "\"Expiration\": \"2026-11-03T13:00:00+00:00\"}");
  machine.write(".aws/config", "[default]\nrole_arn = a\ncredential_process = cat '" + keys + "'\n");
  const auto found = machine.find();
  REQUIRE(found);
  CHECK(found->access_key_id == "PROCESS");
  CHECK(found->session_token == "y");
  CHECK(found->expiration == k_start + std::chrono::hours{1});
  machine.write("keys.json",
                "{\"AccessKeyId\": \"PROCESS\", \"SecretAccessKey\": \"s3cr3t\", \"Expiration\": \"soon\"}");
  CHECK(machine.failure().code() == ErrorCode::invalid_argument);
  machine.write("keys.json", "{\"AccessKeyId\": s3cr3t}");
  CHECK_THAT(machine.failure().what(), !ContainsSubstring("s3cr3t"));

  const auto code_of = [](const std::string& command) {
    return test::code_of([&] { output_of_command(command, std::chrono::milliseconds{50}); });
  };
  CHECK(code_of("false") == ErrorCode::invalid_argument);
  CHECK(code_of("/nonexistent/program") == ErrorCode::invalid_argument);
  CHECK(code_of("sleep 100") == ErrorCode::invalid_argument);
  CHECK(code_of("cat /dev/zero") == ErrorCode::invalid_argument);
  CHECK(code_of("") == ErrorCode::invalid_argument);
  CHECK(code_of("echo 'a") == ErrorCode::invalid_argument);
  CHECK(output_of_command("sh -c 'cat; echo done'", std::chrono::seconds{30}) == "done\n");
  using Words = std::vector<std::string>;
  CHECK(split_command(R"(a  "b \" c"'d \ e' f\ g "" \\ "\n")") == Words{"a", "b \" cd \\ e", "f g", "", "\\", "\\n"});
}

TEST_CASE("A web identity is exchanged for credentials") {
  Machine machine;
  machine.variables = {{"AWS_WEB_IDENTITY_TOKEN_FILE", machine.write("token", "jw=t\n")},
                       {"AWS_ROLE_ARN", "arn:aws:iam::1:role/a"},
                       {"AWS_ROLE_SESSION_NAME", "me"},
                       {"AWS_REGION", "eu-west-1"}};
  machine.server = [&](const HttpRequest& request) {
    if (machine.requests.size() == 1) return answer(503);
    CHECK(request.method == "POST");
    CHECK(request.url == "https://sts.eu-west-1.amazonaws.com/");
    CHECK(header_of(request, "Authorization").empty());
    CHECK(request.body ==
          "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fa&"
          "RoleSessionName=me&WebIdentityToken=jw%3Dt");
    return answer(200,
                  "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">"
                  "<AssumeRoleWithWebIdentityResult><Credentials><SessionToken>t0ken</SessionToken>"
                  "<SecretAccessKey>s3cr3t</SecretAccessKey><Expiration>2026-11-03T13:00:00Z</Expiration>"
                  "<AccessKeyId>ROLE</AccessKeyId></Credentials></AssumeRoleWithWebIdentityResult>"
                  "</AssumeRoleWithWebIdentityResponse>");
  };
  const Credentials expected{.access_key_id = "ROLE",
                             .secret_access_key = "s3cr3t",
                             .session_token = "t0ken",
                             .expiration = k_start + std::chrono::hours{1}};
  CHECK(machine.find() == expected);
  CHECK(machine.requests.size() == 2);

  SECTION("of a profile, at another endpoint") {
    machine.write(".aws/config",
                  "[default]\nrole_arn = b\nweb_identity_token_file = " + (machine.home / "token") + "\n");
    machine.variables = {{"AWS_ENDPOINT_URL_STS", "http://sts.local"}};
    std::string url;
    machine.server = [&](const HttpRequest& request) {
      url = request.url;
      CHECK_THAT(request.body, ContainsSubstring("RoleArn=b&RoleSessionName=bale-20261103T120000Z&"));
      return answer(400,
                    "<ErrorResponse><Error><Code>InvalidIdentityToken</Code><Message>bad</Message></Error>"
                    "</ErrorResponse>");
    };
    const Error error = machine.failure();
    CHECK(url == "http://sts.local/");
    CHECK(error.code() == ErrorCode::invalid_argument);
    CHECK(std::string(error.what()) ==
          "AWS credentials from web identity (b): STS answered 400 (InvalidIdentityToken: bad); check the role's trust "
          "policy and the token file");
  }
  SECTION("fails") {
    machine.requests.clear();
    machine.server = [](const HttpRequest&) { return answer(500); };
    CHECK(machine.failure().code() == ErrorCode::retryable);
    CHECK(machine.requests.size() == 3);
    machine.server = [](const HttpRequest&) { return answer(200, "<html/>"); };
    CHECK(machine.failure().code() == ErrorCode::retryable);
    machine.variables["AWS_WEB_IDENTITY_TOKEN_FILE"] = machine.home / "missing";
    CHECK(machine.failure().context().path == machine.home / "missing");
    machine.variables.erase("AWS_ROLE_ARN");
    CHECK(machine.failure().code() == ErrorCode::invalid_argument);
  }
}

TEST_CASE("Containers have a server for credentials") {
  Container machine;
  CHECK(machine.find() == Credentials{.access_key_id = "KEY1",
                                      .secret_access_key = "s3cr3t",
                                      .session_token = "t0ken",
                                      .expiration = k_start + std::chrono::hours{1}});
  CHECK(machine.requests.back().url == "http://169.254.170.2/role");
  CHECK(header_of(machine.requests.back(), "Authorization").empty());
  machine.variables["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "t0ken";
  machine.find();
  CHECK(header_of(machine.requests.back(), "Authorization") == "t0ken");
  machine.variables["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = machine.write("token", "of the file\n");
  machine.find();
  CHECK(header_of(machine.requests.back(), "Authorization") == "of the file");
  machine.write("token", "s3cr3t\r\nHost: evil\n");
  CHECK(machine.failure().code() == ErrorCode::invalid_argument);
  CHECK_THAT(machine.failure().what(), !ContainsSubstring("s3cr3t"));
  machine.write("token", "x");
  machine.status = 403;
  CHECK(machine.failure().code() == ErrorCode::invalid_argument);
  machine.status = 500;
  CHECK(machine.failure().code() == ErrorCode::retryable);
  machine.server = [](const HttpRequest&) { return answer(200, "{\"AccessKeyId\": \"A\"}"); };
  CHECK(machine.failure().code() == ErrorCode::retryable);
}

TEST_CASE("Only known hosts receive a container's token without TLS") {
  Container machine;
  machine.variables.erase("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  for (const char* url : {"http://169.254.170.23/v1/credentials", "http://[fd00:ec2::23]/v1", "http://127.0.0.1:80/a",
                          "http://127.1.2.3/a", "http://localhost:1338", "http://[::1]:8080/a", "https://any.host/a"}) {
    CAPTURE(url);
    machine.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = url;
    CHECK(machine.found_id() != "none");
    CHECK(machine.requests.back().url == url);
  }
  for (const char* url : {"http://example.com/a", "http://127.0.0.1@example.com/a", "http://127.0.0.1.example.com/",
                          "http://169.254.170.24/", "ftp://localhost/a", "localhost", "http://"}) {
    CAPTURE(url);
    machine.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = url;
    CHECK(machine.failure().code() == ErrorCode::invalid_argument);
  }
}

TEST_CASE("EC2 instances have metadata") {
  Machine machine;
  machine.server = [](const HttpRequest& request) { return metadata_answer(request, "2026-11-03T13:00:00Z"); };
  CHECK(machine.found_id() == "INSTANCE");
  CHECK(machine.requests.size() == 3);
  machine.server = [](const HttpRequest& request) {
    return request.method == "PUT" ? answer(200, "session") : answer(404, "no role");
  };
  CHECK(machine.found_id() == "none");
  machine.server = [](const HttpRequest&) { return answer(403); };
  CHECK(machine.found_id() == "none");
  machine.server = [](const HttpRequest& request) {
    return request.method == "PUT" ? answer(200, "session") : answer(500);
  };
  CHECK(machine.failure().code() == ErrorCode::retryable);
  std::string url;
  machine.server = [&](const HttpRequest& request) {
    url = request.url;
    return answer(404);
  };
  machine.variables["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = "http://localhost:1338/";
  machine.find();
  CHECK(url == "http://localhost:1338/latest/api/token");
}

TEST_CASE("Credentials are fetched again 5 minutes before they expire") {
  Container machine;
  CredentialProvider provider(machine.context());
  const auto id = [&] { return provider.get()->access_key_id; };
  CHECK(id() == "KEY1");
  machine.now += std::chrono::minutes{54};
  CHECK(id() == "KEY1");
  machine.now += std::chrono::minutes{2};
  CHECK(id() == "KEY2");
  CHECK(id() == "KEY2");

  SECTION("and the old ones are used while that fails") {
    machine.status = 500;
    machine.now += std::chrono::minutes{56};
    CHECK(id() == "KEY2");
    const std::size_t num_requests = machine.requests.size();
    CHECK(id() == "KEY2");
    CHECK(machine.requests.size() == num_requests);  // not again at once
    machine.now += std::chrono::minutes{1};
    CHECK(id() == "KEY2");
    CHECK(machine.requests.size() > num_requests);
    machine.now += std::chrono::minutes{3};
    CHECK(test::code_of(id) == ErrorCode::retryable);
    CHECK(test::code_of(id) == ErrorCode::retryable);
    machine.status = 200;
    CHECK(id() == "KEY3");
  }
  SECTION("or at once if a server refused them") {
    const Credentials refused = *provider.get();
    provider.invalidate({.access_key_id = "KEY1"});
    CHECK(id() == "KEY2");
    provider.invalidate(refused);
    CHECK(id() == "KEY3");
    provider.invalidate(refused);
    CHECK(id() == "KEY3");
  }
}

TEST_CASE("Credentials that have expired by this machine's clock are used, and fetched again after a while") {
  Machine machine;
  machine.server = [](const HttpRequest& request) { return metadata_answer(request, "2026-11-03T11:00:00Z"); };
  CredentialProvider provider(machine.context());
  CHECK(provider.get()->access_key_id == "INSTANCE");
  CHECK(provider.get()->access_key_id == "INSTANCE");
  CHECK(machine.requests.size() == 3);
  machine.now += std::chrono::minutes{1};
  CHECK(provider.get()->access_key_id == "INSTANCE");
  CHECK(machine.requests.size() == 6);
}

TEST_CASE("A provider that had credentials never becomes anonymous") {
  Machine machine;
  machine.server = [](const HttpRequest& request) { return metadata_answer(request, "2026-11-03T13:00:00Z"); };
  CredentialProvider provider(machine.context());
  CHECK(provider.get()->access_key_id == "INSTANCE");
  machine.server = [](const HttpRequest&) -> HttpResponse { throw Error(ErrorCode::retryable, "timed out"); };
  machine.now += std::chrono::minutes{57};
  CHECK(provider.get()->access_key_id == "INSTANCE");
  machine.now += std::chrono::minutes{4};
  CHECK(test::code_of([&] { provider.get(); }) == ErrorCode::retryable);
}

TEST_CASE("Anonymous stays anonymous") {
  Machine machine;
  CredentialProvider provider(machine.context());
  CHECK(!provider.get());
  machine.now += std::chrono::hours{100};
  CHECK(!provider.get());
  CHECK(machine.requests.size() == 2);
}

TEST_CASE("One thread fetches and the others wait") {
  Machine machine;
  std::atomic<int> num_fetches{0};
  std::atomic<bool> fails{false};
  AwsContext context = machine.context();
  machine.variables["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "/role";
  context.perform = [&](HttpRequest) {
    ++num_fetches;
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    return fails ? answer(400) : answer(200, json_keys("KEY", "2026-11-03T13:00:00Z"));
  };
  CredentialProvider provider(context);
  std::atomic<int> num_found{0};
  std::atomic<int> num_errors{0};
  const auto run = [&] {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        try {
          if (provider.get()->access_key_id == "KEY") ++num_found;
        } catch (const Error&) {
          ++num_errors;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  };
  run();
  CHECK(num_found == 8);
  CHECK(num_fetches == 1);
  provider.invalidate(*provider.get());
  fails = true;
  run();
  CHECK(num_errors == 8);
  CHECK(num_found == 8);
}
