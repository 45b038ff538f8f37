// Wraps libjpeg's error handling: its error exit longjmps back into Guard, which then returns
// false. libjpeg's messages are discarded, and warnings counted.
//
// **Requires**: code inside Guard creates no objects with destructors, because a jump would skip
// them.
#pragma once

#include <csetjmp>

#include "common/base/fault.h"
#include "server/decode/jpeg/libjpeg.h"

namespace penstock::decode {

class JpegErrors {
 public:
  JpegErrors();
  JpegErrors(const JpegErrors&) = delete;
  JpegErrors& operator=(const JpegErrors&) = delete;

  // For jpeg_decompress_struct::err. **Requires**: this object outlives the decompressor.
  jpeg_error_mgr* manager() { return &hooks_.manager; }

  // Runs body(); false if libjpeg reported an error.
  template <typename Body>
  bool Guard(Body&& body) {
    hooks_.given_up_for = base::Fault::kNone;
    if (setjmp(hooks_.jump) != 0) return false;
    body();
    return true;
  }

  // Ends a Guard from within a hook that libjpeg called; fault() then returns `fault`.
  [[noreturn]] static void GiveUp(j_common_ptr info, base::Fault fault);

  // libjpeg's warnings about the current file.
  long warnings() const { return hooks_.manager.num_warnings; }

  // After Guard returned false: kUnsupported for features that libjpeg doesn't decode,
  // kTooManyPixels if the image is too large or needs too much memory, else kCorrupt.
  base::Fault fault() const;

 private:
  struct Hooks {
    jpeg_error_mgr manager;  // first member, because libjpeg's pointer to it is cast to Hooks*
    std::jmp_buf jump;
    base::Fault given_up_for;
  };
  [[noreturn]] static void Exit(j_common_ptr info);
  static void DropMessage(j_common_ptr) {}
  static void CountWarning(j_common_ptr info, int level) { info->err->num_warnings += level < 0; }

  Hooks hooks_;
};

}  // namespace penstock::decode
