// A temporary folder, removed after the test, and helpers to fill it.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace penstock::testing {

class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "penstock-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    ::chmod(name.c_str(), 0755);
    path_ = std::filesystem::canonical(name).string();
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string At(const std::string& relative) const { return path_ + "/" + relative; }

  // Writes a file and creates its parent folders.
  void Write(const std::string& relative, const std::string& bytes) const {
    std::filesystem::create_directories(std::filesystem::path(At(relative)).parent_path());
    std::ofstream(At(relative), std::ios::binary | std::ios::trunc) << bytes;
  }
  std::string Read(const std::string& relative) const {
    std::ostringstream bytes;
    bytes << std::ifstream(At(relative), std::ios::binary).rdbuf();
    return bytes.str();
  }
  void MakeFolder(const std::string& relative) const {
    std::filesystem::create_directories(At(relative));
  }
  // Creates a symbolic link at `relative` to `target`.
  void Link(const std::string& relative, const std::string& target) const {
    std::filesystem::create_directories(std::filesystem::path(At(relative)).parent_path());
    std::filesystem::create_symlink(target, At(relative));
  }

 private:
  std::string path_;
};

// Drops root's privileges for a scope, because root is never denied access to files.
class WithoutPrivileges {
 public:
  WithoutPrivileges() : was_root_(::geteuid() == 0) {
    if (was_root_ && ::seteuid(65534) != 0) std::abort();
  }
  ~WithoutPrivileges() {
    if (was_root_ && ::seteuid(0) != 0) std::abort();
  }
  WithoutPrivileges(const WithoutPrivileges&) = delete;
  WithoutPrivileges& operator=(const WithoutPrivileges&) = delete;

 private:
  const bool was_root_;
};

}  // namespace penstock::testing
