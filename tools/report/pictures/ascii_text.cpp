#include "bale/tools/report/pictures/bitmap_font.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>

#include "bale/formats/base/text/utf8.hpp"

namespace bale {
namespace {

/// The letters from `first` on, each in ASCII, with a space after each; "?" for one without.
struct Letters {
  char32_t first;
  std::string_view ascii;
};

constexpr Letters k_letters[] = {
    // Latin with marks
    {0xC0,
     "A A A A A A AE C E E E E I I I I D N O O O O O x O U U U U Y Th ss a a a a a a ae c e e e e i i i i d n "
     "o o o o o / o u u u u y th y A a A a A a C c C c C c C c D d D d E e E e E e E e E e G g G g G g G g H "
     "h H h I i I i I i I i I i IJ ij J j K k k L l L l L l L l L l N n N n N n 'n Ng ng O o O o O o OE oe R "
     "r R r R r S s S s S s S s T t T t T t U u U u U u U u U u U u W w Y y Y Z z Z z Z z s"},
    // Greek
    {0x386,
     "A ? E I I ? O ? Y O i A V G D E Z I Th I K L M N X O P R ? S T Y F Ch Ps O I Y a e i i y a v g d e z i "
     "th i k l m n x o p r s s t y f ch ps o i y o y o"},
    // Cyrillic
    {0x400,
     "E Yo Dj Gj Ye Dz I Yi J Lj Nj C Kj I U Dzh A B V G D E Zh Z I Y K L M N O P R S T U F Kh Ts Ch Sh Shch "
     "\" Y ' E Yu Ya a b v g d e zh z i y k l m n o p r s t u f kh ts ch sh shch \" y ' e yu ya e yo dj gj ye "
     "dz i yi j lj nj c kj i u dzh"},
    // Latin for Vietnamese and others
    {0x1E00,
     "A a B b B b B b C c D d D d D d D d D d E e E e E e E e E e F f G g H h H h H h H h H h I i I i K k K k "
     "K k L l L l L l L l M m M m M m N n N n N n N n O o O o O o O o P p P p R r R r R r R r S s S s S s S s "
     "S s T t T t T t T t U u U u U u U u U u V v V v W w W w W w W w W w X x X x Y y Z z Z z Z z h t w y a' "
     "s ? ? SS ? A a A a A a A a A a A a A a A a A a A a A a A a E e E e E e E e E e E e E e E e I i I i O o "
     "O o O o O o O o O o O o O o O o O o O o O o U u U u U u U u U u U u U u Y y Y y Y y Y y"},
};

struct Sign {
  char32_t first;
  char32_t last;
  std::string_view ascii;
};

constexpr Sign k_signs[] = {
    {0xA0, 0xA0, " "},      {0xAB, 0xAB, "<<"},    {0xB7, 0xB7, "."},       {0xBB, 0xBB, ">>"},
    {0x300, 0x36F, ""},  // marks that belong to the letter before them, as macOS writes names
    {0x2000, 0x200A, " "},  {0x200B, 0x200D, ""},  {0x2010, 0x2015, "-"},   {0x2018, 0x201B, "'"},
    {0x201C, 0x201F, "\""}, {0x2022, 0x2022, "*"}, {0x2026, 0x2026, "..."}, {0x202F, 0x202F, " "},
    {0x2212, 0x2212, "-"},  {0x3000, 0x3000, " "}, {0xFE0E, 0xFE0F, ""},
};

/// `sequence` is valid.
char32_t code_point(std::string_view sequence) {
  const auto lead = static_cast<unsigned char>(sequence.front());
  if (sequence.size() == 1) return lead;
  char32_t code = lead & (0x7FU >> sequence.size());
  for (const char c : sequence.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3FU);
  return code;
}

std::string_view nth_word(std::string_view words, std::size_t n) {
  for (; n > 0; --n) {
    const std::size_t space = words.find(' ');
    if (space == std::string_view::npos) return {};
    words.remove_prefix(space + 1);
  }
  return words.substr(0, words.find(' '));
}

std::string ascii_of(char32_t code) {
  if (code >= 0xFF01 && code <= 0xFF5E) code -= 0xFF01 - '!';  // wide forms of ASCII
  if (code >= ' ' && code <= '~') return std::string(1, static_cast<char>(code));
  for (const Sign& sign : k_signs) {
    if (code >= sign.first && code <= sign.last) return std::string(sign.ascii);
  }
  for (const Letters& letters : k_letters) {
    if (code < letters.first) continue;
    const std::string_view found = nth_word(letters.ascii, code - letters.first);
    if (!found.empty() && found != "?") return std::string(found);
  }
  return code <= 0xFFFF ? fmt::format("\\u{:04x}", static_cast<std::uint32_t>(code))
                        : fmt::format("\\U{:08x}", static_cast<std::uint32_t>(code));
}

}  // namespace

std::string ascii_text(std::string_view utf8, char replacement) {
  std::string text;
  while (!utf8.empty()) {
    const std::size_t length = utf8_sequence_length(utf8);
    const char32_t code = length == 0 ? 0 : code_point(utf8.substr(0, length));
    if (code < ' ' || code == 0x7F) {
      text += replacement;
    } else {
      text += ascii_of(code);
    }
    utf8.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return text;
}

}  // namespace bale
