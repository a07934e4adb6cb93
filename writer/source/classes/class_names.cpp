#include "bale/writer/source/classes/class_names.hpp"

#include <cstdint>
#include <optional>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/options/option_values.hpp"
#include "bale/writer/source/files/text_files.hpp"

namespace bale {
namespace {

constexpr std::int64_t k_max_class = 1'000'000;
constexpr std::size_t k_max_keypoints = 10'000;

/// JSON is YAML, too, except for characters that it escapes as two halves.
std::string without_escapes(std::string_view text) {
  try {
    return parse_json(text).dump();
  } catch (const Error&) {
    return std::string(text);
  }
}

class DataYaml {
 public:
  explicit DataYaml(const std::string& path) : path_(path) {}

  YoloData parse(std::string_view text) {
    try {
      take_members(YAML::Load(without_escapes(text)));
    } catch (const YAML::Exception& error) {
      fail(ErrorCode::damaged, error.mark, error.msg);
    }
    return std::move(data_);
  }

 private:
  [[noreturn]] void fail(ErrorCode code, const YAML::Mark& mark, std::string_view what) const {
    const std::string place = mark.is_null() ? std::string() : fmt::format("line {}: ", mark.line + 1);
    throw Error(code, fmt::format("{}{}", place, printable(what)),
                {.path = path_, .hint = "write `names: [first, second]`, or give a file with one name per line"});
  }
  [[noreturn]] void fail_form(const YAML::Node& node) const {
    fail(ErrorCode::unsupported, node.Mark(), "a form of names that bale does not read");
  }

  void take_members(const YAML::Node& root) {
    YAML::Node count;
    for (const auto& member : root) {
      const std::string name = root.IsMap() && member.first.IsScalar() ? member.first.Scalar() : std::string();
      if (name == "names") {
        if (!data_.names.empty()) fail(ErrorCode::damaged, member.first.Mark(), "`names` a second time");
        take_names(member.second);
      } else if (name == "nc") {
        count = member.second;
      } else if (name == "kpt_shape") {
        take_shape(member.second);
      }
    }
    if (data_.names.empty()) fail(ErrorCode::damaged, root.Mark(), "no `names`, as a data.yaml of YOLO has");
    if (count.IsNull()) return;
    const auto number = whole(count);
    if (!number) fail(ErrorCode::damaged, count.Mark(), "nc is not a whole number");
    if (*number != static_cast<std::int64_t>(data_.names.size())) {
      fail(ErrorCode::damaged, count.Mark(),
           fmt::format("nc is {}, but there are {} names", *number, data_.names.size()));
    }
  }

  static std::optional<std::int64_t> whole(const YAML::Node& node) {
    return node.IsScalar() ? whole_number<std::int64_t>(node.Scalar()) : std::nullopt;
  }

  void take_shape(const YAML::Node& shape) {
    const bool is_pair = shape.IsSequence() && shape.size() == 2;
    const std::int64_t count = is_pair ? whole(shape[0]).value_or(0) : 0;
    const std::int64_t numbers = is_pair ? whole(shape[1]).value_or(0) : 0;
    if (count < 1 || count > static_cast<std::int64_t>(k_max_keypoints) || numbers < 2 || numbers > 3) {
      fail(ErrorCode::damaged, shape.Mark(), "kpt_shape is not the number of keypoints, and 2 or 3 numbers of each");
    }
    data_.keypoints = {.count = static_cast<std::size_t>(count), .numbers = static_cast<std::size_t>(numbers)};
  }

  void take_names(const YAML::Node& names) {
    if (!names.IsSequence() && !names.IsMap()) fail_form(names);
    std::int64_t next = 0;
    for (const auto& item : names) {
      names.IsMap() ? add(whole(item.first).value_or(-1), item.first, item.second) : add(next++, item, item);
    }
  }

  /// The name of class `number`, which stands at `place`.
  void add(std::int64_t number, const YAML::Node& place, const YAML::Node& name) {
    if (number < 0 || number > k_max_class) fail_form(place);
    if (!name.IsScalar() || name.Scalar().empty() || name.Scalar().find('\0') != std::string::npos) fail_form(name);
    const auto at = static_cast<std::size_t>(number);
    if (data_.names.size() <= at) data_.names.resize(at + 1);
    if (!data_.names[at].empty()) fail(ErrorCode::damaged, place.Mark(), fmt::format("class {} has two names", number));
    data_.names[at] = name.Scalar();
  }

  const std::string& path_;
  YoloData data_;
};

}  // namespace

YoloData parse_data_yaml(std::string_view text, const std::string& path) {
  YoloData data = DataYaml(path).parse(text);
  for_each_line(text, [&](std::string_view line, std::size_t number) { require_utf8(line, path, number); });
  return data;
}

std::vector<std::string> parse_class_lines(std::string_view text, const std::string& path) {
  std::vector<std::string> names;
  for_each_line(text, [&](std::string_view line, std::size_t number) {
    require_utf8(line, path, number);
    names.emplace_back(line);
  });
  return names;
}

}  // namespace bale
