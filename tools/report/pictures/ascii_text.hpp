// Names in ASCII, for a font that has no other letters.
#pragma once

#include <string>
#include <string_view>

namespace bale {

/// `utf8` in printable ASCII: letters without their marks ("é" is "e"), Greek and Cyrillic as they are romanized ("кот"
/// is "kot"), and every other character as Python escapes it ("\u732b"). Control characters and bytes that are no UTF-8
/// are `replacement`. Pure; safe in any thread.
std::string ascii_text(std::string_view utf8, char replacement);

}  // namespace bale
