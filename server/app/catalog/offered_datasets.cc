#include "server/app/catalog/offered_datasets.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_join.h"
#include "server/rpc/access/refusal.h"
#include "server/source/files/remote_file.h"

namespace penstock::app {
namespace {

absl::Status NoPythonHere() {
  return rpc::Refused(
      absl::PermissionDeniedError(
          "a Python dataset is made by processes that its trainer forks, and only a user's private "
          "daemon takes batches from them; this daemon is not a private one; open the dataset on a "
          "private daemon, as penstock.torch.DataLoader does"),
      rpc::Refusal::kBadRequest);
}

bool IsInAGroup(const NamedDataset& dataset, const Opener& opener) {
  if (dataset.groups.empty()) return true;
  return std::any_of(dataset.groups.begin(), dataset.groups.end(), [&](gid_t group) {
    return std::find(opener.groups.begin(), opener.groups.end(), group) != opener.groups.end();
  });
}

}  // namespace

absl::StatusOr<NamedDataset> OfferedDatasets::Locate(const std::string& dataset,
                                                     const Opener* opener) const {
  if (dataset.empty()) return absl::InvalidArgumentError("no dataset was named");
  if (source::IsSynthetic(dataset)) return SyntheticNamed(dataset);
  if (source::IsPython(dataset)) return any_path_ ? PythonNamed(dataset) : NoPythonHere();
  const bool names_files = NamesFiles(dataset);
  const bool is_url = source::IsRemotePath(dataset);
  const bool is_path = is_url || dataset.front() == '/';
  if (!any_path_ && (names_files || is_path))
    return rpc::Refused(
        absl::PermissionDeniedError(absl::StrCat(
            "'", dataset,
            names_files ? "' names files"
            : is_url    ? "' is a URL"
                        : "' is a path",
            ", but this daemon serves datasets only by name; known are: ", NamesFor(opener))),
        rpc::Refusal::kBadRequest);
  if (names_files) return FilesNamed(dataset);
  if (is_path) return NamedDataset{.name = dataset, .path = dataset, .groups = {}, .by_path = true};
  for (const NamedDataset& known : offer_.datasets) {
    if (known.name != dataset) continue;
    if (opener == nullptr || MayOpen(known, *opener)) return known;
    return rpc::Refused(UnknownDataset(dataset, opener), rpc::Refusal::kNotInGroup,
                        absl::StrCat("user ", opener->uid, " is not in the groups of dataset '",
                                     dataset, "' or of a part of it"));
  }
  return UnknownDataset(dataset, opener);
}

bool OfferedDatasets::IsKeptFrom(const std::string& dataset, const Opener& opener) const {
  const auto refused = Locate(dataset, &opener).status().GetPayload(rpc::kRefusalUrl);
  return refused == rpc::kRefusals[static_cast<size_t>(rpc::Refusal::kNotInGroup)];
}

bool OfferedDatasets::MayOpen(const NamedDataset& dataset, const Opener& opener) const {
  if (opener.is_operator) return true;
  if (!IsInAGroup(dataset, opener)) return false;
  if (!dataset.mixture) return true;
  const auto& parts = dataset.mixture->parts;
  return std::all_of(offer_.datasets.begin(), offer_.datasets.end(), [&](const NamedDataset& each) {
    const bool is_part = std::find(parts.begin(), parts.end(), each.name) != parts.end();
    return !is_part || IsInAGroup(each, opener);
  });
}

std::vector<NamedDataset> OfferedDatasets::For(const std::optional<Opener>& opener) const {
  std::vector<NamedDataset> offered;
  for (const NamedDataset& known : offer_.datasets)
    if (!opener || MayOpen(known, *opener)) offered.push_back(known);
  return offered;
}

absl::Status OfferedDatasets::UnknownDataset(const std::string& dataset,
                                             const Opener* opener) const {
  return absl::NotFoundError(absl::StrCat(
      "no dataset '", dataset, "' that user ", opener == nullptr ? ::geteuid() : opener->uid,
      " may open; known are: ", NamesFor(opener), any_path_ ? "; an absolute path works too" : "",
      "; add a dataset under the configuration's key datasets, whose groups decide who may open "
      "it"));
}

std::string OfferedDatasets::NamesFor(const Opener* opener) const {
  std::vector<std::string> names;
  for (const NamedDataset& known : offer_.datasets)
    if (opener == nullptr || MayOpen(known, *opener)) names.push_back(known.name);
  return names.empty() ? "none" : absl::StrJoin(names, ", ");
}

}  // namespace penstock::app
