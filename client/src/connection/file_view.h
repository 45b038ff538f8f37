// Which files this process sees below its root: its mount namespace, and its root directory. Paths
// mean the same to two processes with the same view; to others they may mean other files.
#pragma once

#include <string>

#include "common/base/status.h"

namespace penstock::client {

// One line of text: equal for processes with the same view.
std::string OurFileView();

// A short name for it that can be part of a path.
std::string FileViewName();

// Writes our view into a private daemon's directory, before that daemon is started from here.
absl::Status WriteFileView(const std::string& directory);

// Whether the daemon of this directory was started with another view than ours. False where its
// directory doesn't say.
bool HasOtherFileView(const std::string& directory);

}  // namespace penstock::client
