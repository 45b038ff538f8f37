// Runs programs of the build to their end, as any user, and returns their output and exit code.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace penstock::testing {

// The path of a program beside the running test.
std::string ProgramPath(const std::string& name);

// The user that a child process switches to; none by default. Only root can switch.
struct Identity {
  uid_t user = 0;
  std::vector<gid_t> groups = {};  // in addition to the group with the user's own number

  bool IsOurs() const { return user == 0; }
  // Call it in the child, between fork and exec. Exits with 126 on failure.
  void Become() const;
};

struct Ended {
  int exit_code = -1;  // or minus the signal that killed it
  std::string output;  // standard output and standard error
};

// Runs a program from the directory of the running test; `arguments` exclude the program's name.
// Kills it after half a minute.
Ended RunProgram(const std::string& name, const std::vector<std::string>& arguments,
                 const Identity& as = {});

}  // namespace penstock::testing
