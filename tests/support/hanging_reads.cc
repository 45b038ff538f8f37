// Preloaded into a daemon under test: a file server that is away. While the file "<folder>.away"
// exists, whoever looks at, or reads, an open file or directory below the folder
// $PENSTOCK_TEST_FOLDER waits, after leaving the file "<folder>.hung"; while "<folder>.broken"
// exists, it gets EIO. The thread "runner", which serves all, must not do so at any time: it leaves
// the file "<folder>.runner".
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
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

// Whether the call succeeds, once it comes back.
bool Ask(int fd) {
  const char* folder = std::getenv("PENSTOCK_TEST_FOLDER");
  if (folder == nullptr) return true;
  char link[64], path[4096];
  const int error = errno;  // readdir says an end and an error by it alone
  std::snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  const ssize_t length = ::readlink(link, path, sizeof(path) - 1);
  const size_t wanted = std::strlen(folder);
  errno = error;
  if (length < static_cast<ssize_t>(wanted) || std::strncmp(path, folder, wanted) != 0) return true;
  if (length > static_cast<ssize_t>(wanted) && path[wanted] != '/') return true;
  if (IsTheRunner()) Leave(folder, ".runner");
  if (IsThere(folder, ".away")) Leave(folder, ".hung");
  while (IsThere(folder, ".away")) ::usleep(10'000);
  const bool works = !IsThere(folder, ".broken");
  errno = works ? error : EIO;
  return works;
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

}  // extern "C"
