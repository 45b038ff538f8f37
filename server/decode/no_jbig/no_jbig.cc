// libjbig.so.0 without JBIG: what bundles and wheels carry in place of the library that Debian's
// libtiff loads, which is under the GPL. It has the functions that libtiff calls, and each refuses:
// to libtiff, JBIG data are data that nobody can decode. It keeps no state and may be called from
// any thread. Nothing links it; a loader finds it by its name.
#include <cstddef>

#define PENSTOCK_JBIG extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kRefused = 1;  // 0 would be success

}  // namespace

// Decoders. Callers own the state; nothing is stored in it.
PENSTOCK_JBIG void jbg_dec_init(void*) {}

PENSTOCK_JBIG int jbg_dec_in(void*, unsigned char*, size_t, size_t* taken) {
  if (taken != nullptr) *taken = 0;
  return kRefused;
}

PENSTOCK_JBIG unsigned char* jbg_dec_getimage(const void*, int) { return nullptr; }

PENSTOCK_JBIG size_t jbg_dec_getsize(const void*) { return 0; }

PENSTOCK_JBIG void jbg_dec_free(void*) {}

// Encoders have no way to report an error. They write nothing, and no reader takes an empty strip.
PENSTOCK_JBIG void jbg_enc_init(void*, unsigned long, unsigned long, int, unsigned char**,
                                void (*)(unsigned char*, size_t, void*), void*) {}

PENSTOCK_JBIG void jbg_enc_out(void*) {}

PENSTOCK_JBIG void jbg_enc_free(void*) {}

// The original changes the data; ours stay as they are.
PENSTOCK_JBIG int jbg_newlen(unsigned char*, size_t) { return kRefused; }

PENSTOCK_JBIG const char* jbg_strerror(int) { return "JBIG is not part of Penstock"; }
