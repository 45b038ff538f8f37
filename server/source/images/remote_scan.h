// Lists a folder of photographs in an object store, for all that its manifest needs.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "common/base/status.h"
#include "server/source/files/remote_file.h"
#include "server/source/images/scan.h"

namespace penstock::source {

struct RemoteScanOptions {
  std::string folder;  // its URL, which ends in a slash
  RemoteFiles* remote = nullptr;
  size_t threads = 1;                                      // listings at a time; each class has one
  std::function<bool(const ScanProgress&)> progress = {};  // as in ScanOptions
};

// What ScanDataset finds of the same files on a disk. A file's stamp is its pin, and the root's
// device is the number of its store. Objects whose names end in a slash are no files.
//
// **Errors**: NotFound if there are no classes, or classes without samples; InvalidArgument for a
// file of 4 GiB or more; FailedPrecondition for unusable names; ResourceExhausted if there are too
// many for the machine's memory; DataLoss if the store lists a file twice; Cancelled; those of
// RemoteFiles.
absl::StatusOr<Scan> ScanRemoteFolder(const RemoteScanOptions& options);

}  // namespace penstock::source
