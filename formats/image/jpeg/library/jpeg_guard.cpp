#include "bale/formats/image/jpeg/library/jpeg_guard.hpp"

#include <cstring>

namespace bale::image_detail {
namespace {

ErrorCode code_of(int message) {
  switch (message) {
    case JERR_ARITH_NOTIMPL:
    case JERR_BAD_PRECISION:
    case JERR_CCIR601_NOTIMPL:
    case JERR_COMPONENT_COUNT:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_IMAGE_TOO_BIG:
    case JERR_NOTIMPL:
    case JERR_NOT_COMPILED:
    case JERR_NO_BACKING_STORE:
    case JERR_SOF_UNSUPPORTED:
    case JERR_WIDTH_OVERFLOW:
      return ErrorCode::unsupported;
    case JERR_OUT_OF_MEMORY:
      return ErrorCode::out_of_memory;
    default:
      return ErrorCode::damaged;
  }
}

JpegErrors& errors_of(j_common_ptr info) { return *reinterpret_cast<JpegErrors*>(info->err); }

void on_error(j_common_ptr info) {
  JpegErrors& errors = errors_of(info);
  errors.manager.format_message(info, errors.text);
  errors.code = code_of(errors.manager.msg_code);
  std::longjmp(errors.jump, 1);
}

// libjpeg counts warnings; they are otherwise ignored.
void on_message(j_common_ptr) {}

}  // namespace

jpeg_error_mgr* start_jpeg_errors(JpegErrors& errors) {
  jpeg_std_error(&errors.manager);
  errors.manager.error_exit = on_error;
  errors.manager.output_message = on_message;
  return &errors.manager;
}

void fail_jpeg(JpegErrors& errors, ErrorCode code, const char* text) {
  std::strncpy(errors.text, text, sizeof(errors.text) - 1);
  errors.manager.msg_code = 0;
  errors.code = code;
  std::longjmp(errors.jump, 1);
}

void fail_jpeg(j_common_ptr info, int message) {
  info->err->msg_code = message;
  info->err->error_exit(info);
  __builtin_unreachable();  // error_exit does not return: longjmp
}

}  // namespace bale::image_detail
