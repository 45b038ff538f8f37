// A FUSE file server of one file, "silent.tar", whose reads it never answers: a process that reads
// it cannot even be killed. penstock-test-silent-file-server FOLDER mounts it there. Exits with 77
// if it cannot mount; it needs root and /dev/fuse.
#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

namespace {

constexpr char kFile[] = "silent.tar";
constexpr uint64_t kFolderNode = FUSE_ROOT_ID, kFileNode = 2;
constexpr uint64_t kBytes = 64 << 20;
constexpr int kCannotMount = 77;
constexpr uint64_t kSeconds = 1000;  // for which the kernel may believe an answer

class SilentServer {
 public:
  explicit SilentServer(int fuse) : fuse_(fuse) {}

  void Serve() {
    alignas(fuse_in_header) static char request[1 << 20];
    while (::read(fuse_, request, sizeof request) > 0) {
      std::memcpy(&asked_, request, sizeof asked_);
      Answer(request + sizeof asked_);
    }
  }

 private:
  void Answer(const char* rest) {
    switch (asked_.opcode) {
      case FUSE_INIT:
        return Begin();
      case FUSE_LOOKUP:
        return std::strcmp(rest, kFile) == 0 ? Find() : Refuse(ENOENT);
      case FUSE_GETATTR:
        return Describe();
      case FUSE_OPEN:
      case FUSE_OPENDIR:
        return Open();
      case FUSE_STATFS:
        return Reply(fuse_statfs_out());
      case FUSE_READDIR:
        return List(rest);
      case FUSE_RELEASE:
      case FUSE_RELEASEDIR:
      case FUSE_FLUSH:
        return Send(0, nullptr, 0);
      case FUSE_READ:  // the point of all this
      case FUSE_FORGET:
      case FUSE_BATCH_FORGET:
      case FUSE_INTERRUPT:
        return;
      default:
        return Refuse(ENOSYS);
    }
  }

  void Begin() {
    fuse_init_out out = {};
    out.major = FUSE_KERNEL_VERSION;
    out.minor = 31;
    out.max_write = out.max_readahead = 1 << 17;
    out.max_background = out.congestion_threshold = 16;
    out.time_gran = 1;
    Reply(out);
  }
  void Find() {
    fuse_entry_out out = {};
    out.nodeid = kFileNode;
    out.entry_valid = out.attr_valid = kSeconds;
    out.attr = Attributes(kFileNode);
    Reply(out);
  }
  void Describe() {
    fuse_attr_out out = {};
    out.attr_valid = kSeconds;
    out.attr = Attributes(asked_.nodeid);
    Reply(out);
  }
  // One entry: its head, its name, and zeros up to the next multiple of 8.
  void List(const char* rest) {
    fuse_read_in from = {};
    std::memcpy(&from, rest, sizeof from);
    if (from.offset > 0) return Send(0, nullptr, 0);
    fuse_dirent entry = {};
    entry.ino = kFileNode;
    entry.off = 1;
    entry.namelen = sizeof kFile - 1;
    entry.type = S_IFREG >> 12;
    std::string bytes(FUSE_DIRENT_SIZE(&entry), '\0');
    std::memcpy(bytes.data(), &entry, FUSE_NAME_OFFSET);
    std::memcpy(bytes.data() + FUSE_NAME_OFFSET, kFile, entry.namelen);
    Send(0, bytes.data(), bytes.size());
  }
  void Open() {
    fuse_open_out out = {};
    out.open_flags = FOPEN_DIRECT_IO;
    Reply(out);
  }
  static fuse_attr Attributes(uint64_t node) {
    fuse_attr attributes = {};
    attributes.ino = node;
    attributes.size = kBytes;
    attributes.mtime = attributes.ctime = 1;
    attributes.mode = node == kFolderNode ? S_IFDIR | 0755 : S_IFREG | 0644;
    attributes.nlink = 1;
    return attributes;
  }

  void Refuse(int error) { Send(-error, nullptr, 0); }
  template <typename Out>
  void Reply(const Out& out) {
    Send(0, &out, sizeof out);
  }
  void Send(int error, const void* out, size_t bytes) {
    fuse_out_header header = {};
    header.len = static_cast<uint32_t>(sizeof header + bytes);
    header.error = error;
    header.unique = asked_.unique;
    std::string message(reinterpret_cast<const char*>(&header), sizeof header);
    if (bytes > 0) message.append(static_cast<const char*>(out), bytes);
    if (::write(fuse_, message.data(), message.size()) < 0) return;  // nobody waits any more
  }

  const int fuse_;
  fuse_in_header asked_ = {};
};

}  // namespace

int main(int argc, char** argv) {
  const int fuse = ::open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (argc != 2 || fuse < 0) return kCannotMount;
  const std::string options =
      "fd=" + std::to_string(fuse) + ",rootmode=40000,user_id=0,group_id=0,allow_other";
  if (::mount("silent", argv[1], "fuse", 0, options.c_str()) != 0) return kCannotMount;
  SilentServer(fuse).Serve();
}
