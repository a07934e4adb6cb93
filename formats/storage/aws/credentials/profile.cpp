#include "bale/formats/storage/aws/credentials/profile.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/errors/error_reason.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/text/ascii_case.hpp"

namespace bale {
namespace {

using Settings = std::map<std::string, std::string>;
using Sections = std::map<std::string, Settings>;

constexpr std::uint64_t k_largest_file = std::uint64_t{1} << 20;
constexpr std::string_view k_blanks = " \t\r";

/// Without a comment at the end, which a blank precedes.
std::string_view without_comment(std::string_view value) {
  for (std::size_t at = 0; at + 1 < value.size(); ++at) {
    const bool is_blank = value[at] == ' ' || value[at] == '\t';
    if (is_blank && (value[at + 1] == '#' || value[at + 1] == ';')) return stripped(value.substr(0, at));
  }
  return stripped(value);
}

/// "profile 'my team'" -> "profile my team".
std::string section_name(std::string_view text) {
  text = stripped(text);
  const std::size_t space = text.find_first_of(k_blanks);
  if (space == std::string_view::npos) return std::string(text);
  std::string_view name = stripped(text.substr(space));
  const bool is_quoted =
      name.size() >= 2 && (name.front() == '"' || name.front() == '\'') && name.back() == name.front();
  if (is_quoted) name = name.substr(1, name.size() - 2);
  return fmt::format("{} {}", text.substr(0, space), name);
}

/// Reads a file line by line. A line that is indented deeper than the setting before it is nested in that setting.
class ProfileParser {
 public:
  explicit ProfileParser(const std::string& path) : path_(path) {}

  Sections parse(std::string_view text) {
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      ++line_number_;
      take_line(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return std::move(sections_);
  }

 private:
  void take_line(std::string_view line) {
    const std::string_view content = stripped(line);
    if (content.empty() || content.front() == '#' || content.front() == ';') return;
    const std::size_t indent = line.find_first_not_of(k_blanks);
    const bool is_nested = !setting_.empty() && indent > indent_;
    if (!is_nested && content.front() == '[') return start_section(content);
    const std::size_t equals = content.find('=');
    if (section_ == nullptr || (equals == std::string_view::npos && !is_nested)) fail();
    const std::string name = lower_case(std::string(stripped(content.substr(0, equals))));
    const std::string value(equals < content.size() ? without_comment(content.substr(equals + 1)) : "");
    if (name.empty()) fail();
    if (!is_nested) {
      setting_ = name;
      indent_ = indent;
      (*section_)[name] = value;
    } else if ((*section_)[setting_].empty()) {
      (*section_)[setting_ + "." + name] = value;
    }  // else the line continues a long value, which none of the settings has that bale reads
  }

  void start_section(std::string_view content) {
    const std::size_t close = content.find(']');
    if (close == std::string_view::npos) fail();
    section_ = &sections_[section_name(content.substr(1, close - 1))];
    setting_.clear();
  }

  [[noreturn]] void fail() const {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("line {} is neither \"[section]\" nor \"name = value\"", line_number_),
                {.path = path_, .hint = "correct the line"});
  }

  const std::string& path_;
  Sections sections_{};
  Settings* section_ = nullptr;
  std::string setting_{};  // the last one that is not nested
  std::size_t indent_ = 0;
  std::size_t line_number_ = 0;
};

Sections read_sections(const AwsContext& context, const char* variable, const char* usual) {
  const std::string path = expand_home(context, context.setting(variable).value_or(usual));
  if (path == "/dev/null" || ::access(path.c_str(), F_OK) != 0) return {};
  return ProfileParser(path).parse(read_configuration(path, "the AWS configuration"));
}

const Settings* find_section(const Sections& sections, const std::string& name) {
  const auto found = sections.find(name);
  return found == sections.end() ? nullptr : &found->second;
}

void add_secrets(const Settings& secrets, Profile& profile) {
  if (secrets.contains("aws_access_key_id")) {
    // A key pair is never mixed from both files.
    for (const char* name : {"aws_access_key_id", "aws_secret_access_key", "aws_session_token"}) {
      profile.settings.erase(name);
    }
  }
  for (const auto& [name, value] : secrets) profile.settings[name] = value;
}

void add_services(const Sections& config, Profile& profile) {
  const Settings* const services = find_section(config, "services " + profile.setting("services").value_or(""));
  if (services == nullptr) return;
  for (const auto& [name, value] : *services) profile.settings["services." + name] = value;
}

}  // namespace

std::optional<std::string> Profile::setting(const std::string& setting_name) const {
  const auto found = settings.find(setting_name);
  if (found == settings.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

Profile load_profile(const AwsContext& context) {
  std::optional<std::string> chosen = context.setting("AWS_PROFILE");
  if (!chosen) chosen = context.setting("AWS_DEFAULT_PROFILE");  // as boto3 does
  Profile profile{.name = chosen.value_or("default")};
  const Sections config = read_sections(context, "AWS_CONFIG_FILE", "~/.aws/config");
  const Sections secrets = read_sections(context, "AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials");
  const Settings* configured = find_section(config, "profile " + profile.name);
  if (configured == nullptr && profile.name == "default") configured = find_section(config, "default");
  const Settings* const secret = find_section(secrets, profile.name);
  if (configured == nullptr && secret == nullptr && chosen) {
    throw Error(ErrorCode::invalid_argument, fmt::format("there is no AWS profile \"{}\"", printable(*chosen)),
                {.hint = "correct AWS_PROFILE, AWS_CONFIG_FILE or AWS_SHARED_CREDENTIALS_FILE"});
  }
  if (configured != nullptr) profile.settings = *configured;
  if (secret != nullptr) add_secrets(*secret, profile);
  add_services(config, profile);
  return profile;
}

std::optional<std::string> configured_endpoint(const AwsContext& context, const Profile& profile,
                                               const std::string& service) {
  if (context.is_on("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")) return std::nullopt;
  const std::string variable = service == "s3" ? "AWS_ENDPOINT_URL_S3" : "AWS_ENDPOINT_URL_STS";
  if (auto endpoint = context.setting(variable)) return endpoint;
  if (auto endpoint = context.setting("AWS_ENDPOINT_URL")) return endpoint;
  if (auto endpoint = service == "s3" ? context.setting("S3_ENDPOINT_URL") : std::nullopt) return endpoint;  // of s5cmd
  if (auto endpoint = profile.setting("services." + service + ".endpoint_url")) return endpoint;
  return profile.setting("endpoint_url");
}

std::optional<std::string> configured_region(const AwsContext& context, const Profile& profile) {
  if (auto region = context.setting("AWS_REGION")) return region;
  if (auto region = context.setting("AWS_DEFAULT_REGION")) return region;
  return profile.setting("region");
}

Certificates configured_certificates(const AwsContext& context, const Profile& profile) {
  const auto named = context.setting("AWS_CA_BUNDLE");
  return Certificates::at(expand_home(context, named ? *named : profile.setting("ca_bundle").value_or("")));
}

std::string expand_home(const AwsContext& context, const std::string& path) {
  if (!path.starts_with("~/")) return path;
  return context.setting("HOME").value_or("") + path.substr(1);
}

std::string read_configuration(const std::string& path, const std::string& what) {
  try {
    const std::vector<std::byte> bytes = read_file(path, k_largest_file);
    return std::string(as_text(bytes));
  } catch (const Error& error) {
    throw Error(ErrorCode::invalid_argument, fmt::format("{} cannot be read: {}", what, error_reason(error)),
                {.path = path, .hint = "correct the path or the file's permissions"});
  }
}

}  // namespace bale
