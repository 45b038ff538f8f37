// Photographs in one folder per class of an object store: the samples, their order and their bytes
// are those of the same files on a disk (folder.h).
//
// The folder is listed whenever it is opened, because no store tells in another way whether it has
// changed. Each photograph is read in the version that was listed, and no other. If the store does
// not answer, the index of the last listing is used, with a warning.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "server/source/files/remote_file.h"
#include "server/source/images/folder.h"

namespace penstock::source {

struct RemoteFolderOptions {
  std::string url;  // ends in a slash
  RemoteFiles* remote = nullptr;
  std::string state_dir;  // where the index is kept; empty: nowhere
  std::shared_ptr<StateAccess> access = {};
  size_t threads = 1;                                      // listings at a time
  std::function<bool(const ScanProgress&)> progress = {};  // as in ScanOptions
};

// **Errors**: those of ScanRemoteFolder; Unavailable if the store does not answer and no index of
// the folder is kept.
absl::StatusOr<OpenedFolder> OpenRemoteFolder(const RemoteFolderOptions& options);

// Whether an index of that folder is kept, so that it can be opened while the store is away.
bool IsRemoteFolderKnown(const RemoteFolderOptions& options);

}  // namespace penstock::source
