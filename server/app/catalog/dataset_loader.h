// Opens datasets, or finds them open: reads their files and loads their quarantines.
//
// **Ownership**: owned by the catalogue. **Thread safety**: any thread. Calls wait for storage.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "server/app/catalog/offered_datasets.h"
#include "server/app/catalog/open_datasets.h"
#include "server/app/config/range_text.h"
#include "server/kept/row_store.h"
#include "server/source/core/dataset_closer.h"

namespace penstock::app {

class DatasetLoader {
 public:
  using State = OpenDatasets::State;
  // Returns the samples of an open dataset whose rows are in slots; nullopt: unknown. Files that
  // opening could not check must not be served from there. May wait briefly.
  using SamplesInSlots =
      std::function<std::optional<std::vector<uint64_t>>(const feed::DatasetState&)>;
  // Gets the number of files found so far; false cancels.
  using Seen = std::function<bool(uint64_t)>;

  // `kept_rows`: of files that opening could not check, they are checked; null: there are none.
  // **Requires**: `open` and `closer` outlive the loader.
  DatasetLoader(OpeningOptions options, SamplesInSlots in_slots,
                std::shared_ptr<kept::KeptRowStore> kept_rows, OpenDatasets& open,
                source::DatasetCloser& closer)
      : options_(std::move(options)),
        in_slots_(std::move(in_slots)),
        kept_rows_(std::move(kept_rows)),
        open_(open),
        closer_(closer) {}

  struct Loaded {
    State state;
    bool from_cache = false;
    std::string warning;
    bool all_examined = true;  // as in OpenedDataset
  };
  // Loads the dataset in its state at `asked` (the time of the request) or later.
  absl::StatusOr<Loaded> Load(const NamedDataset& dataset, const OfferedDatasets& offered,
                              base::TimePoint asked, const Seen& seen) const;

 private:
  absl::StatusOr<OpenedDataset> OpenFiles(const NamedDataset& dataset,
                                          const OpeningOptions& options,
                                          const OfferedDatasets& offered, base::TimePoint asked,
                                          const Seen& seen) const;
  absl::StatusOr<OpenedDataset> OpenParts(const NamedDataset& dataset,
                                          const OfferedDatasets& offered, base::TimePoint asked,
                                          const Seen& seen) const;
  State FindExamined(const NamedDataset& dataset, base::TimePoint asked) const;
  absl::StatusOr<State> Adopt(const NamedDataset& dataset, OpenedDataset opened,
                              const feed::FaultPolicy::Options& faults, const Seen& seen) const;
  std::string StateDirOf(const NamedDataset& dataset) const;
  State NewState(const NamedDataset& dataset, OpenedDataset opened,
                 const feed::FaultPolicy::Options& faults) const;
  void ForgetChangedRows(const feed::DatasetState& state) const;
  bool IsSafeToShare(const feed::DatasetState& state, const OpenedDataset& opened) const;

  const OpeningOptions options_;
  const SamplesInSlots in_slots_;
  const std::shared_ptr<kept::KeptRowStore> kept_rows_;  // shared with the daemon
  OpenDatasets& open_;
  source::DatasetCloser& closer_;  // of what it opens
};

// The samples of an open dataset that the name stands for: all, or the configured range.
// **Errors**: InvalidArgument if the range exceeds the dataset.
absl::StatusOr<plan::Range> RangeOfNamed(const NamedDataset& dataset,
                                         const feed::DatasetState& state);

}  // namespace penstock::app
