// A dataset's bad samples, stored in the state directory, in three lists. Refused samples are only
// reported. Samples that crashed or stalled a worker are quarantined: they are not decoded again
// until someone clears the quarantine. Samples on which a consumer's GPU failed are left to workers
// from then on; they may be in one of the other lists, too.
//
// A hijacked worker can claim anything about any sample, and so can a consumer. So what they report
// counts only for rows of their own user.
//
// **Thread safety**: thread-compatible; one thread owns it. Only Load may block, and Save if the
// quarantine was loaded without a StateAccess.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/fault.h"
#include "common/base/status.h"
#include "server/source/state/state_access.h"

namespace penstock::source {

struct BadSample {
  uint64_t sample = 0;
  std::string path;
  base::Fault fault = base::Fault::kNone;
  int64_t time_unix_ms = 0;
  uint32_t attempts = 0;
  uint64_t stamp = 0;  // Dataset::stamp of the sample when it was found bad
  // The users whose workers, or GPUs, found it bad, ascending; empty: not known, which counts as
  // everybody.
  std::vector<uint32_t> users = {};
};

// Whether a sample with this fault is quarantined, after a second try, or only reported.
bool IsQuarantined(base::Fault fault);

// Whether a sample with this fault is decoded by workers instead of its consumer's GPU.
bool IsDecodedByWorkers(base::Fault fault);

class Quarantine {
 public:
  struct Loaded;

  // Maximum numbers of entries; more are dropped. Dropping a refused sample loses only its report.
  // If quarantined samples are dropped, workers are no longer protected from them; Add reports
  // that. A sample for workers that is dropped is left to GPUs, whose consumers replace it.
  static constexpr size_t kMaxRefused = 10'000;
  static constexpr size_t kMaxQuarantined = 100'000;
  static constexpr size_t kMaxForWorkers = 10'000;
  static constexpr size_t kMaxForWorkersOfUser = 2'000;
  static constexpr size_t kMaxUsers = 64;  // of one entry

  enum class Added {
    kNews,     // recorded
    kKnown,    // nothing new about this sample
    kNoPlace,  // dropped: its list is full
  };

  // Creates an empty quarantine that is not stored anywhere.
  Quarantine() = default;

  // Identifies a dataset by its digest and location, so that two copies of a dataset have separate
  // quarantines.
  static uint64_t NumberOf(uint64_t digest, absl::string_view place);

  // Loads the quarantine of the dataset with this number. Always returns one: it moves a damaged
  // file aside, and warns about what it could not read or move. If the version was lost,
  // `now_unix_ms` replaces it, so that no version is ever used for two different sets.
  static Loaded Load(const std::string& state_dir, uint64_t dataset, int64_t now_unix_ms,
                     std::shared_ptr<StateAccess> access = nullptr);

  // Drops samples whose files have changed since they were found bad, given their current stamps.
  // Returns how many. Increases version() if one of them was quarantined, or for workers.
  size_t ForgetOthers(const std::function<uint64_t(uint64_t sample)>& stamp_of);

  // Records a bad sample. A refused sample may become quarantined, but not the other way round.
  // Its users are added to those of an earlier record. Increases version() if the set of
  // quarantined samples, or of those for workers, grew for anybody.
  Added Add(const BadSample& bad);

  // Whether the sample is quarantined for anybody.
  bool Contains(uint64_t sample) const { return quarantined_.contains(sample); }
  // Whether it is quarantined for rows of this user. Checked before each dispatch.
  bool Contains(uint64_t sample, uint32_t user) const;

  // Whether workers decode it for this user's feeds, although the consumer's GPU could be asked to.
  bool IsForWorkers(uint64_t sample, uint32_t user) const;

  // The record of a sample that is quarantined or was refused, or nullptr. Valid until the next
  // change.
  const BadSample* Find(uint64_t sample) const;

  // Part of slot keys and session states: equal versions mean equal sets of quarantined samples and
  // of samples for workers.
  uint64_t version() const { return version_; }
  // The same without those for workers, which only concern feeds whose consumer decodes. Not kept
  // across restarts.
  uint64_t substitutes_version() const { return version_ - for_workers_changes_; }

  size_t quarantined() const { return quarantined_.size(); }
  size_t refused() const { return refused_.size(); }
  // Number of samples that have an entry in any list.
  size_t samples() const { return samples_; }
  // Of these, the number of the `count` samples from `first` on. Looks at all of their entries, but
  // once until something changes: statuses ask often.
  size_t SamplesIn(uint64_t first, uint64_t count) const;
  // Number of entries of all lists for each fault; faults without entries may be missing.
  const std::map<base::Fault, size_t>& by_fault() const { return by_fault_; }

  // One entry for each sample, ordered by sample. What workers found goes before what a GPU found.
  std::vector<BadSample> Entries() const;

  // Up to `at_most` entries from sample `from` on, ordered by sample.
  std::vector<BadSample> Entries(uint64_t from, size_t at_most) const;

  // Removes all entries and returns the number of samples. Increases version(), so that no batch is
  // used again in which others stand in for them.
  size_t Clear();

  // Stores unsaved changes: immediately, or soon if there is a StateAccess. After an error
  // everything is still in memory, and the next call tries again.
  absl::Status Save();
  bool is_saved() const { return is_saved_; }

 private:
  struct FromFile;
  static FromFile TakeFile(const std::string& path, uint64_t dataset, const Step& step);
  FromFile Take() const;
  void BeginAnew(const absl::Status& why, const std::string& moved, int64_t now_unix_ms,
                 std::string& warning);

  std::string folder_, path_;  // empty: not stored
  uint64_t dataset_ = 0;
  uint64_t version_ = 0;
  uint64_t for_workers_changes_ = 0;                // since it was loaded
  std::map<uint32_t, size_t> for_workers_of_ = {};  // entries of each user
  using List = std::map<uint64_t, BadSample>;
  List& ListOf(base::Fault fault);
  void Keep(const BadSample& bad);
  Added AddForWorkers(const BadSample& bad);
  static Added AddUsers(const std::vector<uint32_t>& users, BadSample& known);
  size_t CountSamples() const;
  size_t CountIn(uint64_t first, uint64_t count) const;
  void CountForWorkers();
  std::vector<BadSample> AllEntries() const;

  List refused_, quarantined_, for_workers_;
  std::map<base::Fault, size_t> by_fault_;
  size_t samples_ = 0;
  // By first and count, as long as version and samples are these.
  struct Counted {
    uint64_t version = 0;
    size_t samples = 0;
    std::map<std::pair<uint64_t, uint64_t>, size_t> ranges = {};
  };
  mutable Counted counted_ = {};
  bool is_saved_ = true;
  std::shared_ptr<StateAccess> access_;  // shared with the catalogue; null: Save blocks
};

struct Quarantine::Loaded {
  Quarantine quarantine;
  std::string warning;  // empty: no warning
};

}  // namespace penstock::source
