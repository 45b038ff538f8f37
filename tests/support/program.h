// Programs that tests run to their end: one of the build's, as any user, what it said and how it
// ended.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace penstock::testing {

// The path of a program that lies beside the running test.
std::string ProgramPath(const std::string& name);

// Who a child process becomes: by default it stays who we are. Only root can become others.
struct Identity {
  uid_t user = 0;
  std::vector<gid_t> groups;  // besides the one with the user's own number

  bool IsOurs() const { return user == 0; }
  // In the child, between fork and exec. Ends the process with 126 where it cannot be.
  void Become() const;
};

struct Ended {
  int exit_code = -1;  // minus the signal that killed it
  std::string output;  // standard output and standard error
};

// Runs a program that lies beside the running test; `arguments` without the program itself. One
// that takes longer than half a minute is killed.
Ended RunProgram(const std::string& name, const std::vector<std::string>& arguments,
                 const Identity& as = {});

}  // namespace penstock::testing
