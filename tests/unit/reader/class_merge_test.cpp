// Which numbers the classes of several datasets get.
#include "bale/reader/dataset/class_merge.hpp"

#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"

using namespace bale;
using Names = std::vector<std::string>;
using Numbers = std::vector<std::int64_t>;

TEST_CASE("classes that are known keep their numbers, and new ones get the next") {
  ClassNumbers numbers(Names{"cat", "", "dog"});  // no class has number 1
  CHECK(numbers.add({.path = "b", .classes = {"dog", "", "ant", "cat"}}) == Numbers{2, k_no_label, 3, 0});
  CHECK(numbers.add({.path = "c", .classes = {"bee", "ant"}}) == Numbers{4, 3});
  CHECK(numbers.classes() == Names{"cat", "", "dog", "ant", "bee"});
}

TEST_CASE("two classes of one name are not made one") {
  ClassNumbers numbers(Names{"cat"});
  CHECK(test::code_of([&] { numbers.add({.path = "b", .classes = {"dog", "dog"}}); }) == ErrorCode::invalid_argument);
  const std::vector<NamedClasses> datasets{{.path = "a", .classes = {"cat"}}, {.path = "b", .classes = {"dog", "dog"}}};
  CHECK(test::code_of([&] { merge_classes(datasets); }) == ErrorCode::invalid_argument);
}

TEST_CASE("numbers stay if one list of classes begins with all others") {
  const MergedClasses merged = merge_classes({{.path = "a", .classes = {"", "cat"}},
                                              {.path = "b", .classes = {"", "cat", "", "dog"}},
                                              {.path = "c", .classes = {"", "cat", "", "dog"}}});
  CHECK(merged.classes == Names{"", "cat", "", "dog"});
  CHECK(merged.maps[0](1) == 1);
  CHECK(test::code_of([&] { merged.maps[0](3); }) == ErrorCode::damaged);
  CHECK(merged.maps[1](3) == 3);
  CHECK_FALSE(merged.maps[2].changes_labels());
  CHECK(merge_classes({{.path = "a", .classes = {"", "cat"}}, {.path = "b", .classes = {"", "dog"}}}).classes ==
        Names{"cat", "dog"});
}
