// Where a machine's own AWS credentials are found: variables, files, a program.
#include <chrono>
#include <string>
#include <vector>

#include "bale/formats/storage/aws/credentials/credential_sources.hpp"
#include "bale/formats/storage/aws/credentials/credentials.hpp"
#include "bale/formats/storage/aws/credentials/profile.hpp"
#include "bale/formats/storage/aws/s3_location.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/unit/storage/aws_machine.hpp"

using namespace bale;
using test::k_start;
using test::Machine;

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
