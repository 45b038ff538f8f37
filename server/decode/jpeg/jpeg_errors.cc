#include "server/decode/jpeg/jpeg_errors.h"

#include <jerror.h>

namespace penstock::decode {

JpegErrors::JpegErrors() {
  jpeg_std_error(&hooks_.manager);
  hooks_.manager.error_exit = &Exit;
  hooks_.manager.output_message = &DropMessage;
  hooks_.manager.emit_message = &CountWarning;
}

void JpegErrors::Exit(j_common_ptr info) {
  std::longjmp(reinterpret_cast<Hooks*>(info->err)->jump, 1);
}

void JpegErrors::GiveUp(j_common_ptr info, base::Fault fault) {
  reinterpret_cast<Hooks*>(info->err)->given_up_for = fault;
  Exit(info);
}

base::Fault JpegErrors::fault() const {
  if (hooks_.given_up_for != base::Fault::kNone) return hooks_.given_up_for;
  switch (hooks_.manager.msg_code) {
    case JERR_BAD_PRECISION:  // 12 bits per sample
    case JERR_SOF_UNSUPPORTED:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_CCIR601_NOTIMPL:
#if JPEG_LIB_VERSION < 70  // a newer library's interface has no such error
    case JERR_ARITH_NOTIMPL:
#endif
      return base::Fault::kUnsupported;
    case JERR_IMAGE_TOO_BIG:  // a side of more than 65,500 pixels
    case JERR_OUT_OF_MEMORY:
    case JERR_WIDTH_OVERFLOW:
      return base::Fault::kTooManyPixels;
    default:
      return base::Fault::kCorrupt;
  }
}

}  // namespace penstock::decode
