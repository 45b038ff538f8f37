// The datasets that this daemon offers: by name, or by path where it is a private one; and who may
// open which. Reads no files.
//
// **Thread safety**: any thread; it never changes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/app/catalog/open_dataset.h"
#include "server/app/catalog/opener.h"
#include "server/feed/core/fault_policy.h"

namespace penstock::app {

// What the configuration says.
struct DatasetOffer {
  std::vector<NamedDataset> datasets;
  feed::FaultPolicy::Options faults;  // when so much of a dataset is bad that it is served no more
};

class OfferedDatasets {
 public:
  // `any_path`: a private daemon, which opens paths, too.
  explicit OfferedDatasets(DatasetOffer offer, bool any_path = false)
      : offer_(std::move(offer)), any_path_(any_path) {}

  const std::vector<NamedDataset>& all() const { return offer_.datasets; }
  const feed::FaultPolicy::Options& faults() const { return offer_.faults; }

  // Where a dataset lies. No opener: the daemon itself.
  // **Errors**: NotFound if there is none, or if it is not for this opener, in the same words: that
  // it exists is none of their business. PermissionDenied for a path where paths are not served.
  absl::StatusOr<NamedDataset> Locate(const std::string& dataset, const Opener* opener) const;
  // Whether there is such a dataset, and this one may not open it.
  bool IsKeptFrom(const std::string& dataset, const Opener& opener) const;
  // A mixture opens no part of it to those who may not have it.
  bool MayOpen(const NamedDataset& dataset, const Opener& opener) const;
  // Those that this one may open; no opener: all.
  std::vector<NamedDataset> For(const std::optional<Opener>& opener) const;
  // Whether this one sees what others opened by a path.
  bool SeesPaths(const std::optional<Opener>& opener) const {
    return !opener || opener->is_operator || any_path_;
  }

 private:
  absl::Status UnknownDataset(const std::string& dataset, const Opener* opener) const;
  std::string NamesFor(const Opener* opener) const;

  const DatasetOffer offer_;
  const bool any_path_;
};

}  // namespace penstock::app
