#include "common/sandbox/call_filter.h"

#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "common/posix/fd.h"
#include "common/posix/memory.h"

namespace penstock::sandbox {
namespace {

constexpr char kWhoMustAllowIt[] =
    "; the kernel (since Linux 4.14), the container and the service manager must allow seccomp(2)";

struct ReleaseContext {
  void operator()(void* context) const { ::seccomp_release(context); }
};
using Context = std::unique_ptr<void, ReleaseContext>;

absl::Status Check(int result, absl::string_view what) {
  return result == 0 ? absl::OkStatus() : base::ErrnoStatus(-result, what, "libseccomp refused it");
}

scmp_arg_cmp ComparisonOf(const ArgumentRule& rule) {
  switch (rule.test) {
    case ArgumentRule::Test::kLacksBits:
      return {rule.index, SCMP_CMP_MASKED_EQ, rule.value, 0};
    case ArgumentRule::Test::kIsBelow:
      return {rule.index, SCMP_CMP_LT, rule.value, 0};
    case ArgumentRule::Test::kIs:
      break;
  }
  if (rule.ignored != 0) return {rule.index, SCMP_CMP_MASKED_EQ, ~rule.ignored, rule.value};
  return {rule.index, SCMP_CMP_EQ, rule.value, 0};
}

absl::Status Allow(void* context, const AllowedCall& call) {
  std::vector<scmp_arg_cmp> where;
  for (const ArgumentRule& rule : call.where) where.push_back(ComparisonOf(rule));
  return Check(::seccomp_rule_add_array(context, SCMP_ACT_ALLOW, call.number,
                                        static_cast<unsigned>(where.size()), where.data()),
               absl::StrCat("allowing system call ", call.number));
}

// libseccomp hands out its program only through a descriptor.
absl::StatusOr<std::vector<sock_filter>> Export(void* context) {
  const posix::Fd file(::memfd_create("filter", MFD_CLOEXEC));
  if (!file.valid()) return base::ErrnoStatus(errno, "making memory for a seccomp filter");
  PENSTOCK_RETURN_IF_ERROR(Check(::seccomp_export_bpf(context, file.get()), "compiling a filter"));
  PENSTOCK_ASSIGN_OR_RETURN(const size_t bytes, posix::SizeOf(file));
  std::vector<sock_filter> program(bytes / sizeof(sock_filter));
  if (program.empty() || program.size() > BPF_MAXINSNS || bytes % sizeof(sock_filter) != 0)
    return absl::InternalError(absl::StrCat("libseccomp compiled a filter of ", bytes, " bytes"));
  if (::pread(file.get(), program.data(), bytes, 0) != static_cast<ssize_t>(bytes))
    return base::ErrnoStatus(errno, "reading a seccomp filter");
  return program;
}

bool Kills(const sock_filter& each) {
  return BPF_CLASS(each.code) == BPF_RET && each.k == SECCOMP_RET_KILL_PROCESS;
}

}  // namespace

absl::StatusOr<CallFilter> CallFilter::Make(std::span<const AllowedCall> calls) {
  const Context context(::seccomp_init(SCMP_ACT_KILL_PROCESS));
  if (context == nullptr)
    return absl::FailedPreconditionError(
        absl::StrCat("there is no seccomp(2) that kills processes here", kWhoMustAllowIt));
  PENSTOCK_RETURN_IF_ERROR(
      Check(::seccomp_attr_set(context.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS),
            "forbidding other ABIs"));
  for (const AllowedCall& call : calls) PENSTOCK_RETURN_IF_ERROR(Allow(context.get(), call));
  PENSTOCK_ASSIGN_OR_RETURN(std::vector<sock_filter> program, Export(context.get()));
  return CallFilter(std::move(program));
}

CallFilter CallFilter::FailingWith(int error) const {
  CallFilter copy = *this;
  for (sock_filter& each : copy.program_)
    if (Kills(each)) each.k = SECCOMP_RET_ERRNO | (static_cast<uint32_t>(error) & SECCOMP_RET_DATA);
  return copy;
}

absl::Status CallFilter::Install() const {
  const sock_fprog program{.len = static_cast<unsigned short>(program_.size()),
                           .filter = const_cast<sock_filter*>(program_.data())};
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("installing a seccomp filter: ", ::strerrordesc_np(errno), kWhoMustAllowIt));
}

}  // namespace penstock::sandbox
