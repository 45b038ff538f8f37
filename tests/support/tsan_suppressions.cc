// False reports that ThreadSanitizer is told to leave out. It reads this function's result at
// start.

// Abseil isn't built with ThreadSanitizer, so the count of the owners of a status goes unseen: the
// owner that destroys it last seems to race with those that read it before.
extern "C" const char* __tsan_default_suppressions() { return "race:absl::*::Status::Unref\n"; }
