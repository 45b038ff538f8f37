#include "common/posix/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "common/base/units.h"

namespace penstock::posix {

absl::StatusOr<Fd> MakeMemory(const std::string& name, size_t bytes) {
  if (bytes == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("shared memory '", name, "' of 0 bytes; at least 1 is needed"));
  }
  const std::string what =
      absl::StrCat("making shared memory '", name, "' of ", base::FormatBytes(bytes));
  Fd memory(::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory.valid()) return base::ErrnoStatus(errno, what);
  // Before it holds any data: a new memfd has mode 0777, and others could reopen it through /proc.
  if (::fchmod(memory.get(), 0600) != 0) return base::ErrnoStatus(errno, what);
  if (::ftruncate(memory.get(), static_cast<off_t>(bytes)) != 0) {
    const absl::string_view remedy =
        errno == EFBIG ? "raise the limit of file sizes (LimitFSIZE=, ulimit -f)" : "ask for less";
    return absl::ResourceExhaustedError(
        absl::StrCat(what, ": refused by the system (errno ", errno, "); ", remedy));
  }
  if (::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return base::ErrnoStatus(errno, what);
  }
  return memory;
}

absl::StatusOr<Fd> ReadOnlyView(const Fd& memory) {
  const std::string path = absl::StrCat("/proc/self/fd/", memory.get());
  Fd view(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!view.valid()) {
    return base::ErrnoStatus(errno, absl::StrCat("opening ", path, " read-only"),
                             "/proc must be mounted");
  }
  return view;
}

absl::Status GiveBackPages(const Fd& memory, uint64_t from, uint64_t bytes) {
  int done;
  do {
    done = ::fallocate(memory.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                       static_cast<off_t>(from), static_cast<off_t>(bytes));
  } while (done != 0 && errno == EINTR);
  if (done == 0) return absl::OkStatus();
  return base::ErrnoStatus(errno, "giving pages back to the system");
}

std::optional<uint64_t> FindPages(const Fd& memory, uint64_t from) {
  const off_t found = ::lseek(memory.get(), static_cast<off_t>(from), SEEK_DATA);
  if (found < 0) return std::nullopt;
  return static_cast<uint64_t>(found);
}

std::optional<uint64_t> AllocatedBytes(const Fd& memory) {
  constexpr uint64_t kBlock = 512;  // of st_blocks, whatever the file system's is
  struct stat stat {};
  if (::fstat(memory.get(), &stat) != 0) return std::nullopt;
  return static_cast<uint64_t>(stat.st_blocks) * kBlock;
}

absl::StatusOr<size_t> SizeOf(const Fd& fd) {
  // glibc's fstat is newfstatat, which takes a path, so confined processes may not call it.
  struct stat status;
  if (::syscall(SYS_fstat, fd.get(), &status) != 0) {
    return base::ErrnoStatus(errno, absl::StrCat("fstat of descriptor ", fd.get()));
  }
  return static_cast<size_t>(status.st_size);
}

absl::StatusOr<Mapping> Mapping::Map(const Fd& fd, size_t bytes, Access access) {
  const int protection = access == Access::kReadOnly ? PROT_READ : PROT_READ | PROT_WRITE;
  return MapPart(fd, 0, bytes, protection, MAP_SHARED);
}

// Without MAP_NORESERVE the kernel refuses large private mappings.
absl::StatusOr<Mapping> Mapping::MapPrivately(const Fd& fd, uint64_t from, size_t bytes) {
  return MapPart(fd, from, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE);
}

absl::StatusOr<Mapping> Mapping::MapPart(const Fd& fd, uint64_t from, size_t bytes, int protection,
                                         int flags) {
  PENSTOCK_ASSIGN_OR_RETURN(const size_t have, SizeOf(fd));
  if (bytes == 0 || from > have || bytes > have - from) {  // reading beyond the end raises SIGBUS
    return absl::InvalidArgumentError(absl::StrCat("mapping ", bytes, " bytes from ", from,
                                                   " on of descriptor ", fd.get(), ", which has ",
                                                   have));
  }
  void* address = ::mmap(nullptr, bytes, protection, flags, fd.get(), static_cast<off_t>(from));
  if (address == MAP_FAILED) {
    return base::ErrnoStatus(
        errno, absl::StrCat("mapping ", base::FormatBytes(bytes), " of descriptor ", fd.get()));
  }
  Mapping mapping;
  mapping.data_ = static_cast<std::byte*>(address);
  mapping.size_ = bytes;
  return mapping;
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  if (this != &other) {
    if (data_ != nullptr) ::munmap(data_, size_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

void Mapping::LeaveOutOfDumps() const { (void)::madvise(data_, size_, MADV_DONTDUMP); }

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

}  // namespace penstock::posix
