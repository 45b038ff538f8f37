// Where the files of a dataset are.
#pragma once

#include <string>

namespace penstock::dataset {

// The place, given the path that the daemon shows for a dataset: the first one of several, or the
// folder of a pattern. "" for a dataset without files of this machine, or made of other datasets.
// `kind` is "" before the dataset is indexed. Pure.
std::string PlaceOfDataset(const std::string& kind, const std::string& shown);

}  // namespace penstock::dataset
