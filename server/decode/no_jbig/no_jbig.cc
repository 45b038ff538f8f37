// A libjbig.so.0 without JBIG. Bundles and wheels carry it in place of the library that Debian's
// libtiff loads, which is under the GPL. It has the functions that libtiff calls, and each of them
// fails, so libtiff treats JBIG data as undecodable. It has no state, so any thread may call it.
// Nothing links it; the dynamic loader finds it by name.
#include <cstddef>

#define PENSTOCK_JBIG extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kRefused = 1;  // 0 means success

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

// Encoders cannot report errors. They write nothing, and readers refuse the empty strip.
PENSTOCK_JBIG void jbg_enc_init(void*, unsigned long, unsigned long, int, unsigned char**,
                                void (*)(unsigned char*, size_t, void*), void*) {}

PENSTOCK_JBIG void jbg_enc_out(void*) {}

PENSTOCK_JBIG void jbg_enc_free(void*) {}

// The original modifies the data; this one doesn't.
PENSTOCK_JBIG int jbg_newlen(unsigned char*, size_t) { return kRefused; }

PENSTOCK_JBIG const char* jbg_strerror(int) { return "JBIG is not part of Penstock"; }
