#include <fmt/format.h>

#include "bale/formats/base/version.hpp"
#include "bale/tools/help/command_model.hpp"

namespace bale::tools {
namespace {

constexpr VariableModel k_variables[] = {
    {"BALE_CACHE_DIR",
     "Directory of the cache of remote files, or none (default: bale in XDG_CACHE_HOME or ~/.cache)."},
    {"BALE_CACHE_LIMIT", "Most bytes that the cache may take, such as 200GiB (default: 9/10 of what is free)."},
    {"BALE_NETWORK_TIMEOUT", "Seconds that a read may wait for a server (default: 120)."},
    {"BALE_MEMORY_BYTES",
     "Memory to keep files in: a dataset that does not fit is read around the page cache (default: what is free)."},
    {"BALE_SPILL_BYTES", "Most bytes that inflated shards may take in TMPDIR (default: half of what is free there)."},
    {"BALE_SIMD", "Excludes instruction sets better than this one: AVX2, SSE4, ..."},
    {"BALE_WORKER", "Path of bale-worker, if it is not next to the program."},
    {"TMPDIR", "Directory of temporary files (default: /tmp)."},
    {"LOCAL_WORLD_SIZE", "Processes of a training on this machine, which share its cores (default: 1)."},
    {"AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN", "Credentials for s3:// names."},
    {"AWS_PROFILE, AWS_DEFAULT_PROFILE, AWS_CONFIG_FILE, AWS_SHARED_CREDENTIALS_FILE",
     "Profile with credentials and settings, and its files."},
    {"AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN, AWS_ROLE_SESSION_NAME", "Credentials of a web identity."},
    {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI, AWS_CONTAINER_CREDENTIALS_FULL_URI, AWS_CONTAINER_AUTHORIZATION_TOKEN, "
     "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
     "Credentials of a container."},
    {"AWS_EC2_METADATA_DISABLED, AWS_EC2_METADATA_SERVICE_ENDPOINT, AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE",
     "Credentials of an instance."},
    {"AWS_NO_SIGN_REQUEST", "1: read public buckets without credentials."},
    {"AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, S3_ENDPOINT_URL, AWS_ENDPOINT_URL_STS, "
     "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
     "Servers other than Amazon's."},
    {"AWS_REGION, AWS_DEFAULT_REGION", "Region of the buckets."},
    {"AWS_S3_ADDRESSING_STYLE", "path or virtual."},
    {"AWS_REQUEST_PAYER", "requester: pay for what is read."},
    {"HF_TOKEN, HF_TOKEN_PATH, HF_HOME, HF_ENDPOINT", "Token, place of the stored token, and server for hf:// names."},
    {"https_proxy, http_proxy, no_proxy", "Proxies."},
    {"BALE_OFFLINE, HF_HUB_OFFLINE", "1: read what the cache has, and ask no server (HF_HUB_OFFLINE: not the Hub)."},
    {"AWS_CA_BUNDLE", "File or directory with the certificates that are trusted for s3:// names."},
    {"CURL_CA_BUNDLE, REQUESTS_CA_BUNDLE, SSL_CERT_FILE, SSL_CERT_DIR",
     "File or directory with the trusted certificates, the first that is set (default: the system's)."}};

/// Escapes text for roff: backslashes, hyphens, and characters that would make a line a request.
std::string roff(const std::string& text) {
  std::string out;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    line_start = c == '\n';
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '`') {
      out += "\\(ga";
    } else if (c == '\'') {
      out += "\\(aq";
    } else {
      out += c;
    }
  }
  return out;
}

std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + roff(text) + "\\fR"; }

std::string tag(const OptionModel& option) {
  if (option.is_positional()) return italic(option.value_name);
  std::string text;
  if (!option.short_name.empty()) text += bold(option.short_name);
  if (!option.short_name.empty() && !option.long_name.empty()) text += ", ";
  if (!option.long_name.empty()) text += bold(option.long_name);
  if (option.takes_value()) text += ' ' + italic(option.value_name);
  return text;
}

std::string paragraph(const std::string& head, const std::string& text) {
  return fmt::format(".TP\n{}\n{}\n", head, roff(text));
}

std::string synopsis(const CommandModel& command) {
  std::string text = bold(command.name);
  text += " [" + italic("OPTIONS") + "]";
  for (const OptionModel* positional : command.positionals()) {
    text += positional->required ? ' ' + italic(positional->value_name) : " [" + italic(positional->value_name) + ']';
  }
  return text;
}

std::string command_section(const CommandModel& command) {
  std::string text =
      fmt::format(".SS {}\n{}\n.PP\n{}\n", roff(command.short_name()), synopsis(command), roff(command.summary));
  for (const OptionModel* positional : command.positionals()) text += paragraph(tag(*positional), positional->text);
  for (const OptionGroup& group : command.groups()) {
    for (const OptionModel* option : group.options) {
      if (option->long_name != "--help") text += paragraph(tag(*option), option->text);
    }
  }
  if (!command.footer.empty()) text += fmt::format(".PP\n.nf\n{}\n.fi\n", roff(command.footer));
  return text;
}

constexpr const char* k_exit_status =
    ".TP\n0\nSuccess.\n.TP\n1\nFailure; one line on standard error says what, where and what to do.\n"
    ".TP\n2\nThe command line makes no sense.\n.TP\n3\n\\fBverify\\fR found damage, or \\fBdiff\\fR differences.\n"
    ".TP\n4\nFinished, but samples were skipped; they are listed on standard error and in the ledger it names.\n"
    ".TP\n5\nMay succeed when tried again.\n"
    ".TP\n130\nInterrupted; \\fBpack\\fR and \\fBconvert\\fR continue with \\fB\\-\\-resume\\fR.\n";

constexpr const char* k_notes =
    "Bytes of names and keys that are control characters or not UTF\\-8 are printed as \\exNN; in JSON a name that is "
    "not UTF\\-8 is an object {\"hex\": \"...\"}.\n.PP\n"
    "The first interrupt (Ctrl\\-C) ends a run in an orderly way, the second at once.\n";

}  // namespace

std::span<const VariableModel> environment_variables() { return k_variables; }

std::string man_page(const CommandModel& program) {
  std::string text = fmt::format(".TH BALE 1 \"\" \"bale {}\" \"User Commands\"\n", version());
  text += ".SH NAME\nbale \\- packs folders of small images into shards and reads them back fast\n.SH SYNOPSIS\n";
  for (const CommandModel& command : program.commands) text += synopsis(command) + "\n.br\n";
  text += fmt::format(".SH DESCRIPTION\n{}\n.SH COMMANDS\n", roff(program.summary));
  for (const CommandModel& command : program.commands) text += command_section(command);
  text += ".SH OPTIONS\n";
  for (const OptionModel& option : program.options) text += paragraph(tag(option), option.text);
  text += ".SH ENVIRONMENT\n";
  for (const VariableModel& variable : environment_variables()) {
    text += paragraph(bold(std::string(variable.names)), std::string(variable.text));
  }
  text += fmt::format(".SH EXIT STATUS\n{}.SH NOTES\n{}", k_exit_status, k_notes);
  return text;
}

}  // namespace bale::tools
