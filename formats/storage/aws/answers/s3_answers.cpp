#include "bale/formats/storage/aws/answers/s3_answers.hpp"

#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/names/uri_encoding.hpp"
#include "bale/formats/base/text/escaped_bytes.hpp"
#include "bale/formats/storage/aws/context/crypto_api.hpp"

namespace bale {
namespace {

/// An answer of an S3 server, which may be hostile.
class XmlAnswer {
 public:
  /// `what` begins messages: "the listing of the S3 server". Throws `damaged` if the answer is not XML.
  XmlAnswer(Bytes xml, std::string_view what);
  XmlAnswer(const XmlAnswer&) = delete;
  XmlAnswer& operator=(const XmlAnswer&) = delete;

  pugi::xml_node root() const { return document_.document_element(); }
  /// A key or prefix. Not every server encodes: the answer says whether it does. Throws `damaged` for a bad encoding or
  /// a NUL.
  std::string name(const char* text) const;
  /// Throws `damaged`.
  [[noreturn]] void fail(std::string_view problem) const;

 private:
  std::string_view what_;
  pugi::xml_document document_;
  bool is_encoded_ = false;
};

// Names may consist of blanks. Line ends stay as they are.
constexpr unsigned k_parse_options = (pugi::parse_default | pugi::parse_ws_pcdata_single) & ~pugi::parse_eol;

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
  if (name->find('\0') != name->npos) fail("has a name with a NUL byte");
  return *std::move(name);
}

void XmlAnswer::fail(std::string_view problem) const {
  throw Error(ErrorCode::damaged, fmt::format("{} {}", what_, problem),
              {.hint = "check that the endpoint is an S3 server"});
}

constexpr std::size_t k_shown_code = 64;
constexpr std::size_t k_shown_message = 300;

std::uint64_t parse_size(std::string_view text, const XmlAnswer& answer) {
  std::uint64_t size = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, size);
  if (error != std::errc{} || stopped != end) answer.fail("has an object without a size");
  return size;
}

/// Such as "2026-11-28T21:58:17.000Z"; 0 for any other text.
std::time_t parse_time(const char* text) {
  std::tm time{};
  return ::strptime(text, "%Y-%m-%dT%H:%M:%S", &time) == nullptr ? 0 : ::timegm(&time);
}

/// Some servers write the ETag of a listing without the quotes that the header has.
std::string quoted_etag(std::string etag) {
  if (etag.empty() || etag.ends_with('"')) return etag;
  return "\"" + etag + "\"";
}

}  // namespace

S3Listing parse_object_listing(Bytes xml) {
  const XmlAnswer answer(xml, "the listing of the S3 server");
  const pugi::xml_node root = answer.root();
  if (std::string_view(root.name()) != "ListBucketResult") answer.fail("is other XML");
  S3Listing listing;
  for (const pugi::xml_node node : root.children("Contents")) {
    S3Object object{.key = answer.name(node.child_value("Key")),
                    .size = parse_size(node.child_value("Size"), answer),
                    .etag = quoted_etag(node.child_value("ETag")),
                    .modified = parse_time(node.child_value("LastModified"))};
    if (object.key.empty()) answer.fail("has an object without a key");
    listing.objects.push_back(std::move(object));
  }
  for (const pugi::xml_node node : root.children("CommonPrefixes")) {
    listing.common_prefixes.push_back(answer.name(node.child_value("Prefix")));
    if (listing.common_prefixes.back().empty()) answer.fail("has an empty prefix");
  }
  const std::string_view truncated = root.child_value("IsTruncated");
  if (truncated != "true" && truncated != "false") answer.fail("does not say whether it is complete");
  if (truncated == "true") {
    listing.continuation_token = root.child_value("NextContinuationToken");
    if (listing.continuation_token.empty()) answer.fail("is incomplete and has no continuation token");
  }
  return listing;
}

S3ErrorAnswer parse_s3_error(Bytes body) {
  pugi::xml_document document;
  document.load_buffer(body.data(), body.size());
  const pugi::xml_node error = document.child("Error");
  return {.code = excerpt(printable(error.child_value("Code")), k_shown_code),
          .message = excerpt(printable(error.child_value("Message")), k_shown_message),
          .region = excerpt(printable(error.child_value("Region")), k_shown_code)};
}

namespace {

constexpr std::string_view k_answer = "the S3 server's answer about an upload";

/// The names of the answers differ between servers: rclone's is InitiateMultipartUpload.
pugi::xml_node root_of(const XmlAnswer& answer, std::string_view name) {
  if (!std::string_view(answer.root().name()).starts_with(name)) answer.fail("is other XML");
  return answer.root();
}

}  // namespace

std::string parse_upload_id(Bytes xml) {
  const XmlAnswer answer(xml, k_answer);
  std::string id = root_of(answer, "InitiateMultipartUpload").child_value("UploadId");
  if (id.empty()) answer.fail("has no number");
  return id;
}

UploadListing parse_upload_listing(Bytes xml) {
  const XmlAnswer answer(xml, k_answer);
  const pugi::xml_node root = root_of(answer, "ListMultipartUploads");
  UploadListing listing;
  for (const pugi::xml_node node : root.children("Upload")) {
    listing.uploads.push_back({answer.name(node.child_value("Key")), node.child_value("UploadId")});
  }
  if (std::string_view(root.child_value("IsTruncated")) == "true") {
    listing.next_key = answer.name(root.child_value("NextKeyMarker"));
    listing.next_id = root.child_value("NextUploadIdMarker");
    if (listing.next_key.empty()) answer.fail("is incomplete and does not say how it continues");
  }
  return listing;
}

std::string completion_text(const std::vector<std::string>& etags) {
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("CompleteMultipartUpload");
  root.append_attribute("xmlns") = "http://s3.amazonaws.com/doc/2006-03-01/";
  unsigned number = 0;
  for (const std::string& etag : etags) {
    pugi::xml_node part = root.append_child("Part");
    part.append_child("PartNumber").text().set(++number);
    part.append_child("ETag").text().set(etag.c_str());
  }
  struct Writer final : pugi::xml_writer {
    std::string text;
    void write(const void* data, std::size_t size) override { text.append(static_cast<const char*>(data), size); }
  } writer;
  document.save(writer, "", pugi::format_raw | pugi::format_no_declaration);
  return std::move(writer.text);
}

std::string content_md5(std::string_view bytes) {
  constexpr std::size_t k_md5_size = 16;
  std::array<unsigned char, k_md5_size> digest{};
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_md5(), nullptr) != 1) {
    throw Error(ErrorCode::io, "OpenSSL cannot compute MD5, which S3 servers compare uploads with",
                {.hint = "check OpenSSL's configuration: a FIPS mode forbids it"});
  }
  std::array<unsigned char, (k_md5_size + 2) / 3 * 4 + 1> text{};
  const int size = EVP_EncodeBlock(text.data(), digest.data(), static_cast<int>(digest.size()));
  return {reinterpret_cast<const char*>(text.data()), static_cast<std::size_t>(size)};
}

}  // namespace bale
