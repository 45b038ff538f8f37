// Preloaded into a daemon under test, makes the runner hang or crash. While the file
// $PENSTOCK_TEST_STUCK exists, the thread "runner" never returns from its sleep; if the file
// contains a word, the thread crashes instead.
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

extern "C" int ppoll(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* mask) {
  char name[16] = {};
  ::prctl(PR_GET_NAME, name);
  const char* file = std::getenv("PENSTOCK_TEST_STUCK");
  struct stat status;
  while (file != nullptr && std::strcmp(name, "runner") == 0 && ::stat(file, &status) == 0) {
    if (status.st_size > 0) *static_cast<volatile int*>(nullptr) = 0;
    ::usleep(1000);
  }
  timespec copy = {};
  if (timeout != nullptr) copy = *timeout;  // the kernel writes to it
  return static_cast<int>(
      ::syscall(SYS_ppoll, fds, count, timeout == nullptr ? nullptr : &copy, mask, _NSIG / 8));
}
