// Preloaded into a daemon under test, reports when the thread "runner", which serves all sessions,
// accesses a file or folder, or takes a lock under which another thread did so. Each finding is a
// line in the file $PENSTOCK_TEST_RUNNER, once per call and path. It ignores everything that isn't
// storage: /proc, /dev and /sys, memory, sockets, pipes and events.
//
// It sees calls through the C library's symbols, which includes all calls by the daemon's own code.
// It doesn't see calls within stdio, which writes the log.
#undef _FORTIFY_SOURCE  // its inline functions have the names of ours
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace {

constexpr int kMostHeld = 16;  // maximum number of locks that a thread can hold
constexpr int kMostLocks = 4096;
constexpr int kMostFindings = 256;

// Per thread. Not on the heap, because an allocator may lock.
thread_local pthread_mutex_t* held[kMostHeld];
thread_local int holds = 0;
thread_local bool inside = false;  // our own calls are not watched

// Locks under which a thread did I/O. They are never removed, so a new lock at the same address can
// cause a false finding.
std::atomic<pthread_mutex_t*> io_locks[kMostLocks];
std::atomic<uint64_t> found[kMostFindings];

template <typename Function>
Function Real(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

class Inside {
 public:
  Inside() { inside = true; }
  ~Inside() { inside = false; }
};

bool IsTheRunner() {
  char name[16] = {};
  ::prctl(PR_GET_NAME, name);
  return std::strcmp(name, "runner") == 0;
}

// Returns false in workers and tools, which inherit this library but aren't watched.
bool IsTheDaemon() {
  static const bool is = std::strcmp(program_invocation_short_name, "penstockd") == 0;
  return is;
}

bool IsStorage(const char* path) {
  if (path == nullptr) return false;
  for (const char* none : {"/proc/", "/dev/", "/sys/", "/memfd:"})
    if (std::strncmp(path, none, std::strlen(none)) == 0) return false;
  return true;
}

bool IsNew(const char* text) {
  uint64_t hash = 1469598103934665603u;
  for (const char* at = text; *at != '\0'; ++at)
    hash = (hash ^ static_cast<uint8_t>(*at)) * 1099511628211u;
  for (std::atomic<uint64_t>& each : found) {
    uint64_t none = 0;
    if (each.load() == hash) return false;
    if (each.load() == 0 && each.compare_exchange_strong(none, hash)) return true;
    if (none == hash) return false;
  }
  return false;
}

void Print(const char* who, const char* call, const char* what) {
  const char* file = std::getenv("PENSTOCK_TEST_RUNNER");
  if (file == nullptr) return;
  char line[4096];
  std::snprintf(line, sizeof(line), "%s %s %s\n", who, call, what);
  if (!IsNew(line)) return;
  const long fd =
      ::syscall(SYS_openat, AT_FDCWD, file, O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0600);
  ::syscall(SYS_write, fd, line, std::strlen(line));
  ::syscall(SYS_close, fd);
}

void NoteLocks() {
  for (int i = 0; i < holds; ++i) {
    for (std::atomic<pthread_mutex_t*>& place : io_locks) {
      pthread_mutex_t* none = nullptr;
      if (place.load() == held[i]) break;
      if (place.load() == nullptr && place.compare_exchange_strong(none, held[i])) break;
      if (none == held[i]) break;
    }
  }
}

void Touches(const char* call, const char* path) {
  if (inside || !IsTheDaemon() || !IsStorage(path)) return;
  const Inside ours;
  NoteLocks();
  // Findings for other threads prove that the library works.
  const int error = errno;  // readdir distinguishes the end from an error only by errno
  if (IsTheRunner())
    Print("runner", call, path);
  else
    Print("other", "touches", "files");
  errno = error;
}

void Touches(const char* call, int fd) {
  if (inside || !IsTheDaemon()) return;
  char link[64], path[4096];
  std::snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  const long length = ::syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof(path) - 1);
  if (length <= 0 || path[0] != '/') return;
  path[length] = '\0';
  Touches(call, path);
}

void TakesLock(pthread_mutex_t* lock, void* caller) {
  if (inside) return;
  if (holds < kMostHeld) held[holds] = lock;
  if (holds < kMostHeld) ++holds;
  bool io = false;
  for (const std::atomic<pthread_mutex_t*>& place : io_locks) {
    const pthread_mutex_t* known = place.load(std::memory_order_relaxed);
    if (known == nullptr) break;
    if (known == lock) io = true;
  }
  if (!io) return;
  const Inside ours;
  if (!IsTheRunner()) return;
  Dl_info info = {};  // for addr2line
  ::dladdr(caller, &info);
  const auto offset =
      reinterpret_cast<uintptr_t>(caller) - reinterpret_cast<uintptr_t>(info.dli_fbase);
  char where[512];
  std::snprintf(where, sizeof(where), "%s+%#lx", info.dli_fname == nullptr ? "?" : info.dli_fname,
                offset);
  Print("runner", "takes-a-lock-under-which-others-touched-files", where);
}

void GivesLock(pthread_mutex_t* lock) {
  if (inside) return;
  for (int i = holds - 1; i >= 0; --i) {
    if (held[i] != lock) continue;
    std::memmove(&held[i], &held[i + 1],
                 static_cast<size_t>(holds - i - 1) * sizeof(pthread_mutex_t*));
    --holds;
    return;
  }
}

}  // namespace

// Calls the real function with the same arguments.
// NOLINTBEGIN(bugprone-macro-parentheses): the arguments are types and lists
#define WATCH(result, name, parameters, arguments, touched)     \
  result name parameters {                                      \
    Touches(#name, touched);                                    \
    static const auto real = Real<result(*) parameters>(#name); \
    return real arguments;                                      \
  }
// NOLINTEND(bugprone-macro-parentheses)

extern "C" {

int pthread_mutex_lock(pthread_mutex_t* lock) {
  static const auto real = Real<int (*)(pthread_mutex_t*)>("pthread_mutex_lock");
  TakesLock(lock, __builtin_return_address(0));
  return real(lock);
}

int pthread_mutex_unlock(pthread_mutex_t* lock) {
  static const auto real = Real<int (*)(pthread_mutex_t*)>("pthread_mutex_unlock");
  GivesLock(lock);
  return real(lock);
}

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  Touches("open", path);
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  Touches("open64", path);
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

int openat(int folder, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  Touches("openat", path);
  return static_cast<int>(::syscall(SYS_openat, folder, path, flags, mode));
}

WATCH(FILE*, fopen, (const char* path, const char* mode), (path, mode), path)
WATCH(FILE*, fopen64, (const char* path, const char* mode), (path, mode), path)
WATCH(DIR*, opendir, (const char* path), (path), path)
WATCH(dirent*, readdir, (DIR * folder), (folder), ::dirfd(folder))
WATCH(dirent64*, readdir64, (DIR * folder), (folder), ::dirfd(folder))
WATCH(ssize_t, read, (int fd, void* into, size_t bytes), (fd, into, bytes), fd)
WATCH(ssize_t, pread, (int fd, void* into, size_t bytes, off_t at), (fd, into, bytes, at), fd)
WATCH(ssize_t, pread64, (int fd, void* into, size_t bytes, off64_t at), (fd, into, bytes, at), fd)
WATCH(ssize_t, write, (int fd, const void* from, size_t bytes), (fd, from, bytes), fd)
WATCH(int, close, (int fd), (fd), fd)
WATCH(int, fsync, (int fd), (fd), fd)
WATCH(int, fdatasync, (int fd), (fd), fd)
WATCH(int, fstat, (int fd, struct stat* into), (fd, into), fd)
WATCH(int, fstat64, (int fd, struct stat64* into), (fd, into), fd)
WATCH(int, stat, (const char* path, struct stat* into), (path, into), path)
WATCH(int, stat64, (const char* path, struct stat64* into), (path, into), path)
WATCH(int, lstat, (const char* path, struct stat* into), (path, into), path)
WATCH(int, fstatat, (int folder, const char* path, struct stat* into, int flags),
      (folder, path, into, flags), path)
WATCH(int, access, (const char* path, int how), (path, how), path)
WATCH(ssize_t, readlink, (const char* path, char* into, size_t bytes), (path, into, bytes), path)
WATCH(int, mkdir, (const char* path, mode_t mode), (path, mode), path)
WATCH(int, unlink, (const char* path), (path), path)
WATCH(int, rename, (const char* from, const char* to), (from, to), to)

}  // extern "C"
