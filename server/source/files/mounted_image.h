// File systems that are images: squashfs, EROFS, ISO 9660, UDF, cramfs, romfs. Inode numbers and
// all times come from the image, so a file of another image can have the very same ones. What tells
// two images apart is when each was attached.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace penstock::source {

// `system`: f_type of statfs(2).
bool IsImageSystem(uint32_t system);

// A number for the image that is attached to this device now; never 0. Another image gets another
// number, and so does the same image that is attached again (detached, or after a reboot). Where
// the kernel does not number disks (before Linux 5.15, or without /sys), only this process gets the
// same number for a device again. `root` is a prefix for /proc and /sys, used only by tests. Any
// thread.
uint64_t NumberOfImage(dev_t device, const std::string& root = "");

}  // namespace penstock::source
