// Identifies the files that this process sees: by its mount namespace and its root directory. A
// path means the same file to two processes with the same view; to others it may mean another file.
#pragma once

#include <string>

#include "common/base/status.h"

namespace penstock::client {

// One line of text, which is equal for processes with the same view.
std::string OurFileView();

// A short name of our view that can be part of a path.
std::string FileViewName();

// Writes our view into a private daemon's directory, before that daemon is started from here.
absl::Status WriteFileView(const std::string& directory);

// Whether the daemon of this directory was started with a view other than ours. False if unknown.
bool HasOtherFileView(const std::string& directory);

}  // namespace penstock::client
