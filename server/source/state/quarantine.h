// A dataset's bad samples, kept in the state directory: those that were refused, which are only
// reported, and those that crashed or held up workers, which are never decoded again until cleared.
// Thread-compatible: one thread owns it. Nothing here waits but Load, and Save where it was loaded
// without a StateAccess.
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
  uint64_t stamp = 0;  // Dataset::stamp of the sample: of the very file that was bad
};

// Whether a sample with this fault is quarantined (kTimeout, kWorkerCrashed) or only reported.
bool IsQuarantined(base::Fault fault);

class Quarantine {
 public:
  struct Loaded;

  // How many are kept. What comes beyond is not: refused samples only lose their report, but a
  // quarantine that is full keeps no more samples from the workers, and says so.
  static constexpr size_t kMaxRefused = 10'000;
  static constexpr size_t kMaxQuarantined = 100'000;

  enum class Added {
    kNews,     // recorded
    kKnown,    // nothing new about this sample
    kNoPlace,  // its list is full
  };

  // An empty quarantine that is kept nowhere.
  Quarantine() = default;

  // Which dataset: of its digest and of where it lies, so that two that look alike have two
  // quarantines.
  static uint64_t NumberOf(uint64_t digest, absl::string_view place);

  // The quarantine of the dataset with this number. Always gives one: a damaged file is moved
  // aside, and what could not be read or moved costs a warning. `now_unix_ms` becomes the version
  // in place of a lost one, so that no version ever means two things.
  static Loaded Load(const std::string& state_dir, uint64_t dataset, int64_t now_unix_ms,
                     std::shared_ptr<StateAccess> access = nullptr);

  // Forgets the samples whose files are not the ones that were bad: `stamp_of` says what they are
  // now. How many. Raises version() when one was quarantined.
  size_t ForgetOthers(const std::function<uint64_t(uint64_t sample)>& stamp_of);

  // Records a bad sample; a refused one may become quarantined, never the other way round. Raises
  // version() when the set of quarantined samples grew.
  Added Add(const BadSample& bad);

  // Whether the sample is quarantined. Consulted before each dispatch.
  bool Contains(uint64_t sample) const { return quarantined_.contains(sample); }

  // What is known of a bad sample of either kind; nothing: nullptr. Until the next change.
  const BadSample* Find(uint64_t sample) const;

  // Part of slot keys and of session states: the same version, the same quarantined samples.
  uint64_t version() const { return version_; }

  size_t quarantined() const { return quarantined_.size(); }
  size_t refused() const { return refused_.size(); }
  // How many of both kinds there are for each reason; reasons without any may be left out.
  const std::map<base::Fault, size_t>& by_fault() const { return by_fault_; }

  // All of both kinds, by sample.
  std::vector<BadSample> Entries() const;

  // Those from this sample on, at most so many, by sample.
  std::vector<BadSample> Entries(uint64_t from, size_t at_most) const;

  // Forgets all of both kinds; how many. Raises version() when one was quarantined.
  size_t Clear();

  // Writes the file, or has it written soon, where something is not yet in it. On an error
  // everything is still in memory, and the next call tries again.
  absl::Status Save();
  bool is_saved() const { return is_saved_; }

 private:
  struct FromFile;
  static FromFile TakeFile(const std::string& path, uint64_t dataset, const Step& step);
  FromFile Take() const;
  void BeginAnew(const absl::Status& why, const std::string& moved, int64_t now_unix_ms,
                 std::string& warning);

  std::string folder_, path_;  // empty: kept nowhere
  uint64_t dataset_ = 0;
  uint64_t version_ = 0;
  void Keep(const BadSample& bad);

  std::map<uint64_t, BadSample> refused_, quarantined_;
  std::map<base::Fault, size_t> by_fault_;
  bool is_saved_ = true;
  std::shared_ptr<StateAccess> access_;  // with the catalogue; null: whoever saves waits
};

struct Quarantine::Loaded {
  Quarantine quarantine;
  std::string warning;  // empty: all well
};

}  // namespace penstock::source
