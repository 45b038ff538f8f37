// Preloaded into a daemon under test, simulates a file server that doesn't respond. While the file
// "<folder>.away" exists, every open, stat, read or write below the folder $PENSTOCK_TEST_FOLDER
// creates the file "<folder>.hung" and blocks. While "<folder>.broken" exists, fstat and read of
// open files fail with EIO. The thread "runner", which serves all sessions, must never make such
// calls; if it does, the file "<folder>.runner" is created.
#undef _FORTIFY_SOURCE  // its inline functions have the names of ours
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

bool IsThere(const char* folder, const char* suffix) {
  char path[4096];
  std::snprintf(path, sizeof(path), "%s%s", folder, suffix);
  return ::access(path, F_OK) == 0;
}

void Leave(const char* folder, const char* suffix) {
  char path[4096];
  std::snprintf(path, sizeof(path), "%s%s", folder, suffix);
  ::close(::open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

bool IsTheRunner() {
  char name[16] = {};
  ::prctl(PR_GET_NAME, name);
  return std::strcmp(name, "runner") == 0;
}

// Blocks while the file server is away. Returns whether the call may succeed.
bool AskFor(const char* path) {
  const char* folder = std::getenv("PENSTOCK_TEST_FOLDER");
  if (folder == nullptr) return true;
  const int error = errno;  // readdir distinguishes the end from an error only by errno
  const size_t wanted = std::strlen(folder);
  if (std::strncmp(path, folder, wanted) != 0) return true;
  if (path[wanted] != '\0' && path[wanted] != '/') return true;
  if (IsTheRunner()) Leave(folder, ".runner");
  if (IsThere(folder, ".away")) Leave(folder, ".hung");
  while (IsThere(folder, ".away")) ::usleep(10'000);
  const bool works = !IsThere(folder, ".broken");
  errno = works ? error : EIO;
  return works;
}

// Writes the path of an open file to `path`; "" if there is none.
void PathOf(int fd, char* path, size_t bytes) {
  char link[64];
  std::snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  const int error = errno;
  const ssize_t length = ::readlink(link, path, bytes - 1);
  path[length < 0 ? 0 : length] = '\0';
  errno = error;
}

bool Ask(int fd) {
  char path[4096];
  PathOf(fd, path, sizeof(path));
  return AskFor(path);
}

// For files that don't exist or aren't open yet.
void WaitFor(int folder, const char* path) {
  char whole[8192];
  if (path == nullptr) return;
  if (path[0] == '/' || folder == AT_FDCWD) return static_cast<void>(AskFor(path));
  PathOf(folder, whole, 4096);
  const size_t length = std::strlen(whole);
  std::snprintf(whole + length, sizeof(whole) - length, "/%s", path);
  AskFor(whole);
}

template <typename Function>
Function* Real(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

ssize_t pread(int fd, void* into, size_t bytes, off_t at) {
  return Ask(fd) ? ::syscall(SYS_pread64, fd, into, bytes, at) : -1;
}

ssize_t pread64(int fd, void* into, size_t bytes, off64_t at) {
  return Ask(fd) ? ::syscall(SYS_pread64, fd, into, bytes, at) : -1;
}

int fstat(int fd, struct stat* into) {
  return Ask(fd) ? static_cast<int>(::syscall(SYS_newfstatat, fd, "", into, AT_EMPTY_PATH)) : -1;
}

dirent* readdir(DIR* folder) {
  return Ask(::dirfd(folder)) ? Real<dirent*(DIR*)>("readdir")(folder) : nullptr;
}

dirent64* readdir64(DIR* folder) {
  return Ask(::dirfd(folder)) ? Real<dirent64*(DIR*)>("readdir64")(folder) : nullptr;
}

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  WaitFor(AT_FDCWD, path);
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

int openat(int folder, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  WaitFor(folder, path);
  return static_cast<int>(::syscall(SYS_openat, folder, path, flags, mode));
}

int stat(const char* path, struct stat* into) {
  WaitFor(AT_FDCWD, path);
  return static_cast<int>(::syscall(SYS_newfstatat, AT_FDCWD, path, into, 0));
}

int fstatat(int folder, const char* path, struct stat* into, int flags) {
  WaitFor(folder, path);
  return static_cast<int>(::syscall(SYS_newfstatat, folder, path, into, flags));
}

int mkdir(const char* path, mode_t mode) {
  WaitFor(AT_FDCWD, path);
  return static_cast<int>(::syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}

int unlink(const char* path) {
  WaitFor(AT_FDCWD, path);
  return static_cast<int>(::syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

int rename(const char* from, const char* to) {
  WaitFor(AT_FDCWD, to);
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

int fsync(int fd) { return Ask(fd) ? static_cast<int>(::syscall(SYS_fsync, fd)) : -1; }

// The C library has no wrapper for openat2.
long syscall(long number, ...) {
  va_list more;
  va_start(more, number);
  long argument[6];
  for (long& each : argument) each = va_arg(more, long);
  va_end(more);
  if (number == SYS_openat2)
    WaitFor(static_cast<int>(argument[0]), reinterpret_cast<const char*>(argument[1]));
  static const auto real = Real<long(long, ...)>("syscall");
  return real(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
}

}  // extern "C"
