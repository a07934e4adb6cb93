// AWS credentials that servers give, and when they are fetched again.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "bale/formats/storage/aws/credentials/credentials.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/unit/storage/aws_machine.hpp"

using namespace bale;
using test::answer;
using test::Container;
using test::header_of;
using test::json_keys;
using test::k_start;
using test::Machine;
using test::metadata_answer;

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
