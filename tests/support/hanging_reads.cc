// Preloaded into a daemon under test: a file server that is away. While the file "<folder>.away"
// exists, whoever reads a file or a directory below the folder $PENSTOCK_TEST_FOLDER waits, after
// leaving the file "<folder>.hung".
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

void WaitWhereAway(int fd) {
  const char* folder = std::getenv("PENSTOCK_TEST_FOLDER");
  if (folder == nullptr) return;
  char link[64], path[4096], away[4096], hung[4096];
  std::snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  const ssize_t length = ::readlink(link, path, sizeof(path) - 1);
  const size_t wanted = std::strlen(folder);
  if (length < static_cast<ssize_t>(wanted) || std::strncmp(path, folder, wanted) != 0) return;
  std::snprintf(away, sizeof(away), "%s.away", folder);
  const int error = errno;  // readdir says an end and an error by it alone
  if (::access(away, F_OK) != 0) {
    errno = error;
    return;
  }
  std::snprintf(hung, sizeof(hung), "%s.hung", folder);
  ::close(::open(hung, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  while (::access(away, F_OK) == 0) ::usleep(10'000);
  errno = error;
}

template <typename Function>
Function* Real(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

ssize_t pread(int fd, void* into, size_t bytes, off_t at) {
  WaitWhereAway(fd);
  return ::syscall(SYS_pread64, fd, into, bytes, at);
}

ssize_t pread64(int fd, void* into, size_t bytes, off64_t at) {
  WaitWhereAway(fd);
  return ::syscall(SYS_pread64, fd, into, bytes, at);
}

dirent* readdir(DIR* folder) {
  WaitWhereAway(::dirfd(folder));
  return Real<dirent*(DIR*)>("readdir")(folder);
}

dirent64* readdir64(DIR* folder) {
  WaitWhereAway(::dirfd(folder));
  return Real<dirent64*(DIR*)>("readdir64")(folder);
}

}  // extern "C"
