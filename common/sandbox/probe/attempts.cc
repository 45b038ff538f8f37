#include "common/sandbox/probe/attempts.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "common/sandbox/probe/probe_page.h"

namespace penstock::sandbox {
namespace {

constexpr size_t kPathSize = 5000;
constexpr size_t kPage = 4096;
constexpr int kOwnSocket = 3;  // its number in the programs that are probed

// 0, or the errno of a failed call.
int ErrnoOf(long result) { return result < 0 ? errno : 0; }

// The same for a call that makes a descriptor.
int Made(long descriptor) {
  if (descriptor < 0) return errno;
  ::close(static_cast<int>(descriptor));
  return 0;
}

int Open(const char* path, int flags) {
  return Made(::syscall(SYS_openat, AT_FDCWD, path, flags, 0600));
}

int OpenOfDaemon(const AttemptTarget& target, const char* name, int flags) {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/%d/%s", target.daemon, name);
  return Open(path, flags);
}

int ReadFile(const AttemptTarget&) { return Open("/proc/self/stat", O_RDONLY | O_CLOEXEC); }

int MakeFile(const AttemptTarget& target) {
  char path[kPathSize];
  std::snprintf(path, sizeof(path), "%s/.penstock-probe", target.folder);
  const int outcome = Open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW);
  if (outcome == 0) ::unlink(path);
  return outcome;
}

int LookAtFile(const AttemptTarget&) {
  struct stat status;
  return ErrnoOf(::syscall(SYS_newfstatat, AT_FDCWD, "/", &status, 0));
}

int OpenMemory(const AttemptTarget& target) {
  return OpenOfDaemon(target, "mem", O_RDWR | O_CLOEXEC);
}
int OpenMaps(const AttemptTarget& target) {
  return OpenOfDaemon(target, "maps", O_RDONLY | O_CLOEXEC);
}

// Writes back the bytes that it has read, so it changes nothing even if it succeeds.
int CopyMemory(const AttemptTarget& target, int call) {
  uint64_t copy = kSecret;
  const iovec own{.iov_base = &copy, .iov_len = sizeof(copy)};
  const iovec others{.iov_base = reinterpret_cast<void*>(target.address), .iov_len = sizeof(copy)};
  return ErrnoOf(::syscall(call, target.daemon, &own, 1, &others, 1, 0));
}
int ReadMemory(const AttemptTarget& target) { return CopyMemory(target, SYS_process_vm_readv); }
int WriteMemory(const AttemptTarget& target) { return CopyMemory(target, SYS_process_vm_writev); }

// PTRACE_SEIZE does not stop the daemon, and ends with this process.
int Attach(const AttemptTarget& target) {
  const int outcome = ErrnoOf(::syscall(SYS_ptrace, PTRACE_SEIZE, target.daemon, 0, 0));
  if (outcome == 0) ::syscall(SYS_ptrace, PTRACE_DETACH, target.daemon, 0, 0);
  return outcome;
}

int TakeDescriptor(const AttemptTarget& target) {
  return Made(::syscall(SYS_pidfd_open, target.daemon, 0));
}

// Signal 0 asks only whether it would be allowed.
int Signal(const AttemptTarget& target) { return ErrnoOf(::syscall(SYS_kill, target.daemon, 0)); }
int SignalThread(const AttemptTarget& target) {
  return ErrnoOf(::syscall(SYS_tgkill, target.daemon, target.daemon, 0));
}

int UnixSocket(const AttemptTarget&) {
  return Made(::syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0));
}
int TcpSocket(const AttemptTarget&) { return Made(::syscall(SYS_socket, AF_INET, SOCK_STREAM, 0)); }
int Send(const AttemptTarget&) {
  return ErrnoOf(::syscall(SYS_sendto, kOwnSocket, "", 0, MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0));
}

int Fork(const AttemptTarget&) {
  const long child = ::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (child == 0) ::_exit(0);
  return ErrnoOf(child);
}

int Thread(const AttemptTarget&) {
  alignas(16) static char stack[kPage];
  constexpr int kFlags =
      CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
  return ErrnoOf(::clone([](void*) { return 0; }, stack + sizeof(stack), kFlags, nullptr));
}

// If it succeeds, the process ends without an outcome, which counts as success.
int StartProgram(const AttemptTarget&) {
  const char* const argv[] = {"true", nullptr};
  return ErrnoOf(::syscall(SYS_execve, "/bin/true", argv, argv + 1));
}

int Map(int protection, int flags) {
  void* const at = ::mmap(nullptr, kPage, protection, flags | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return errno;
  ::munmap(at, kPage);
  return 0;
}

int Protect(int protection) {
  void* const at =
      ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return 0;  // cannot be tried, so it doesn't count as forbidden
  const int outcome = ErrnoOf(::mprotect(at, kPage, protection));
  ::munmap(at, kPage);
  return outcome;
}

int MapExecutable(const AttemptTarget&) { return Map(PROT_READ | PROT_EXEC, MAP_PRIVATE); }

int MakeExecutable(const AttemptTarget&) { return Protect(PROT_READ | PROT_EXEC); }

int MemoryFile(const AttemptTarget&) {
  return Made(::syscall(SYS_memfd_create, "probe", MFD_CLOEXEC));
}

// Ways to memory that RLIMIT_DATA does not count.
int MapShared(const AttemptTarget&) { return Map(PROT_READ | PROT_WRITE, MAP_SHARED); }
int MapStack(const AttemptTarget&) {
  return Map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_GROWSDOWN);
}
int MakeReadOnly(const AttemptTarget&) { return Protect(PROT_READ); }

// Moves a page of the stack that is not in use, enlarged, and puts it back.
int MoveStack(const AttemptTarget&) {
  alignas(kPage) char stack[4 * kPage];
  asm volatile("" : : "r"(stack) : "memory");  // keeps it
  void* const at = ::mremap(stack, kPage, 2 * kPage, MREMAP_MAYMOVE);
  if (at == MAP_FAILED) return errno;
  return ErrnoOf(
      ::mremap(at, 2 * kPage, kPage, MREMAP_MAYMOVE | MREMAP_FIXED, stack) == stack ? 0 : -1);
}

int SharedMemory(const AttemptTarget&) {
  const long id = ::syscall(SYS_shmget, IPC_PRIVATE, kPage, 0600);
  if (id < 0) return errno;
  ::syscall(SYS_shmctl, id, IPC_RMID, nullptr);
  return 0;
}

int Namespaces(const AttemptTarget&) { return ErrnoOf(::syscall(SYS_unshare, CLONE_NEWUSER)); }
int Outlive(const AttemptTarget&) {
  int signal = 0;
  ::syscall(SYS_prctl, PR_GET_PDEATHSIG, &signal, 0, 0, 0);
  return ErrnoOf(::syscall(SYS_prctl, PR_SET_PDEATHSIG, signal, 0, 0, 0));
}
int ChangeLimits(const AttemptTarget&) {
  rlimit limit = {};
  ::syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, &limit);
  return ErrnoOf(::syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, nullptr));
}

// This call and the next have an invalid size, so that they create nothing. If the filter lets one
// through, it fails with EINVAL or EFAULT.
int IoUring(const AttemptTarget&) { return Made(::syscall(SYS_io_uring_setup, 0, nullptr)); }
int Bpf(const AttemptTarget&) { return Made(::syscall(SYS_bpf, 0, nullptr, 0)); }

int OtherAbi(const AttemptTarget&) {
#ifdef __x86_64__
  constexpr long kX32 = 0x40000000;
  return ErrnoOf(::syscall(kX32 + SYS_getpid));
#else
  return ErrnoOf(::syscall(0x7fff));  // no such call
#endif
}

using Try = int (*)(const AttemptTarget&);
constexpr auto kTries = std::to_array<Try>(
    {ReadFile,       MakeFile,   LookAtFile,     OpenMemory,   OpenMaps,     ReadMemory,
     WriteMemory,    Attach,     TakeDescriptor, Signal,       SignalThread, UnixSocket,
     TcpSocket,      Send,       Fork,           Thread,       StartProgram, MapExecutable,
     MakeExecutable, MemoryFile, MapShared,      MapStack,     MakeReadOnly, MoveStack,
     SharedMemory,   Namespaces, Outlive,        ChangeLimits, IoUring,      Bpf,
     OtherAbi});
static_assert(kTries.size() == kAttempts.size());

}  // namespace

int Attempt(size_t which, const AttemptTarget& target) { return kTries.at(which)(target); }

}  // namespace penstock::sandbox
