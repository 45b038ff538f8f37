// Another process, perhaps of another user, that calls whatever it is told to: the program
// penstock-test-caller.
#pragma once

#include <sys/types.h>

#include <string>

#include "tests/support/program.h"

namespace penstock::testing {

class CallerProcess {
 public:
  struct Answer {
    int code = -1;     // gRPC's; -1: the program is gone
    std::string text;  // JSON, or the refusal's words
  };

  // `door`: where it says Hello first, and its calls carry the ticket; empty: it has none.
  CallerProcess(const std::string& address, const std::string& door, const Identity& as);
  ~CallerProcess();  // ends it
  CallerProcess(const CallerProcess&) = delete;
  CallerProcess& operator=(const CallerProcess&) = delete;

  // `method` like penstock.v1.AdminService.GetStatus.
  Answer Call(const std::string& method, const std::string& json);
  std::string Ticket() { return Say("ticket"); }
  void Take(const std::string& ticket) { Say("ticket " + ticket); }
  pid_t pid() const { return pid_; }

 private:
  std::string Say(const std::string& line);

  pid_t pid_ = -1;
  int in_ = -1, out_ = -1;  // our ends
};

}  // namespace penstock::testing
