// XmlAnswer: an answer of an S3 server, which may be hostile.
#pragma once

#include <string>
#include <string_view>

#include <pugixml.hpp>

#include "bale/formats/base/bytes.hpp"

namespace bale {

class XmlAnswer {
 public:
  /// `what` begins messages: "the listing of the S3 server". Throws `damaged` if the answer is not XML.
  XmlAnswer(Bytes xml, std::string_view what);
  XmlAnswer(const XmlAnswer&) = delete;
  XmlAnswer& operator=(const XmlAnswer&) = delete;

  pugi::xml_node root() const { return document_.document_element(); }
  /// A key or prefix. Not every server encodes: the answer says whether it does. Throws `damaged` for a bad encoding.
  std::string name(const char* text) const;
  /// Throws `damaged`.
  [[noreturn]] void fail(std::string_view problem) const;

 private:
  std::string_view what_;
  pugi::xml_document document_;
  bool is_encoded_ = false;
};

}  // namespace bale
