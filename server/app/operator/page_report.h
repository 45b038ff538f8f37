// What the metrics port's page shows, made of what operators see. Pure.
#pragma once

#include <memory>
#include <vector>

#include "penstock/v1/page.pb.h"
#include "server/app/catalog/catalog.h"
#include "server/status/page/bad_sample.h"

namespace penstock::app {

// Of the parts that are in `page` already, keeps as many as page.proto says and counts the others.
void LimitPage(v1::StatusPage& page);

// Adds the open datasets, and the first bad samples. Call it on the runner's thread.
void AddDatasets(const std::vector<DatasetView>& datasets, v1::StatusPage& page);

// The dataset of a sample that is bad by the daemon's own finding and whose image is the bytes of a
// part of a file. What trainers report alone does not count: they may report any sample.
// **Errors**: NotFound says in words why there is no picture. Call it on the runner's thread.
absl::StatusOr<std::shared_ptr<const source::Dataset>> FindBadSample(
    const std::vector<DatasetView>& datasets, const status::BadSampleName& name);

// Says for each bad sample in `page` whether FindBadSample finds it. Call it on the runner's
// thread.
void AddPictures(const std::vector<DatasetView>& datasets, v1::StatusPage& page);

// Removes what only operators may see, so that the page shows what /metrics does.
void HideDetails(v1::StatusPage& page);

}  // namespace penstock::app
