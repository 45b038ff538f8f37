#include "server/app/operator/bad_sample_pictures.h"

#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "common/base/fault.h"
#include "common/base/mutex.h"

namespace penstock::app {
namespace {

using status::BadSampleName;
using status::HttpPage;
using status::MakeRefusal;

absl::Status SilenceFor(base::Duration patience, absl::string_view who) {
  return absl::UnavailableError(
      absl::StrCat(who, " has not answered for ",
                   std::chrono::duration_cast<std::chrono::milliseconds>(patience).count(),
                   " ms; try again later"));
}

// Unavailable is what may pass. A change is permanent until the dataset is opened again.
absl::Status WhyNotRead(const absl::Status& why) {
  if (absl::IsDataLoss(why)) return absl::NotFoundError(why.message());
  const std::string words = absl::StrCat("cannot be read: ", why.message());
  return absl::IsUnavailable(why) ? absl::UnavailableError(words) : absl::NotFoundError(words);
}

}  // namespace

absl::StatusOr<std::string> ReadStoredSample(const source::Dataset& dataset, uint64_t sample) {
  const std::unique_ptr<source::Dataset::Reader> reader = dataset.NewReader();
  const auto opened = reader->Open(sample);
  if (!opened.ok()) return WhyNotRead(opened.status());
  if (opened->fault != base::Fault::kNone)
    return absl::NotFoundError(
        absl::StrCat("there are no bytes to show: ", base::FaultName(opened->fault)));
  if (reader->RecipeFor({}).packing != unpack::SamplePacking::kImage)
    return absl::NotFoundError("the image is packed in a record, which only workers unpack");
  if (opened->bytes > status::kMostPictureBytes) return status::TooLargeForPicture(opened->bytes);
  std::string bytes(opened->bytes, '\0');
  const absl::Status read = reader->Read(std::as_writable_bytes(std::span(bytes)));
  if (!read.ok()) return WhyNotRead(read);
  return bytes;
}

// One picture, from its request until its last byte is sent.
struct BadSamplePictures::Picture {
  BadSampleName name;
  base::TimePoint begun{};
  bool is_started = false;  // used by the thread that asks
  std::string bytes = {};   // written once, before `read` is set

  base::Mutex mutex = {};
  // Until the read begins.
  std::optional<absl::StatusOr<Dataset>> found PENSTOCK_GUARDED_BY(mutex) = {};
  std::optional<absl::Status> read PENSTOCK_GUARDED_BY(mutex) = {};

  void SetFound(absl::StatusOr<Dataset> dataset) {
    const base::MutexLock lock(mutex);
    found = std::move(dataset);
  }
  void Read(const source::Dataset& dataset) {
    absl::StatusOr<std::string> stored = ReadStoredSample(dataset, name.sample);
    const absl::Status how = stored.status();
    if (stored.ok()) bytes = *std::move(stored);
    const base::MutexLock lock(mutex);
    read = how;
  }
};

BadSamplePictures::BadSamplePictures(Find find, const Options& options)
    : find_(std::move(find)),
      options_(options),
      looks_(options.looks),
      reads_(options.reads),
      desks_(options.desks) {}

// Reads that have not begun find that nobody waits for them.
BadSamplePictures::~BadSamplePictures() {
  pictures_.clear();
  desks_.Stop();
}

HttpPage BadSamplePictures::Answer(const status::HttpRequest& request) {
  const std::optional<BadSampleName> name = status::ParseBadSampleName(request.query);
  if (!name)
    return MakeRefusal(absl::InvalidArgumentError(
        absl::StrCat(status::kBadSamplePath, ": wanted the query dataset=NAME&sample=NUMBER")));
  const base::TimePoint now = clock_.Now();
  Forget(now);
  if (!pictures_.contains(*name)) {
    const absl::Status begun = Begin(*name, now);
    if (!begun.ok()) return MakeRefusal(begun);
  }
  HttpPage page = Proceed(pictures_.at(*name), now);
  if (!page.is_pending) pictures_.erase(*name);  // whoever sends it keeps its bytes
  return page;
}

// Those whose askers have gone, too: each asks until the patience ends, unless it is cut off.
void BadSamplePictures::Forget(base::TimePoint now) {
  constexpr base::Duration kAskedAgainWithin = std::chrono::seconds(1);
  std::erase_if(pictures_, [&](const auto& each) {
    return now - each.second->begun > options_.patience + kAskedAgainWithin;
  });
  std::erase_if(alive_, [](const auto& each) { return each.expired(); });
  std::erase_if(reading_, [](const auto& each) { return each.second.expired(); });
}

absl::Status BadSamplePictures::MayBegin(base::TimePoint now) {
  if (alive_.size() >= options_.most_at_once)
    return absl::ResourceExhaustedError(absl::StrCat(
        alive_.size(), " pictures are being read or sent, as many as may be; try again later"));
  if (!looks_.TryTake(now))
    return absl::ResourceExhaustedError("too many pictures are asked for; try again in a second");
  return absl::OkStatus();
}

absl::Status BadSamplePictures::Begin(const BadSampleName& name, base::TimePoint now) {
  PENSTOCK_RETURN_IF_ERROR(MayBegin(now));
  auto picture = std::make_shared<Picture>();
  picture->name = name;
  picture->begun = now;
  alive_.push_back(picture);
  const bool is_taken = find_(
      name, [picture](absl::StatusOr<Dataset> dataset) { picture->SetFound(std::move(dataset)); });
  if (!is_taken) return absl::UnavailableError("the daemon answers no questions now");
  pictures_[name] = std::move(picture);
  return absl::OkStatus();
}

HttpPage BadSamplePictures::Proceed(const SharedPicture& picture, base::TimePoint now) {
  std::optional<absl::StatusOr<Dataset>> found;
  std::optional<absl::Status> read;
  {
    const base::MutexLock lock(picture->mutex);
    found = picture->found;
    read = picture->read;
  }
  if (read && read->ok())
    return status::MakePicture(std::shared_ptr<const std::string>(picture, &picture->bytes));
  if (read) return MakeRefusal(*read);
  if (found && !found->ok()) return MakeRefusal(found->status());
  if (now - picture->begun >= options_.patience) {
    const bool is_found = found || picture->is_started;
    return MakeRefusal(SilenceFor(options_.patience, is_found ? "the storage" : "the main loop"));
  }
  if (found && !IsReading(***found)) {
    const absl::Status started = StartReading(picture, **std::move(found), now);
    if (!started.ok()) return MakeRefusal(started);
  }
  return {.is_pending = true};
}

bool BadSamplePictures::IsReading(const source::Dataset& dataset) const {
  const auto found = reading_.find(&dataset);
  return found != reading_.end() && !found->second.expired();
}

// At the dataset's own desk, so that one whose storage hangs leaves threads for others.
absl::Status BadSamplePictures::StartReading(const SharedPicture& picture, Dataset dataset,
                                             base::TimePoint now) {
  if (!reads_.TryTake(now))
    return absl::ResourceExhaustedError("too many pictures are asked for; try again in a second");
  {
    const base::MutexLock lock(picture->mutex);
    picture->found.reset();
  }
  picture->is_started = true;
  const auto token = std::make_shared<const char>();
  reading_[dataset.get()] = token;
  const std::string desk = absl::StrFormat("%p", dataset.get());
  return desks_.Do(
      desk, 0, [waiting = std::weak_ptr<Picture>(picture), dataset = std::move(dataset), token] {
        if (const SharedPicture wanted = waiting.lock()) wanted->Read(*dataset);
      });
}

}  // namespace penstock::app
