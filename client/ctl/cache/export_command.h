// `penstockctl index --export`: writes the index files of shards, which are put beside the shards
// in an object store.
#pragma once

#include <iosfwd>
#include <string>

#include "client/ctl/admin_client.h"
#include "client/ctl/command_line.h"
#include "client/ctl/progress.h"
#include "common/base/status.h"

namespace penstock::ctl {

// The daemon that reads the shards. A path or a URL is read by the user's private daemon, which is
// started if it does not run; a name by the daemon that serves it. **Errors**: those of
// client::FindDaemonToOperate and StartPrivateDaemon.
absl::StatusOr<std::string> FindDaemonToExport(const Call& call);

// Writes the index of a shard on this machine beside it, and that of a shard in a store to the
// folder `call.to`; with that folder, all of them. Returns the exit code. `progress` gets a bar, or
// a line every five seconds. **Errors**: InvalidArgument: a URL without a folder; AlreadyExists:
// there is a file that is no index, or two shards have the same name; those of the file system.
absl::StatusOr<int> RunExport(AdminClient& daemon, const Call& call, Progress::Style style,
                              std::ostream& out, std::ostream& progress);

// The file for the index of that shard. `folder`: empty: beside the shard. **Errors**:
// InvalidArgument: the shard is in a store, and there is no folder; or its name is no file's.
absl::StatusOr<std::string> FindIndexPath(const std::string& shard, const std::string& folder);

// Replaces the file as a whole. **Errors**: AlreadyExists: it does not begin like `content`, so it
// is another kind of file.
absl::Status WriteIndex(const std::string& path, const std::string& content);

}  // namespace penstock::ctl
