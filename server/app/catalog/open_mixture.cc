#include "server/app/catalog/open_mixture.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/base/hash.h"
#include "server/source/core/mixture.h"

namespace penstock::app {

absl::StatusOr<OpenedDataset> OpenMixture(const NamedDataset& dataset,
                                          const std::vector<OpenPart>& parts) {
  PENSTOCK_CHECK(dataset.mixture.has_value());
  std::vector<source::MixturePart> sources;
  plan::MixtureSpec spec = dataset.mixture->plan;
  uint64_t all = 0;
  for (const OpenPart& part : parts) {
    sources.push_back({part.name, part.dataset, part.range.first, part.range.count});
    spec.samples.push_back(part.range.count);
    all += part.range.count;
  }
  if (spec.epoch_samples == 0) spec.epoch_samples = all;
  const std::string where = absl::StrCat("opening the mixture '", dataset.name, "'");
  absl::StatusOr<plan::Mixture> plan = plan::Mixture::Make(spec);
  if (!plan.ok()) return base::Annotate(plan.status(), where);
  auto mixed = source::Mix(std::move(sources));
  if (!mixed.ok()) return base::Annotate(mixed.status(), where);
  OpenedDataset opened;
  opened.dataset = *std::move(mixed);
  opened.mixture = std::make_shared<const plan::Mixture>(*std::move(plan));
  // A part that was reopened is a different object, and makes a different mixture. The identity
  // contains the parts' addresses, which stay valid as long as the mixture exists.
  opened.identity = {.key = dataset.path, .stamp = absl::StrCat(absl::Hex(opened.mixture->hash()))};
  for (const OpenPart& part : parts) opened.all_examined &= part.all_examined;
  base::Hasher files;
  for (const OpenPart& part : parts) files.Add(part.files);
  opened.files = std::max<uint64_t>(files.Digest(), 1);
  for (const OpenPart& part : parts)
    absl::StrAppend(&opened.identity.stamp, " ", part.range.first, "+", part.range.count, "@",
                    absl::Hex(reinterpret_cast<uintptr_t>(part.dataset.get())));
  return opened;
}

}  // namespace penstock::app
