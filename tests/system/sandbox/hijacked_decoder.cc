// Preloaded into a worker: simulates a decoder that is taken over by a photograph of a certain
// width and then opens a file.
#include <cstddef>
#include <cstdio>
// jpeglib.h uses the C library's types without including them, so this block comes last.
#include <dlfcn.h>
#include <fcntl.h>
#include <jpeglib.h>
#include <sys/syscall.h>
#include <unistd.h>

constexpr unsigned kTakesOver = 333;  // as in hijacked_test.cc

extern "C" __attribute__((visibility("default"))) boolean jpeg_start_decompress(
    j_decompress_ptr info) {
  static const auto real =
      reinterpret_cast<boolean (*)(j_decompress_ptr)>(::dlsym(RTLD_NEXT, "jpeg_start_decompress"));
  if (info->image_width == kTakesOver) ::syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY);
  return real(info);
}
