// libjpeg's way of failing, kept in one place: its error exit jumps back into Guard, which returns
// false. libjpeg's texts are dropped here; nobody sees them.
//
// What runs inside Guard may create no object with a destructor, since a jump would pass it by.
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

  // For jpeg_decompress_struct::err; this object outlives the decompressor.
  jpeg_error_mgr* manager() { return &hooks_.manager; }

  // False if libjpeg gave up somewhere in body().
  template <typename Body>
  bool Guard(Body&& body) {
    hooks_.given_up_for = base::Fault::kNone;
    if (setjmp(hooks_.jump) != 0) return false;
    body();
    return true;
  }

  // Ends a Guard from a hook that libjpeg called within it; fault() is then this.
  [[noreturn]] static void GiveUp(j_common_ptr info, base::Fault fault);

  // After Guard returned false: kUnsupported for what libjpeg knows but does not decode,
  // kTooManyPixels for what is too large or needs too much memory, else kCorrupt.
  base::Fault fault() const;

 private:
  struct Hooks {
    jpeg_error_mgr manager;  // first: libjpeg's pointer to it is a pointer to Hooks
    std::jmp_buf jump;
    base::Fault given_up_for;
  };
  [[noreturn]] static void Exit(j_common_ptr info);
  static void DropMessage(j_common_ptr) {}
  static void DropLevel(j_common_ptr, int) {}

  Hooks hooks_;
};

}  // namespace penstock::decode
