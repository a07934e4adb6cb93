#include "bale/formats/storage/aws/answers/xml_answer.hpp"

#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/names/uri_encoding.hpp"

namespace bale {
namespace {

// Names may consist of blanks. Line ends stay as they are.
constexpr unsigned k_parse_options = (pugi::parse_default | pugi::parse_ws_pcdata_single) & ~pugi::parse_eol;

}  // namespace

XmlAnswer::XmlAnswer(Bytes xml, std::string_view what) : what_(what) {
  const pugi::xml_parse_result result =
      document_.load_buffer(xml.data(), xml.size(), k_parse_options, pugi::encoding_utf8);
  if (!result) fail(fmt::format("is not XML from byte {} on: {}", result.offset, result.description()));
  // The parser would end a text at a NUL, which XML cannot hold.
  if (std::memchr(xml.data(), 0, xml.size()) != nullptr) fail("has a NUL byte");
  is_encoded_ = std::string_view(root().child_value("EncodingType")) == "url";
}

/// Most servers that encode write a space as '+', like a form.
std::string XmlAnswer::name(const char* text) const {
  if (!is_encoded_) return text;
  std::optional<std::string> name = percent_decode(text, true);
  if (!name) fail("has a name with a bad percent-encoding");
  return *std::move(name);
}

void XmlAnswer::fail(std::string_view problem) const {
  throw Error(ErrorCode::damaged, fmt::format("{} {}", what_, problem),
              {.hint = "check that the endpoint is an S3 server"});
}

}  // namespace bale
