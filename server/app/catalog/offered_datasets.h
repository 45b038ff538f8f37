// The datasets that this daemon offers, by name or for a private daemon also by path, and who may
// open them. Reads no files.
//
// **Thread safety**: immutable; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/app/catalog/open_dataset.h"
#include "server/app/catalog/opener.h"
#include "server/feed/core/fault_policy.h"

namespace penstock::app {

// From the configuration.
struct DatasetOffer {
  std::vector<NamedDataset> datasets;
  feed::FaultPolicy::Options faults;  // how many bad samples a dataset may have
};

class OfferedDatasets {
 public:
  // `any_path`: true for a private daemon, which also opens paths.
  explicit OfferedDatasets(DatasetOffer offer, bool any_path = false)
      : offer_(std::move(offer)), any_path_(any_path) {}

  const std::vector<NamedDataset>& all() const { return offer_.datasets; }
  const feed::FaultPolicy::Options& faults() const { return offer_.faults; }

  // Finds a dataset. Null stands for the daemon itself. **Errors**: NotFound, with the same
  // message whether the dataset doesn't exist or this opener may not open it, so that its existence
  // is not revealed; PermissionDenied for a path or a Python dataset if this daemon is not private.
  absl::StatusOr<NamedDataset> Locate(const std::string& dataset, const Opener* opener) const;
  // Whether the dataset exists but this opener may not open it.
  bool IsKeptFrom(const std::string& dataset, const Opener& opener) const;
  // A mixture doesn't give access to parts that the opener may not open.
  bool MayOpen(const NamedDataset& dataset, const Opener& opener) const;
  // The datasets that this opener may open; nullopt: all.
  std::vector<NamedDataset> For(const std::optional<Opener>& opener) const;
  // Whether this opener may see datasets that others opened by path or text.
  bool SeesUnnamed(const std::optional<Opener>& opener) const {
    return !opener || opener->is_operator || any_path_;
  }

 private:
  absl::Status UnknownDataset(const std::string& dataset, const Opener* opener) const;
  std::string NamesFor(const Opener* opener) const;

  const DatasetOffer offer_;
  const bool any_path_;
};

}  // namespace penstock::app
