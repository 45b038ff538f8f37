// What the metrics port's page shows, made of what operators see. Pure.
#pragma once

#include <vector>

#include "penstock/v1/page.pb.h"
#include "server/app/catalog/catalog.h"

namespace penstock::app {

// Of the parts that are in `page` already, keeps as many as page.proto says and counts the others.
void LimitPage(v1::StatusPage& page);

// Adds the open datasets, and the first bad samples. Call it on the runner's thread.
void AddDatasets(const std::vector<DatasetView>& datasets, v1::StatusPage& page);

// Removes what only operators may see, so that the page shows what /metrics does.
void HideDetails(v1::StatusPage& page);

}  // namespace penstock::app
