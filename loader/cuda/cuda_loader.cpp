#include "bale/loader/cuda/cuda_loader.hpp"

#include <algorithm>

#include "bale/formats/base/error.hpp"
#include "bale/loader/cuda/cuda_session.hpp"
#include "bale/loader/fields/field_copies.hpp"

namespace bale {
namespace {

// 0, cudaStreamLegacy and CU_STREAM_LEGACY (1) are the same stream.
cuda_detail::StreamHandle handle_of(CudaStream stream) {
  return reinterpret_cast<cuda_detail::StreamHandle>(stream == nullptr ? reinterpret_cast<void*>(1) : stream);
}

template <typename Value>
Value* at(const cuda_detail::DeliveredBatch& delivered, std::size_t offset) {
  return reinterpret_cast<Value*>(delivered.device->tables.address(delivered.tables_buffer) + offset);
}

}  // namespace

bool cuda_is_available() {
  try {
    int count = 0;
    const cuda_detail::Driver& driver = cuda_detail::Driver::get();
    driver.check(driver.cuDeviceGetCount(&count), "count devices");
    return count > 0;
  } catch (const Error&) {
    return false;
  }
}

// --- DeviceBatch

DeviceBatch::DeviceBatch(std::unique_ptr<cuda_detail::DeliveredBatch> delivered) : delivered_(std::move(delivered)) {}
DeviceBatch::DeviceBatch(DeviceBatch&&) noexcept = default;
DeviceBatch& DeviceBatch::operator=(DeviceBatch&&) noexcept = default;
DeviceBatch::~DeviceBatch() = default;

std::uint64_t DeviceBatch::index() const { return delivered_->index; }
std::uint64_t DeviceBatch::epoch() const { return delivered_->epoch; }
std::size_t DeviceBatch::size() const { return delivered_->samples.size(); }

void* DeviceBatch::images() const {
  const cuda_detail::DeviceSide& device = *delivered_->device;
  const cuda_detail::DeviceBufferPool& pool = device.converted ? *device.converted : device.images;
  return reinterpret_cast<void*>(pool.address(delivered_->images_buffer));
}

std::int64_t* DeviceBatch::labels() const {
  return at<std::int64_t>(*delivered_, delivered_->device->tables_layout.labels);
}
std::uint8_t* DeviceBatch::mask() const {
  return at<std::uint8_t>(*delivered_, delivered_->device->tables_layout.mask);
}
std::int64_t* DeviceBatch::partner_labels() const {
  const cuda_detail::BatchTables& layout = delivered_->device->tables_layout;
  return layout.mixes ? at<std::int64_t>(*delivered_, layout.partner_labels) : nullptr;
}
float* DeviceBatch::shares() const {
  const cuda_detail::BatchTables& layout = delivered_->device->tables_layout;
  return layout.mixes ? at<float>(*delivered_, layout.shares) : nullptr;
}

std::span<const std::uint64_t> DeviceBatch::samples() const { return delivered_->samples; }
std::span<const std::uint32_t> DeviceBatch::partners() const { return delivered_->partners; }
std::size_t DeviceBatch::num_fields() const { return delivered_->fields->size(); }
BatchField DeviceBatch::field(std::size_t field) const {
  return delivered_->fields->column(loader_detail::checked_field(*this, field));
}
BatchField DeviceBatch::field(std::string_view name) const { return loader_detail::field_named(*this, name); }
std::shared_ptr<const void> DeviceBatch::field_memory() const { return delivered_->fields; }
bool DeviceBatch::is_beyond_hold() const { return delivered_->is_beyond_hold; }
const Transform& DeviceBatch::transform() const { return delivered_->device->transform; }
int DeviceBatch::device() const { return delivered_->device->context->ordinal(); }
CudaStream DeviceBatch::stream() const { return delivered_->users.front(); }

void DeviceBatch::use_on(CudaStream other) {
  const cuda_detail::StreamHandle stream = handle_of(other);
  auto& users = delivered_->users;
  if (std::find(users.begin(), users.end(), stream) != users.end()) return;
  cuda_detail::refuse_captured(*delivered_->device->context, stream);
  if (delivered_->is_used_by_another_thread()) {
    delivered_->device->context->synchronize();
    users.push_back(stream);
    return;
  }
  // The first stream runs the conversion, if any, after the copy.
  const cuda_detail::Event ready(delivered_->device->context, users.front());
  users.push_back(stream);
  ready.wait_on(stream);
}

// --- CudaLoader

CudaLoader::CudaLoader(const std::string& spec, LoaderOptions options, CudaOptions cuda)
    : session_(std::make_unique<cuda_detail::CudaSession>(spec, std::move(options), cuda, std::nullopt)) {}
CudaLoader::CudaLoader(const std::string& spec, LoaderOptions options, CudaOptions cuda, Selection selection)
    : session_(std::make_unique<cuda_detail::CudaSession>(spec, std::move(options), cuda, std::move(selection))) {}
CudaLoader::~CudaLoader() {
  if (session_ && !session_->is_of_this_process()) (void)session_.take().release();
}
CudaLoader::CudaLoader(CudaLoader&&) noexcept = default;
CudaLoader& CudaLoader::operator=(CudaLoader&&) noexcept = default;

void CudaLoader::start() { session_->start(); }
std::optional<DeviceBatch> CudaLoader::next(CudaStream stream) { return session_->next(handle_of(stream), {}); }
std::optional<DeviceBatch> CudaLoader::next(CudaStream stream, const std::function<void()>& on_wait) {
  return session_->next(handle_of(stream), on_wait);
}
void CudaLoader::request_stop() { session_->request_stop(); }

void CudaLoader::set_epoch(std::uint64_t epoch) { session_->set_epoch(epoch); }
std::uint64_t CudaLoader::epoch() const { return session_->state().epoch; }
std::uint64_t CudaLoader::size() const { return session_->size(); }
LoaderState CudaLoader::state() const { return session_->state(); }
void CudaLoader::load_state(const LoaderState& state) { session_->load_state(state); }
const Dataset& CudaLoader::dataset() const { return session_->dataset(); }
const LoaderOptions& CudaLoader::options() const { return session_->options(); }
std::vector<BadSample> CudaLoader::bad_samples() const { return session_->bad_samples(); }
std::vector<int> CudaLoader::worker_pids() const { return session_->worker_pids(); }
const CudaOptions& CudaLoader::cuda_options() const { return session_->cuda_options(); }
bool CudaLoader::converts_on_device() const { return session_->converts_on_device(); }
CudaCounters CudaLoader::counters() const { return session_->counters(); }
bool CudaLoader::decodes_on_device() const { return session_->decodes_on_device(); }
std::vector<std::string> CudaLoader::fallbacks() const { return session_->fallbacks(); }

}  // namespace bale
