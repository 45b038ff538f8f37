#include "server/app/catalog/place_looks.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/dataset/dataset_place.h"

namespace penstock::app {
namespace {

using v1::DatasetPlace;

constexpr size_t kMostWaiting = 64;

// Of statfs(2); those that linux/magic.h lacks are in the kernel's sources of each file system.
struct FileSystem {
  uint32_t magic;
  const char* name;
};
constexpr FileSystem kFileSystems[] = {
    {EXT4_SUPER_MAGIC, "ext4"},
    {XFS_SUPER_MAGIC, "xfs"},
    {BTRFS_SUPER_MAGIC, "btrfs"},
    {TMPFS_MAGIC, "tmpfs"},
    {OVERLAYFS_SUPER_MAGIC, "overlay"},
    {NFS_SUPER_MAGIC, "nfs"},
    {CIFS_SUPER_MAGIC, "cifs"},
    {SMB2_SUPER_MAGIC, "smb3"},
    {CEPH_SUPER_MAGIC, "ceph"},
    {FUSE_SUPER_MAGIC, "fuse"},
    {V9FS_MAGIC, "9p"},
    {AFS_SUPER_MAGIC, "afs"},
    {0x0BD00BD0, "lustre"},
    {0x47504653, "gpfs"},
    {0x19830326, "beegfs"},
    {0x2FC12FC1, "zfs"},
    {0x01161970, "gfs2"},
    {SQUASHFS_MAGIC, "squashfs"},
};

std::string FileSystemOf(const std::string& path) {
  struct statfs facts = {};
  if (::statfs(path.c_str(), &facts) != 0) return "";
  for (const FileSystem& known : kFileSystems)
    if (static_cast<uint32_t>(facts.f_type) == known.magic) return known.name;
  return "";
}

DatasetPlace::Sight ToSight(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
      return DatasetPlace::SIGHT_MISSING;
    case EACCES:
    case EPERM:
      return DatasetPlace::SIGHT_CLOSED;
    default:
      return DatasetPlace::SIGHT_FAILED;
  }
}

// What of access(2) the daemon needs at a part of the way; 0 if it has it, else the error.
int ErrorAt(const std::string& part, bool is_last) {
  struct stat facts = {};
  if (::stat(part.c_str(), &facts) != 0) return errno;
  const int wanted = S_ISDIR(facts.st_mode) ? X_OK | (is_last ? R_OK : 0) : R_OK;
  return ::faccessat(AT_FDCWD, part.c_str(), wanted, AT_EACCESS) == 0 ? 0 : errno;
}

std::string WordsFor(int error, const std::string& part, bool is_last) {
  std::string words(base::ErrnoStatus(error, part).message());
  if (ToSight(error) == DatasetPlace::SIGHT_CLOSED)
    absl::StrAppend(&words, ": user ", ::geteuid(), " may not ", is_last ? "read" : "enter", " it");
  return words;
}

}  // namespace

DatasetPlace LookAtPlace(const std::string& path) {
  DatasetPlace place;
  place.set_path(path);
  for (size_t end = 1; end != std::string::npos && end <= path.size();) {
    const std::string part = path.substr(0, end);
    const bool is_last = end == path.size();
    if (const int error = ErrorAt(part, is_last); error != 0) {
      place.set_sight(ToSight(error));
      place.set_error(WordsFor(error, part, is_last));
      place.set_file_system(FileSystemOf(part.substr(0, part.rfind('/')) + "/"));
      return place;
    }
    end = is_last ? std::string::npos : std::min(path.find('/', end + 1), path.size());
  }
  place.set_sight(DatasetPlace::SIGHT_READABLE);
  place.set_file_system(FileSystemOf(path));
  return place;
}

// Shared by the thread that looks, which may outlive everything else, and those who wait.
struct PlaceLooks::Round {
  base::Mutex mutex;
  std::map<std::string, DatasetPlace> seen PENSTOCK_GUARDED_BY(mutex);
  bool has_ended PENSTOCK_GUARDED_BY(mutex) = false;

  bool HasEnded() {
    const base::MutexLock lock(mutex);
    return has_ended;
  }
  void Run(const std::vector<std::string>& paths, const Look& look) {
    for (const std::string& path : paths) {
      DatasetPlace place = look(path);
      const base::MutexLock lock(mutex);
      seen[path] = std::move(place);
    }
    const base::MutexLock lock(mutex);
    has_ended = true;
  }
  DatasetPlace At(const std::string& path) {
    const base::MutexLock lock(mutex);
    if (const auto found = seen.find(path); found != seen.end()) return found->second;
    DatasetPlace silent;
    silent.set_path(path);
    silent.set_sight(DatasetPlace::SIGHT_SILENT);
    silent.set_error(absl::StrCat(path, ": no answer"));
    return silent;
  }
};

namespace {

// "" for a dataset without files of this machine.
std::string PathOf(const v1::DatasetStatus& dataset) {
  return dataset::PlaceOfDataset(dataset.kind(), dataset.path());
}

}  // namespace

PlaceLooks::PlaceLooks(Look look, base::Duration patience)
    : look_(std::move(look)), patience_(patience) {}

PlaceLooks::~PlaceLooks() {
  std::deque<Waiting> left;
  {
    const base::MutexLock lock(mutex_);
    left.swap(waiting_);
  }
  for (const Waiting& each : left) each.done(absl::UnavailableError("the daemon is ending"));
}

void PlaceLooks::Ask(v1::ListDatasetsResponse datasets, Done done) {
  {
    const base::MutexLock lock(mutex_);
    if (waiting_.size() < kMostWaiting) {
      waiting_.push_back({std::move(datasets), std::move(done), base::Now() + patience_});
      return;
    }
  }
  done(absl::ResourceExhaustedError("too many are looking at datasets; try again later"));
}

void PlaceLooks::Begin(Waiting& waiting) {
  std::vector<std::string> paths;
  for (const v1::DatasetStatus& dataset : waiting.datasets.datasets())
    if (std::string path = PathOf(dataset); !path.empty()) paths.push_back(std::move(path));
  current_ = waiting.round = std::make_shared<Round>();
  std::thread([round = current_, look = look_, paths = std::move(paths)] {
    pthread_setname_np(pthread_self(), "places");
    round->Run(paths, look);
  }).detach();
}

std::vector<PlaceLooks::Waiting> PlaceLooks::TakeAnswered(base::TimePoint now) {
  std::vector<Waiting> answered;
  const base::MutexLock lock(mutex_);
  while (!waiting_.empty()) {
    Waiting& first = waiting_.front();
    if (first.round == nullptr && (current_ == nullptr || current_->HasEnded())) Begin(first);
    const bool is_known = first.round != nullptr && first.round->HasEnded();
    if (!is_known && now < first.until) break;
    answered.push_back(std::move(first));
    waiting_.pop_front();
  }
  return answered;
}

void PlaceLooks::Tick(base::TimePoint now) {
  for (Waiting& each : TakeAnswered(now)) {
    if (each.round == nullptr) each.round = std::make_shared<Round>();  // it never began
    for (v1::DatasetStatus& dataset : *each.datasets.mutable_datasets())
      if (const std::string path = PathOf(dataset); !path.empty())
        *dataset.mutable_place() = each.round->At(path);
    each.done(std::move(each.datasets));
  }
}

}  // namespace penstock::app
