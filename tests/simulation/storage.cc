#include "tests/simulation/storage.h"

#include <utility>

namespace penstock::simulation {
namespace {

constexpr size_t kMostOpened = 100'000;

}  // namespace

Storage::Storage(Stage& stage, uint32_t datasets, bool in_python) : stage_(stage) {
  opened_.reserve(kMostOpened);
  files_.resize(datasets);
  if (in_python) {
    files_.emplace_back().made_by = MadeBy::kPython;
    files_.emplace_back().made_by = MadeBy::kStreams;
  }
  for (uint32_t i = 0; i < files_.size(); ++i) {
    files_[i].samples = stage_.random.Between(uint64_t{40}, uint64_t{3000});
    Index(i, {});
  }
}

void Storage::Index(size_t number, source::Quarantine quarantine) {
  Require(opened_.size() < kMostOpened, "the simulation opened too many datasets");
  Files& files = files_[number];
  feed::FaultPolicy policy(files.samples);
  for (const source::BadSample& bad : quarantine.Entries())
    if (!source::IsDecodedByWorkers(bad.fault)) policy.OnRefused(bad.sample);
  opened_.push_back(
      {.name = absl::StrCat("dataset", number),
       .dataset = std::make_shared<SimulatedDataset>(static_cast<uint32_t>(number), files.samples,
                                                     ++versions_, files.contents, files.made_by),
       .quarantine = std::move(quarantine),
       .policy = std::move(policy)});
  files.state = std::shared_ptr<feed::DatasetState>(std::make_shared<int>(0), &opened_.back());
}

std::shared_ptr<feed::DatasetState> Storage::Open(size_t number) {
  Files& files = files_[number];
  const auto& indexed = static_cast<const SimulatedDataset&>(*files.state->dataset);
  if (indexed.contents() != files.contents) Index(number, {});
  return files.state;
}

void Storage::ForgetOpened() {
  for (size_t i = 0; i < files_.size(); ++i) Index(i, files_[i].state->quarantine);
}

// The samples were repaired, so new quarantines are empty. Sessions that are open may have got
// others in their place.
void Storage::Repair(size_t number) {
  Files& files = files_[number];
  files.corrupt.clear();
  files.deadly.clear();
  files.changed.clear();
  files.repaired_at = stage_.now();
  files.state->quarantine.Clear();
  files.state->ForgetBadSamples();
}

Duration Storage::ReadingTime(const Files& files) {
  if (stage_.now() < files.slow_until)
    return stage_.random.Between(milliseconds(20), milliseconds(2500));
  if (stage_.random.OneIn(500)) return stage_.random.About(milliseconds(10));
  return stage_.random.Between(microseconds(20), microseconds(400));
}

Storage::Bytes Storage::Read(const source::Dataset& dataset, uint64_t sample) {
  const Files& files = Of(dataset);
  if (stage_.now() < files.fails_until) return {.status = absl::UnavailableError("EIO")};
  if (static_cast<const SimulatedDataset&>(dataset).contents() != files.contents)
    return {.status = absl::DataLossError("another length than indexed")};
  if (files.changed.contains(sample)) return {.fault = base::Fault::kChangedOnDisk};
  return {};
}

}  // namespace penstock::simulation
