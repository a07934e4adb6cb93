#include "bale/tests/support/fake_nvjpeg/fake_nvjpeg.hpp"

#include <cstdio>  // before jpeglib.h, which needs it

#include <jpeglib.h>

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "bale/loader/cuda/decode/nvjpeg.hpp"
#include "bale/tests/support/fake_cuda/engine.hpp"

using namespace bale::cuda_detail;
using bale::test::fake_cuda::Engine;
using bale::test::fake_cuda::Work;

namespace {

struct FakeHandle {
  NvjpegBackend backend{};
  unsigned flags = 0;
};

struct FakeState {
  int batch_size = 0;
  std::shared_ptr<int> running =
      std::make_shared<int>(0);  // images that are not decoded yet; the engine's lock guards it
};

struct Fault {
  std::uint64_t after = 0;
  int status = 0;
};

struct Library {
  std::mutex mutex;
  std::map<NvjpegHandle, std::unique_ptr<FakeHandle>> handles;
  std::map<NvjpegState, std::unique_ptr<FakeState>> states;
  std::map<std::string, int> refused;
  std::map<std::string, Fault> faults;
  std::map<std::string, std::uint64_t> calls;
  std::function<int(const unsigned char*, std::size_t)> judge;
  std::uint64_t num_decoded = 0;
  FakeHandle last{};
};

Library& library() {
  static Library* const made = new Library;  // never destroyed: bale may call it while the process exits
  return *made;
}

/// Called at the start of every function, with the library's lock. Returns what a test asked for.
NvjpegStatus enter(const std::string& function, bool needs_context = true) {
  Library& lib = library();
  ++lib.calls[function];
  if (needs_context && bale::test::fake_cuda::thread_state().current.empty()) {
    Engine::get().find(function + ": no context is current");
  }
  if (const auto found = lib.refused.find(function); found != lib.refused.end()) {
    return static_cast<NvjpegStatus>(found->second);
  }
  const auto fault = lib.faults.find(function);
  if (fault == lib.faults.end()) return NvjpegStatus::success;
  if (fault->second.after > 0) {
    --fault->second.after;
    return NvjpegStatus::success;
  }
  const auto status = static_cast<NvjpegStatus>(fault->second.status);
  lib.faults.erase(fault);
  return status;
}

struct Decoded {
  std::size_t width = 0;
  std::size_t height = 0;
  std::vector<unsigned char> rgb{};
};

/// The whole image, as libjpeg-turbo decodes it. Tests give no JPEG that it refuses.
Decoded decode(const unsigned char* jpeg, std::size_t length) {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, jpeg, static_cast<unsigned long>(length));
  jpeg_read_header(&info, TRUE);
  info.out_color_space = JCS_RGB;
  jpeg_start_decompress(&info);
  Decoded decoded{info.output_width, info.output_height, {}};
  decoded.rgb.resize(decoded.width * decoded.height * 3);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = decoded.rgb.data() + info.output_scanline * decoded.width * 3;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
  return decoded;
}

/// Queues the decoding of one image.
NvjpegStatus enqueue(FakeState& state, const unsigned char* jpeg, std::size_t length, const NvjpegImage& image,
                     StreamHandle stream_handle) {
  Engine& engine = Engine::get();
  const std::lock_guard lock(engine.mutex);
  auto* const stream = engine.stream(stream_handle, "nvjpegDecode");
  if (stream == nullptr) return NvjpegStatus::invalid_parameter;
  auto decoded = std::make_shared<const Decoded>(decode(jpeg, length));
  const auto to = reinterpret_cast<DevicePointer>(image.channel[0]);
  const std::size_t pitch = image.pitch[0];
  const std::size_t size = pitch * (decoded->height - 1) + decoded->width * 3;
  if (pitch < decoded->width * 3) engine.note("nvJPEG: the pitch is smaller than a row");
  auto work = std::make_shared<Work>();
  work->what = "decoding";
  if (engine.is_pinned(jpeg, length)) {  // otherwise the library has copied it
    work->source = jpeg;
    work->source_size = length;
    work->source_sum = bale::test::fake_cuda::sum_of(jpeg, length);
  }
  work->run = [target = engine.host_address(to, size), decoded, pitch] {
    for (std::size_t y = 0; y < decoded->height; ++y) {
      std::memcpy(target + y * pitch, decoded->rgb.data() + y * decoded->width * 3, decoded->width * 3);
    }
  };
  ++*state.running;
  work->finish = [running = state.running] { --*running; };
  const Result given = engine.give(*stream, std::move(work), {{to, size, true}});
  if (given != Result::success) return NvjpegStatus::execution_failed;
  ++library().num_decoded;
  return NvjpegStatus::success;
}

FakeState* state_for(NvjpegHandle handle, NvjpegState state, const char* function) {
  Library& lib = library();
  const auto found = lib.states.find(state);
  if (lib.handles.count(handle) == 0 || found == lib.states.end()) {
    Engine::get().find(std::string(function) + ": this handle or state was destroyed, or never made");
    return nullptr;
  }
  return found->second.get();
}

void require_idle(const FakeState& state, const char* function) {
  Engine& engine = Engine::get();
  const std::lock_guard lock(engine.mutex);
  if (*state.running > 0)
    engine.note(std::string(function) + ": the state is in use by a batch that is not decoded yet");
}

}  // namespace

#define BALE_ENTER(function)                           \
  const std::lock_guard library_lock(library().mutex); \
  if (const NvjpegStatus failed = enter(function); failed != NvjpegStatus::success) return failed

extern "C" {

// These are the loader's declarations of the functions, so that the two cannot differ.
#define BALE_DECLARE(name, arguments) [[gnu::visibility("default")]] NvjpegStatus name arguments;
BALE_NVJPEG_FUNCTIONS(BALE_DECLARE)
#undef BALE_DECLARE

NvjpegStatus nvjpegCreateEx(NvjpegBackend backend, void*, void*, unsigned flags, NvjpegHandle* handle) {
  BALE_ENTER(__func__);
  const std::string with_backend = std::string(__func__) + ":" + std::to_string(static_cast<int>(backend));
  if (const NvjpegStatus failed = enter(with_backend); failed != NvjpegStatus::success) return failed;
  const std::string with_flags = std::string(__func__) + ":flags " + std::to_string(flags);
  if (const NvjpegStatus failed = enter(with_flags); failed != NvjpegStatus::success) return failed;
  auto made = std::make_unique<FakeHandle>(FakeHandle{backend, flags});
  library().last = *made;
  *handle = reinterpret_cast<NvjpegHandle>(made.get());
  library().handles.emplace(*handle, std::move(made));
  return NvjpegStatus::success;
}

NvjpegStatus nvjpegDestroy(NvjpegHandle handle) {
  BALE_ENTER(__func__);
  if (library().handles.erase(handle) == 0) Engine::get().find("nvjpegDestroy: this handle was never made");
  if (!library().states.empty() && library().handles.empty()) Engine::get().find("nvjpegDestroy: it has states");
  return NvjpegStatus::success;
}

NvjpegStatus nvjpegJpegStateCreate(NvjpegHandle handle, NvjpegState* state) {
  BALE_ENTER(__func__);
  if (library().handles.count(handle) == 0) Engine::get().find("nvjpegJpegStateCreate: this handle was never made");
  auto made = std::make_unique<FakeState>();
  *state = reinterpret_cast<NvjpegState>(made.get());
  library().states.emplace(*state, std::move(made));
  return NvjpegStatus::success;
}

NvjpegStatus nvjpegJpegStateDestroy(NvjpegState state) {
  BALE_ENTER(__func__);
  const auto found = library().states.find(state);
  if (found == library().states.end()) return NvjpegStatus::invalid_parameter;
  require_idle(*found->second, __func__);
  library().states.erase(found);
  return NvjpegStatus::success;
}

NvjpegStatus nvjpegDecodeBatchedInitialize(NvjpegHandle handle, NvjpegState state_handle, int batch_size,
                                           int max_cpu_threads, int output_format) {
  BALE_ENTER(__func__);
  FakeState* const state = state_for(handle, state_handle, __func__);
  if (state == nullptr || batch_size < 1 || max_cpu_threads < 1 || output_format != k_nvjpeg_rgb) {
    return NvjpegStatus::invalid_parameter;
  }
  require_idle(*state, __func__);
  state->batch_size = batch_size;
  return NvjpegStatus::success;
}

NvjpegStatus nvjpegDecodeBatched(NvjpegHandle handle, NvjpegState state_handle, const unsigned char* const* data,
                                 const std::size_t* lengths, NvjpegImage* destinations, StreamHandle stream) {
  BALE_ENTER(__func__);
  FakeState* const state = state_for(handle, state_handle, __func__);
  if (state == nullptr || state->batch_size == 0) return NvjpegStatus::not_initialized;
  require_idle(*state, __func__);
  for (int i = 0; i < state->batch_size; ++i) {
    const int judged = library().judge ? library().judge(data[i], lengths[i]) : 0;
    if (judged != 0) {
      state->batch_size = 0;  // as the documentation says: to be initialized again
      return static_cast<NvjpegStatus>(judged);
    }
    // An image before the one that fails is decoded.
    const NvjpegStatus status = enqueue(*state, data[i], lengths[i], destinations[i], stream);
    if (status != NvjpegStatus::success) return status;
  }
  return NvjpegStatus::success;
}

NvjpegStatus nvjpegDecode(NvjpegHandle handle, NvjpegState state_handle, const unsigned char* data, std::size_t length,
                          int output_format, NvjpegImage* destination, StreamHandle stream) {
  BALE_ENTER(__func__);
  FakeState* const state = state_for(handle, state_handle, __func__);
  if (state == nullptr || output_format != k_nvjpeg_rgb) return NvjpegStatus::invalid_parameter;
  require_idle(*state, __func__);
  const int judged = library().judge ? library().judge(data, length) : 0;
  if (judged != 0) return static_cast<NvjpegStatus>(judged);
  return enqueue(*state, data, length, *destination, stream);
}

// For tests that are not in C++.
[[gnu::visibility("default")]] void fake_nvjpeg_refuse(const char* function, int status) {
  bale::test::fake_nvjpeg::refuse(function, status);
}
[[gnu::visibility("default")]] std::uint64_t fake_nvjpeg_num_decoded() {
  return bale::test::fake_nvjpeg::num_decoded();
}
[[gnu::visibility("default")]] int fake_nvjpeg_num_live() { return bale::test::fake_nvjpeg::num_live(); }

}  // extern "C"

namespace bale::test::fake_nvjpeg {

void reset() {
  Library& lib = library();
  const std::lock_guard lock(lib.mutex);
  lib.handles.clear();
  lib.states.clear();
  lib.refused.clear();
  lib.faults.clear();
  lib.calls.clear();
  lib.judge = {};
  lib.num_decoded = 0;
  lib.last = {};
}

void refuse(const std::string& function, int status) {
  const std::lock_guard lock(library().mutex);
  library().refused[function] = status;
}

void fail_once(const std::string& function, std::uint64_t after, int status) {
  const std::lock_guard lock(library().mutex);
  library().faults[function] = {after, status};
}

void judge_images(std::function<int(const unsigned char*, std::size_t)> judge) {
  const std::lock_guard lock(library().mutex);
  library().judge = std::move(judge);
}

std::uint64_t num_calls(const std::string& function) {
  const std::lock_guard lock(library().mutex);
  return library().calls[function];
}

std::uint64_t num_decoded() {
  const std::lock_guard lock(library().mutex);
  return library().num_decoded;
}

int num_live() {
  const std::lock_guard lock(library().mutex);
  return static_cast<int>(library().handles.size() + library().states.size());
}

int backend() {
  const std::lock_guard lock(library().mutex);
  return static_cast<int>(library().last.backend);
}

unsigned flags() {
  const std::lock_guard lock(library().mutex);
  return library().last.flags;
}

}  // namespace bale::test::fake_nvjpeg
