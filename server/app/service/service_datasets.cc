// Calls about datasets. They wait for storage on the catalogue's threads.
#include <utility>

#include "server/app/catalog/openers.h"
#include "server/app/service/service.h"
#include "server/app/service/sessions.h"

namespace penstock::app {

void Service::DescribeDataset(const rpc::Permit& permit, const rpc::DescribeQuery& query,
                              rpc::Callback<rpc::DatasetDescription> done) {
  absl::StatusOr<doorway::Peer> peer = peers_.Find(permit.ticket());
  if (!peer.ok()) return done(peer.status());
  Describe(ToOpener(*peer), query, done);
}

void Service::DigestDataset(const rpc::Permit& permit, const rpc::DescribeQuery& query,
                            rpc::Callback<rpc::DatasetDescription> done) {
  Describe(ToOpener(permit), query, done);
}

void Service::Describe(const Opener& opener, const rpc::DescribeQuery& query,
                       const rpc::Callback<rpc::DatasetDescription>& done) {
  catalog_.OpenToDescribe(
      query.dataset, opener,
      [this, query, user = opener.uid, done](const absl::StatusOr<Catalog::State>& state) {
        if (!state.ok()) return done(state.status());
        const auto range = catalog_.RangeOf(query.dataset, **state);
        if (!range.ok()) return done(range.status());
        const auto description = ToDescription(query.dataset, **state, *range);
        if (!query.content_digest) return done(description);
        digests_.Ask((*state)->dataset, user, query.cancelled,
                     [description, done](const absl::StatusOr<std::string>& digest) {
                       if (!digest.ok()) return done(digest.status());
                       rpc::DatasetDescription with_digest = description;
                       with_digest.content_digest = *digest;
                       done(with_digest);
                     });
      },
      query.cancelled);
}

void Service::DescribeSamples(const rpc::Permit& permit, const std::string& dataset,
                              std::vector<uint64_t> ids, rpc::Cancelled cancelled,
                              rpc::Callback<std::vector<rpc::SampleDescription>> done) {
  absl::StatusOr<doorway::Peer> peer = peers_.Find(permit.ticket());
  if (!peer.ok()) return done(peer.status());
  const Opener opener = ToOpener(*peer);
  auto describe = [this, dataset, ids = std::move(ids), opener,
                   done](const absl::StatusOr<Catalog::State>& state) {
    if (!state.ok()) return done(state.status());
    const auto range = catalog_.RangeOf(dataset, **state);
    if (!range.ok()) return done(range.status());
    // The names of samples may have to be read from files.
    catalog_.Read(**state, opener,
                  [dataset, state = *state, range = *range, ids, done](const absl::Status& may) {
                    if (!may.ok()) return done(may);
                    done(ToDescriptions(dataset, *state, range, ids));
                  });
  };
  const absl::StatusOr<Catalog::State> known = catalog_.FindOpen(dataset, ToOpener(*peer));
  if (known.ok() && *known == nullptr) {
    catalog_.Open(dataset, ToOpener(*peer), std::move(describe), std::move(cancelled));
  } else {
    describe(known);
  }
}

void Service::IndexDataset(const rpc::Permit& permit, const rpc::IndexRequest& request,
                           std::function<bool()> cancelled,
                           rpc::Callback<rpc::IndexProgress> progress) {
  catalog_.Index(request, ToOpener(permit), std::move(cancelled), progress);
}

}  // namespace penstock::app
