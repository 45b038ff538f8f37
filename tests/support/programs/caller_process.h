// A separate process, optionally of another user, that calls RPCs on command. It runs the program
// penstock-test-caller.
#pragma once

#include <sys/types.h>

#include <string>

#include "tests/support/programs/program.h"

namespace penstock::testing {

class CallerProcess {
 public:
  struct Answer {
    int code = -1;     // the gRPC code, or -1 if the program has ended
    std::string text;  // JSON, or the error message
  };

  // `door`: the doorway where it first does the handshake to get a ticket for its calls; if empty,
  // it has no ticket.
  CallerProcess(const std::string& address, const std::string& door, const Identity& as);
  ~CallerProcess();  // ends it
  CallerProcess(const CallerProcess&) = delete;
  CallerProcess& operator=(const CallerProcess&) = delete;

  // `method` is like penstock.v1.AdminService.GetStatus.
  Answer Call(const std::string& method, const std::string& json);
  std::string Ticket() { return Say("ticket"); }
  void Take(const std::string& ticket) { Say("ticket " + ticket); }
  pid_t pid() const { return pid_; }

 private:
  std::string Say(const std::string& line);

  pid_t pid_ = -1;
  int in_ = -1, out_ = -1;  // our ends of its pipes
};

}  // namespace penstock::testing
