#include "bale/formats/storage/aws/answers/upload_answers.hpp"

#include <array>
#include <string_view>

#include <pugixml.hpp>

#include "bale/formats/base/error.hpp"
#include "bale/formats/storage/aws/answers/xml_answer.hpp"
#include "bale/formats/storage/aws/context/crypto_api.hpp"

namespace bale {
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
