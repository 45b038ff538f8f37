// Datasets without files: what reading a sample gives now, and how long it takes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "server/feed/fill/rows.h"
#include "tests/simulation/events.h"

namespace penstock::simulation {

// Who makes a dataset's rows: decoders, or Python workers.
enum class MadeBy : uint8_t { kDecoders, kPython, kStreams };

class SimulatedDataset final : public source::Dataset {
 public:
  SimulatedDataset(uint32_t number, uint64_t samples, uint64_t version, uint64_t contents,
                   MadeBy made_by)
      : number_(number),
        samples_(samples),
        version_(version),
        contents_(contents),
        made_by_(made_by) {}

  uint32_t number() const { return number_; }
  uint64_t contents() const { return contents_; }  // that were indexed
  source::Storage storage() const override {
    return made_by_ == MadeBy::kDecoders ? source::Storage::kEncoded : source::Storage::kMade;
  }
  absl::string_view kind() const override { return "simulated"; }
  uint64_t samples() const override { return samples_; }
  uint64_t digest() const override { return 1000 * version_ + number_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  int64_t label(uint64_t sample) const override { return static_cast<int64_t>(sample % 10); }
  std::string path(uint64_t sample) const override { return absl::StrCat("/simulated/", sample); }

 private:
  const uint32_t number_;
  const uint64_t samples_, version_, contents_;
  const MadeBy made_by_;
  const std::vector<std::string> classes_ = {"daisy", "rose"};
};

// One dataset: its files, and what is wrong with them now.
struct Files {
  MadeBy made_by = MadeBy::kDecoders;
  uint64_t samples = 0;
  std::shared_ptr<feed::DatasetState> state;  // as opened last
  TimePoint fails_until{}, slow_until{};
  std::set<uint64_t> corrupt;  // a decoder refuses them
  std::set<uint64_t> deadly;   // they crash every worker
  std::set<uint64_t> changed;  // since they were indexed
  std::set<uint64_t> raised;   // in Python, at any time
  uint64_t contents = 0;       // which are stored; older ones are gone for good
  TimePoint repaired_at{};
  // Samples that a worker was decoding when it died, or that were refused: others may stand in.
  struct Bad {
    uint32_t strikes = 0;
    TimePoint at{};  // the last one
  };
  std::map<uint64_t, Bad> bad;

  void Strike(uint64_t sample, TimePoint now) {
    ++bad[sample].strikes;
    bad[sample].at = now;
  }
  void Refuse(uint64_t sample, TimePoint now) { bad[sample] = {.strikes = 2, .at = now}; }
  // Whether another sample may have been delivered instead, to a session that was opened then.
  bool MayBeReplaced(uint64_t sample, TimePoint opened) const {
    const auto found = bad.find(sample);
    if (found == bad.end() || found->second.strikes < 2) return false;
    return opened < repaired_at || found->second.at >= repaired_at;
  }
};

class Storage {
 public:
  // `in_python`: two more, which Python workers make.
  Storage(Stage& stage, uint32_t datasets, bool in_python);

  size_t size() const { return files_.size(); }
  Files& at(size_t number) { return files_[number]; }
  Files& Of(const source::Dataset& dataset) {
    return files_[static_cast<const SimulatedDataset&>(dataset).number()];
  }
  // Opens the dataset as a catalogue does: again if it has changed.
  std::shared_ptr<feed::DatasetState> Open(size_t number);
  // The daemon is gone: what it knew is gone, except for the quarantines.
  void ForgetOpened();
  void Repair(size_t number);

  Duration ReadingTime(const Files& files);
  // The end of a read that has just ended.
  struct Bytes {
    absl::Status status = {};  // not OK: the source failed
    base::Fault fault = base::Fault::kNone;
  };
  Bytes Read(const source::Dataset& dataset, uint64_t sample);

 private:
  void Index(size_t number, source::Quarantine quarantine);

  Stage& stage_;
  std::vector<Files> files_;
  // All states that were ever opened, at ascending addresses: the daemon orders some things by
  // address, and a run must be the same wherever it is repeated.
  std::vector<feed::DatasetState> opened_;
  uint64_t versions_ = 0;
};

}  // namespace penstock::simulation
