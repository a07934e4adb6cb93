// Batches as numbers with a type, a shape and strides.
#include <complex>
#include <cstring>
#include <string>

#include "bale/formats/base/error.hpp"
#include "bale/loader/dlpack.hpp"
#include "bale/loader/tensor.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/unit/loader/loader_support.hpp"
#include "bale/writer/writer.hpp"

using namespace bale;
using namespace bale::test;

namespace {

using Shape = std::vector<std::int64_t>;
using NumberKind = TensorType::Kind;

template <typename Value>
bool comes_as(const TensorView& view) {
  try {
    return view.as<Value>().size() * sizeof(Value) == view.bytes.size();
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_argument);
    return false;
  }
}

template <typename Call>
void check_refused(const Call& call) {
  CHECK(error_of(call).code() == ErrorCode::invalid_argument);
}

/// DLPack's structures, as its specification has them.
struct Dlpack {
  struct Device {
    int device_type;
    int device_id;
  };
  struct Type {
    std::uint8_t code;
    std::uint8_t bits;
    std::uint16_t lanes;
  };
  struct Array {
    void* data;
    Device device;
    int ndim;
    Type dtype;
    std::int64_t* shape;
    std::int64_t* strides;
    std::uint64_t byte_offset;
  };
  Array dl_tensor;
  void* manager_ctx;
  void (*deleter)(Dlpack*);
};

}  // namespace

TEST_CASE("Pixels have the type and the layout of their transform, and come as values of that type only") {
  const Pack pack(8);
  struct Form {
    DType dtype;
    TensorType type;
  };
  for (const auto& [dtype, type] :
       {Form{DType::uint8, {NumberKind::natural, 8}}, Form{DType::float16, {NumberKind::real, 16}},
        Form{DType::bfloat16, {NumberKind::brain, 16}}, Form{DType::float32, {NumberKind::real, 32}}}) {
    LoaderOptions options = small_batches(0);
    options.transform.dtype = dtype;
    options.further_views = {train_transform(16)};
    options.further_views[0].layout = PixelLayout::nchw;
    Loader loader(pack.path, options);
    const auto batch = loader.next();
    const TensorView images = image_tensor(*batch);
    CHECK(images.type == type);
    CHECK(images.shape == Shape{8, 32, 32, 3});
    CHECK(images.strides == Shape{32 * 32 * 3, 32 * 3, 3, 1});
    CHECK(images.bytes.data() == batch->pixels().data());
    CHECK(image_tensor(*batch, 1).shape == Shape{8, 3, 16, 16});
    CHECK(comes_as<float>(images) == (dtype == DType::float32));
    CHECK(comes_as<std::uint8_t>(images) == (dtype == DType::uint8));
    CHECK(comes_as<std::uint16_t>(images) == (type.bits == 16));
    CHECK_FALSE((comes_as<std::int8_t>(images) || comes_as<std::int16_t>(images) || comes_as<double>(images)));
    const TensorView labels = tensor_of(batch->labels());
    CHECK(labels.shape == Shape{8});
    CHECK(std::ranges::equal(labels.as<std::int64_t>(), batch->labels()));
    check_refused([&] { image_tensor(*batch, 2); });
  }
  CHECK(tensor_type<bool>() == TensorType{NumberKind::truth, 8});
  CHECK(tensor_type<std::complex<float>>() == TensorType{NumberKind::complex, 64});
}

TEST_CASE("A field of arrays is a tensor of its rows, another one is not, and no row is beyond the batch") {
  const TempDir dir;
  const Pack pack(4);
  const Dataset images = Dataset::open(pack.path);
  Writer writer({.pack = {.destination = dir / "packed"}});
  for (std::uint64_t i = 0; i < 4; ++i) {
    OwnedSample sample = images.read(i);
    const std::string numbers = "[[" + std::to_string(i) + ", 2, 3], [4, 5, 6.5]]";
    const std::vector<FieldView> fields{{.name = "jpg", .bytes = sample.find("jpg")->bytes},
                                        {.name = "json", .bytes = as_bytes(numbers)}};
    writer.add(sample.key, fields);
  }
  writer.close();
  LoaderOptions options = small_batches(0);
  options.batch_size = 4;
  options.shuffle = Shuffle::none();
  options.fields = {{.name = "a", .source = "json", .kind = FieldKind::array, .type = "<f4", .shape = {{2, 3}}},
                    {.name = "text", .source = "json", .kind = FieldKind::text}};
  Loader loader(dir / "packed", options);
  const auto batch = loader.next();
  const TensorView numbers = field_tensor(batch->field("a"));
  CHECK(numbers.type == TensorType{NumberKind::real, 32});
  CHECK(numbers.shape == Shape{4, 2, 3});
  for (std::uint64_t i = 0; i < 4; ++i) CHECK(numbers.as<float>()[6 * i] == static_cast<float>(i));
  CHECK(numbers.as<float>()[5] == 6.5F);
  check_refused([&] { field_tensor(batch->field("text")); });
  for (const char* const name : {"a", "text"}) {
    CHECK(batch->field(name).row(3).size() > 0);
    check_refused([&] { batch->field(name).row(4); });
    check_refused([&] { batch->field(name).row(~std::size_t{0}); });
  }
}

TEST_CASE("DLPack holds the owner of any tensor until it is deleted") {
  auto owner = std::make_shared<std::vector<float>>(6, 2.5F);
  const std::weak_ptr<std::vector<float>> lives = owner;
  TensorView view(std::as_bytes(std::span(*owner)), tensor_type<float>(), {2, 3});
  Dlpack* const managed = to_dlpack<Dlpack>(std::move(view), std::move(owner));
  CHECK_FALSE(lives.expired());
  const Dlpack::Array& array = managed->dl_tensor;
  CHECK(array.data == lives.lock()->data());
  CHECK((array.ndim == 2 && array.shape[0] == 2 && array.shape[1] == 3 && array.strides[0] == 3 &&
         array.strides[1] == 1));
  CHECK((array.device.device_type == 1 && array.dtype.code == 2 && array.dtype.bits == 32 && array.dtype.lanes == 1));
  managed->deleter(managed);
  CHECK(lives.expired());
}
