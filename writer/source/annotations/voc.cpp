// Pascal VOC: one XML file per image in Annotations, and lists of images in ImageSets
// (http://host.robots.ox.ac.uk/pascal/VOC/voc2012/htmldoc/index.html).
#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <unordered_map>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/formats/base/text/utf8.hpp"
#include "bale/writer/source/annotations/annotation_set.hpp"
#include "bale/writer/source/annotations/target_text.hpp"
#include "bale/writer/source/classes/labels.hpp"
#include "bale/writer/source/files/long_path.hpp"
#include "bale/writer/source/files/text_files.hpp"
#include "bale/writer/source/folder/folder_walk.hpp"
#include "bale/writer/source/rows/file_rows.hpp"

namespace bale {
namespace {

constexpr const char* k_attributes[] = {"difficult", "truncated", "occluded"};
constexpr std::string_view k_taken[] = {"name", "bndbox", "pose", "difficult", "truncated", "occluded"};
constexpr std::string_view k_name_characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
constexpr unsigned k_xml_jobs = 8;
constexpr std::size_t k_max_left_out = 20;  // names that are told
constexpr std::uint64_t k_max_list_bytes = std::uint64_t{256} << 20;

/// What is in an element itself, around comments and in CDATA sections.
std::string text_of(pugi::xml_node element) {
  std::string text;
  for (const pugi::xml_node part : element.children()) {
    if (part.type() == pugi::node_pcdata || part.type() == pugi::node_cdata) text += part.value();
  }
  return std::string(stripped(text));
}

/// Where an entity such as &eacute; is that XML itself does not have, and that the parser takes for text.
std::size_t unknown_entity(std::string_view text) {
  constexpr std::string_view k_known[] = {"amp", "lt", "gt", "quot", "apos"};
  const auto is_within = [&](std::size_t at, std::string_view open, std::string_view close) {
    const std::size_t begin = text.rfind(open, at);
    return begin != std::string_view::npos && text.find(close, begin) > at;
  };
  std::size_t at = text.find("<annotation");
  while ((at = text.find('&', at)) != std::string_view::npos) {
    const std::string_view rest = text.substr(at + 1);
    const std::string_view name = rest.substr(0, rest.find_first_not_of(k_name_characters));
    const bool is_known = std::find(std::begin(k_known), std::end(k_known), name) != std::end(k_known);
    const bool is_entity = !name.empty() && rest.substr(name.size()).starts_with(';') && !is_known;
    if (is_entity && !is_within(at, "<![CDATA[", "]]>") && !is_within(at, "<!--", "-->")) return at;
    ++at;
  }
  return at;
}

/// The <object> elements of one file.
class Objects {
 public:
  /// Throws `damaged` with the path and the offset.
  Objects(const std::string& text, const std::string& path) : path_(path) {
    constexpr unsigned k_parts = pugi::parse_default | pugi::parse_declaration;
    const pugi::xml_parse_result result = document_.load_buffer(text.data(), text.size(), k_parts);
    if (!result) fail(fmt::format("not XML: {}", result.description()), result.offset);
    if (const std::size_t at = unknown_entity(text); at != std::string::npos) {
      fail(fmt::format("the entity {} is not one of XML", printable(text.substr(at, text.find(';', at) + 1 - at))),
           static_cast<std::ptrdiff_t>(at), "write the character itself");
    }
    root_ = document_.child("annotation");
    if (!root_) fail("no <annotation>, which Pascal VOC's files have", 0);
    if (const pugi::xml_node second = root_.next_sibling("annotation")) {
      fail("a second <annotation> after the first", second.offset_debug());
    }
    const pugi::xml_node first = document_.first_child();
    if (first.type() != pugi::node_declaration || result.encoding != pugi::encoding_utf8) return;
    const std::string encoding = first.attribute("encoding").value();
    if (lower_case(encoding) != "utf-8" && lower_case(encoding) != "utf8") other_encoding_ = encoding;
  }

  template <typename Use>
  void for_each(const Use& use) const {
    for (const pugi::xml_node object : root_.children("object")) use(object);
  }
  /// The element of that name, if there is one.
  pugi::xml_node only(pugi::xml_node parent, const char* name) const {
    const pugi::xml_node child = parent.child(name);
    if (const pugi::xml_node second = child.next_sibling(name))
      fail(fmt::format("a second <{}> in an <{}>", name, parent.name()), second.offset_debug());
    return child;
  }
  std::string text(pugi::xml_node object, const char* name) const {
    const pugi::xml_node child = only(object, name);
    if (!child) fail(fmt::format("an <object> without a <{}>", name), object.offset_debug());
    std::string text = text_of(child);
    const bool is_plain = std::all_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x80; });
    if (!is_utf8(text) || (!other_encoding_.empty() && !is_plain)) {
      const std::string said =
          other_encoding_.empty() ? "" : fmt::format(", and its first line says {}", printable(other_encoding_));
      fail(fmt::format("<{}>: \"{}\" is not UTF-8{}", name, printable(text), said), object.offset_debug(),
           "write the file in UTF-8, and say so in its first line");
    }
    return text;
  }
  /// Adds the corners of an <object>. A text that is not a number counts as 0.
  void check(pugi::xml_node object, PixelCheck& pixels) const {
    for (const pugi::xml_node corner : object.child("bndbox").children()) {
      if (const double number = corner.text().as_double(); std::isfinite(number)) pixels.add(number);
    }
  }
  std::string name(pugi::xml_node object) const {
    std::string words = text(object, "name");
    if (words.empty()) fail("an <object> whose <name> is empty", object.offset_debug());
    return words;
  }
  ImageSize size() const {
    const pugi::xml_node node = only(root_, "size");
    return {node.child("width").text().as_double(), node.child("height").text().as_double()};
  }
  double number(pugi::xml_node box, const char* name) const {
    try {
      return parse_number(text(box, name));
    } catch (const Error& error) {
      if (!error.context().path.empty()) throw;
      fail(fmt::format("<{}>: {}", name, error.message()), box.offset_debug());
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what, std::ptrdiff_t offset, const std::string& hint = {}) const {
    const auto at = static_cast<std::uint64_t>(std::max<std::ptrdiff_t>(offset, 0));
    throw Error(ErrorCode::damaged, what, {.path = path_, .offset = at, .hint = hint});
  }
  const std::string& path_;
  pugi::xml_document document_;
  pugi::xml_node root_;
  std::string other_encoding_;  // that the file declares and that is not read
};

class Voc : public AnnotationSet {
 public:
  Voc(const std::string& path, const SourceOptions& options) : path_(path), labels_(options) {
    struct stat info {};
    if (stat_long_path(path, info) != 0) throw_errno("examine", path);
    directory_ = path;
    if (!S_ISDIR(info.st_mode)) {
      read_list();
      directory_ = join_path(parent_directory(parent_directory(parent_directory(path))), "Annotations");
    }
    find_files();
    if (files_.size() == 0) {
      throw Error(ErrorCode::invalid_argument, "no XML file with annotations", {.path = directory_});
    }
    std::vector<std::string> names = read_objects();
    has_objects_ = !names.empty();
    labels_.take_names(labels_.has_map() ? std::vector<std::string>() : std::move(names));
  }

  const std::string& path() const override { return path_; }
  std::vector<std::string> places() const override { return {path_, directory_}; }
  const std::vector<std::string>& fields() const override { return fields_; }
  const std::vector<std::string>& classes() const override { return labels_.classes(); }
  bool names_images() const override { return !listed_.empty(); }
  std::vector<std::string> images() const override { return images_; }

  void match(const FolderImages& folder, AnnotationLog& log) override {
    std::unordered_map<std::string_view, const std::string*> by_stem;
    for (const std::string& image : folder.paths) by_stem.emplace(stem_of(image), &image);
    std::uint64_t num_bare = 0;
    if (names_images()) {
      for (const std::string& line : listed_) {
        const auto whole = by_stem.find(stem_of(line));
        const bool has_extension = line.ends_with(".jpg") || (whole != by_stem.end() && *whole->second == line);
        const std::string name(has_extension && !by_stem.contains(line) ? stem_of(line) : line);
        const auto found = by_stem.find(name);
        images_.push_back(found == by_stem.end() ? name + ".jpg" : *found->second);  // reading it will report it
        if (!rows_.contains(name)) ++num_bare;
      }
    } else {
      for (std::uint32_t row = 0; row < files_.size(); ++row) {
        if (folder.is_list || by_stem.contains(stem_of(names_[row]))) continue;
        log.lose(files_.path(row), fmt::format("annotations of an image that is not in {}", printable(folder.root)), 1);
      }
      for (const std::string& image : folder.paths) num_bare += rows_.contains(std::string(stem_of(image))) ? 0 : 1;
    }
    if (num_bare > 0)
      log.warn(directory_, fmt::format("{} images have no XML file; they are packed without boxes", num_bare));
    if (!has_objects_) log.warn(directory_, "no <annotation> has an <object>; the images are packed without boxes");
    if (const std::string remark = pixels_.remark(); !remark.empty()) log.warn(directory_, remark);
    std::vector<std::string> elements;
    for (const auto& [name, count] : left_out_) elements.push_back(fmt::format("{} ({})", printable(name), count));
    if (!elements.empty())
      log.warn(directory_, fmt::format("elements of objects that no field has: {}", joined(elements)));
  }

  std::uint32_t row_of(const std::string& image) const override {
    const auto found = rows_.find(std::string(stem_of(image)));
    return found == rows_.end() ? k_no_row : found->second;
  }
  std::uint64_t bytes(std::uint32_t row, std::size_t) const override {
    return row == k_no_row ? 25 : files_.bytes(row) / 2;
  }

  std::optional<ImageSize> append(std::uint32_t row, std::size_t, const SampleView&, std::string& out) const override {
    TargetText targets({"names", "difficult", "truncated", "occluded", "pose"});
    std::optional<ImageSize> size;
    if (row != k_no_row) size = add_objects(row, targets);
    targets.append_to(out);
    return size;
  }
  void append_identity(std::uint32_t row, std::string& out) const override {
    if (row != k_no_row) files_.append_identity(row, out);
  }

 private:
  /// The XML files, also those in directories of the classes, as ILSVRC has them.
  void find_files() {
    while (directory_.size() > 1 && directory_.ends_with('/')) directory_.pop_back();
    NoticeLog others;
    std::vector<SourceLoss> losses;
    const auto is_xml = [](std::string_view name) { return name.ends_with(".xml") || name.ends_with(".XML"); };
    DirectoryWalk walk(directory_, {.wanted = is_xml}, others, losses, k_xml_jobs);
    for (const DirectoryFiles& files : walk.files_below(directory_)) {
      for (std::size_t i = 0; i < files.size(); ++i) {
        const std::string path = join_path(files.path(), files[i]);
        if (!files_.add(path)) continue;
        names_.push_back(path.substr(directory_ == "/" ? 1 : directory_.size() + 1));
        rows_.emplace(std::string(stem_of(names_.back())), files_.size() - 1);
      }
    }
  }

  static std::string_view stem_of(std::string_view image) {
    const std::size_t dot = image.rfind('.');
    const std::size_t slash = image.rfind('/');
    const bool has_extension = dot != std::string_view::npos && (slash == std::string_view::npos || dot > slash);
    return has_extension ? image.substr(0, dot) : image;
  }

  /// Returns the image's size as the file says it.
  ImageSize add_objects(std::uint32_t row, TargetText& targets) const {
    const std::string& path = files_.path(row);
    const Objects objects(files_.read(row), path);
    objects.for_each([&](pugi::xml_node object) {
      const std::string name = objects.name(object);
      objects.text(object, "bndbox");
      const pugi::xml_node box = object.child("bndbox");
      targets.add({objects.number(box, "xmin"), objects.number(box, "ymin"), objects.number(box, "xmax"),
                   objects.number(box, "ymax")},
                  labels_.number_of(name, path));
      targets.add_to(0, json_of_text(name));
      std::size_t list = 1;
      for (const char* const attribute : k_attributes) {
        const std::string value = text_of(objects.only(object, attribute));
        const bool is_unknown = value.empty() || lower_case(value) == "unspecified";
        targets.add_to(list++, is_unknown ? "null" : number_text(objects.number(object, attribute)));
      }
      const std::string pose = text_of(objects.only(object, "pose"));
      targets.add_to(list, pose.empty() ? "null" : json_of_text(pose));
    });
    return objects.size();
  }

  /// The classes, which are those of all files, not of the listed ones, so that every list of a dataset has the same.
  /// Counts the elements that are left out.
  std::vector<std::string> read_objects() {
    std::set<std::string, std::less<>> names;
    for (std::uint32_t row = 0; row < files_.size(); ++row) {
      try {
        const Objects objects(files_.read(row), files_.path(row));
        objects.for_each([&](pugi::xml_node object) {
          names.insert(objects.name(object));
          if (pixels_.is_open()) objects.check(object, pixels_);
          for (const pugi::xml_node element : object.children()) {
            const std::string_view name = element.name();
            if (element.type() != pugi::node_element) continue;
            if (std::find(std::begin(k_taken), std::end(k_taken), name) != std::end(k_taken)) continue;
            if (left_out_.size() < k_max_left_out || left_out_.contains(std::string(name)))
              ++left_out_[std::string(name)];
          }
        });
      } catch (const Error& error) {
        if (is_lack_of_resources(error)) throw;  // else reading the sample will report it
      }
    }
    return {names.begin(), names.end()};
  }

  void read_list() {
    const std::vector<std::byte> content = read_file(path_, k_max_list_bytes);
    for_each_line(as_text(content), [&](std::string_view line, std::size_t number) {
      if (line.find_first_of(" \t") != std::string_view::npos) {
        throw Error(ErrorCode::invalid_argument, fmt::format("line {}: more than the name of an image", number),
                    {.path = path_, .hint = "take the list of all classes, such as ImageSets/Main/train.txt"});
      }
      listed_.emplace_back(line);
    });
    if (listed_.empty()) throw Error(ErrorCode::invalid_argument, "the list names no image", {.path = path_});
  }

  std::string path_;
  std::string directory_;
  std::vector<std::string> fields_{"boxes.json"};
  Labels labels_;
  TextFiles files_;
  std::vector<std::string> names_;                       // of files_, below directory_
  std::unordered_map<std::string, std::uint32_t> rows_;  // by the name without its extension
  std::vector<std::string> listed_;                      // names of ImageSets; empty: all
  std::vector<std::string> images_;
  bool has_objects_ = false;  // in any file
  PixelCheck pixels_;
  std::map<std::string, std::uint64_t> left_out_;  // elements of objects, by name
};

}  // namespace

std::unique_ptr<AnnotationSet> open_voc(const std::string& path, const SourceOptions& options, AnnotationLog&) {
  return std::make_unique<Voc>(path, options);
}

}  // namespace bale
