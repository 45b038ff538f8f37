#include "server/app/catalog/place_looks.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/dataset/dataset_place.h"
#include "common/posix/loose_threads.h"

namespace penstock::app {
namespace {

using v1::DatasetPlace;

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

// What one look at a place finds; guarded by the board's mutex.
struct PlaceLooks::Sight {
  const std::string path;
  bool has_begun = false;
  std::optional<DatasetPlace> place = {};
};

// The looks that somebody waits for, and the threads that make them.
// **Thread safety**: any thread.
class PlaceLooks::Board {
 public:
  Board(Look look, const Options& options) : look_(std::move(look)), options_(options) {}

  // A look that was asked for before and has not ended, or a new one.
  std::shared_ptr<Sight> Want(const std::string& path, uint64_t user);
  // nullopt: it has not ended.
  std::optional<DatasetPlace> Find(const Sight& sight) const;
  // As many threads for the user as there are looks to begin, within the limits. Each refers to the
  // board until it ends.
  static void StartThreads(const std::shared_ptr<Board>& board, uint64_t user);

 private:
  using SharedSight = std::shared_ptr<Sight>;  // with those who wait, and the thread that looks
  struct LookRequest {
    uint64_t user = 0;
    std::weak_ptr<Sight> sight;
  };
  void Forget() PENSTOCK_REQUIRES(mutex_);
  bool MayStart(uint64_t user) const PENSTOCK_REQUIRES(mutex_);
  void Run(uint64_t user);
  SharedSight BeginNext(uint64_t user);

  const Look look_;
  const Options options_;
  mutable base::Mutex mutex_;
  // Looks that have not ended, by path. Null: nobody waits any more.
  std::map<std::string, std::weak_ptr<Sight>> sights_ PENSTOCK_GUARDED_BY(mutex_);
  // In order of arrival. A look is requested by each of its users, so that it waits for none of
  // their limits.
  std::list<LookRequest> requests_ PENSTOCK_GUARDED_BY(mutex_);
  std::multiset<uint64_t> threads_ PENSTOCK_GUARDED_BY(mutex_);  // their users
};

std::shared_ptr<PlaceLooks::Sight> PlaceLooks::Board::Want(const std::string& path, uint64_t user) {
  const base::MutexLock lock(mutex_);
  std::weak_ptr<Sight>& known = sights_[path];
  SharedSight sight = known.lock();
  if (sight == nullptr) known = sight = std::make_shared<Sight>(Sight{.path = path});
  if (!sight->has_begun) requests_.push_back({user, sight});
  return sight;
}

// Looks that nobody waits for, and requests for looks that another user's thread began.
void PlaceLooks::Board::Forget() {
  std::erase_if(sights_, [](const auto& each) { return each.second.expired(); });
  std::erase_if(requests_, [](const LookRequest& request) {
    const SharedSight sight = request.sight.lock();
    return sight == nullptr || sight->has_begun;
  });
}

std::optional<DatasetPlace> PlaceLooks::Board::Find(const Sight& sight) const {
  const base::MutexLock lock(mutex_);
  return sight.place;
}

bool PlaceLooks::Board::MayStart(uint64_t user) const {
  return threads_.size() < options_.most_threads &&
         threads_.count(user) < options_.most_threads_of_a_user;
}

void PlaceLooks::Board::StartThreads(const std::shared_ptr<Board>& board, uint64_t user) {
  const base::MutexLock lock(board->mutex_);
  board->Forget();
  auto requested =
      std::count_if(board->requests_.begin(), board->requests_.end(),
                    [user](const LookRequest& request) { return request.user == user; });
  for (; requested > 0 && board->MayStart(user); --requested) {
    auto thread = posix::LooseThreads::Start([board, user] {
      pthread_setname_np(pthread_self(), "places");
      board->Run(user);
    });
    if (!thread) return;
    board->threads_.insert(user);
    thread->thread.detach();
  }
}

void PlaceLooks::Board::Run(uint64_t user) {
  while (const SharedSight sight = BeginNext(user)) {
    DatasetPlace place = look_(sight->path);
    const base::MutexLock lock(mutex_);
    sight->place = std::move(place);
    sights_.erase(sight->path);  // the next request looks again
  }
}

// Null if the user has no more looks to begin; then the thread ends.
std::shared_ptr<PlaceLooks::Sight> PlaceLooks::Board::BeginNext(uint64_t user) {
  const base::MutexLock lock(mutex_);
  Forget();
  const auto next =
      std::find_if(requests_.begin(), requests_.end(),
                   [user](const LookRequest& request) { return request.user == user; });
  SharedSight sight = next == requests_.end() ? nullptr : next->sight.lock();
  if (sight == nullptr)
    threads_.erase(threads_.find(user));
  else
    sight->has_begun = true;
  return sight;
}

namespace {

// "" for a dataset without files of this machine.
std::string PathOf(const v1::DatasetStatus& dataset) {
  return dataset::PlaceOfDataset(dataset.kind(), dataset.path());
}

DatasetPlace SilentAt(const std::string& path) {
  DatasetPlace silent;
  silent.set_path(path);
  silent.set_sight(DatasetPlace::SIGHT_SILENT);
  silent.set_error(absl::StrCat(path, ": no answer"));
  return silent;
}

}  // namespace

PlaceLooks::PlaceLooks(Look look, const Options& options)
    : options_(options), board_(std::make_shared<Board>(std::move(look), options)) {}

PlaceLooks::~PlaceLooks() {
  std::list<Waiting> left;
  {
    const base::MutexLock lock(mutex_);
    left.swap(waiting_);
  }
  for (const Waiting& each : left) each.done(absl::UnavailableError("the daemon is ending"));
}

void PlaceLooks::Ask(v1::ListDatasetsResponse datasets, uint64_t user, Done done) {
  Waiting waiting{.datasets = std::move(datasets),
                  .user = user,
                  .done = std::move(done),
                  .until = base::Now() + options_.patience};
  if (!Take(waiting))
    waiting.done(absl::ResourceExhaustedError("too many are looking at datasets; try again later"));
}

// False: too many wait.
bool PlaceLooks::Take(Waiting& waiting) {
  const base::MutexLock lock(mutex_);
  const auto own = std::count_if(waiting_.begin(), waiting_.end(),
                                 [&](const Waiting& each) { return each.user == waiting.user; });
  if (static_cast<size_t>(own) >= options_.most_waiting_of_a_user ||
      waiting_.size() >= options_.most_waiting)
    return false;
  for (const v1::DatasetStatus& dataset : waiting.datasets.datasets())
    if (const std::string path = PathOf(dataset); !path.empty())
      waiting.sights[path] = board_->Want(path, waiting.user);
  waiting_.push_back(std::move(waiting));
  return true;
}

std::list<PlaceLooks::Waiting> PlaceLooks::TakeAnswered(base::TimePoint now) {
  std::list<Waiting> answered;
  const base::MutexLock lock(mutex_);
  for (auto next = waiting_.begin(); next != waiting_.end();) {
    const auto each = next++;
    Board::StartThreads(board_, each->user);
    const bool is_known =
        std::all_of(each->sights.begin(), each->sights.end(),
                    [&](const auto& sight) { return board_->Find(*sight.second).has_value(); });
    if (is_known || now >= each->until) answered.splice(answered.end(), waiting_, each);
  }
  return answered;
}

void PlaceLooks::Tick(base::TimePoint now) {
  for (Waiting& each : TakeAnswered(now)) {
    for (v1::DatasetStatus& dataset : *each.datasets.mutable_datasets())
      if (const std::string path = PathOf(dataset); !path.empty())
        *dataset.mutable_place() = board_->Find(*each.sights.at(path)).value_or(SilentAt(path));
    each.done(std::move(each.datasets));
  }
}

}  // namespace penstock::app
