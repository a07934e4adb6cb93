// An HTML page that needs nothing else: no script, no other file, light or dark as the reader's system is.
//
// Texts from a dataset go through html_text(), so that a name is never taken as markup. The page also forbids scripts
// and requests by its content security policy.
#pragma once

#include <string>
#include <string_view>

namespace bale::tools {

/// `raw` as text of an element or of an attribute in double quotes: printable(), and & < > " ' as references.
std::string html_text(std::string_view raw);

/// The same, with what is in backticks as <code>.
std::string html_sentence(std::string_view raw);

/// The page with this title and these elements in its body.
std::string html_page(std::string_view title, std::string_view body);

/// The end of a page: what `made` says, which is markup, and the day (UTC, or that of SOURCE_DATE_EPOCH), the machine
/// and its cores.
std::string html_footer(std::string_view made);

/// One figure among several in a row. `tone`: "", "good", "warn" or "bad".
std::string html_tile(std::string_view figure, std::string_view what, std::string_view tone,
                      std::string_view note = {});

/// A section with an anchor. The heading is text.
std::string html_section(std::string_view id, std::string_view heading, std::string_view body);

/// The base64 of `bytes`.
std::string base64(std::string_view bytes);

// The style sheet of every page.

extern const std::string_view k_page_style;

}  // namespace bale::tools
