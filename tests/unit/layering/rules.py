"""Which folder may use which. A folder may use itself, the standard library, Abseil, and what its line names:
folders (including their subfolders), single headers, or libraries by their names in LIBRARIES."""
import collections
import os
import pathlib
import re

# How an #include begins if it belongs to a library with a rule.
LIBRARIES = {
    "grpc": re.compile(r"^(grpc|grpcpp)/|\.grpc\.pb\.h$"),
    "protobuf": re.compile(r"^google/protobuf/|(?<!\.grpc)\.pb\.h$"),
    "spdlog": re.compile(r"^(spdlog|fmt)/"),
    "cuda": re.compile(r"^(cuda|cuda_runtime|cuda_runtime_api|nvml|cuda_\w+)\.h$|^nvtx3/"),
    "jpeg": re.compile(r"^(jpeglib|jerror|turbojpeg)\.h$"),
    "png": re.compile(r"^png\.h$"),
    "webp": re.compile(r"^webp/"),
    "tiff": re.compile(r"^tiff\w*\.h$"),
    "nanobind": re.compile(r"^nanobind/"),
    "expat": re.compile(r"^expat\w*\.h$"),
    "json": re.compile(r"^nlohmann/"),
    "curl": re.compile(r"^curl/"),
    "re2": re.compile(r"^re2/"),
    "yaml": re.compile(r"^yaml-cpp/"),
    "seccomp": re.compile(r"^seccomp\.h$"),
    "systemd": re.compile(r"^systemd/"),
}

COMMON = {"common/base", "common/posix", "common/shm", "common/telemetry"}

MAY_USE = {
    "common/base": set(),
    "common/cmake": set(),  # precompiled for nearly every library
    "common/dataset": set(),
    "common/posix": {"common/base"},
    "common/sandbox": {"common/base", "common/posix", "seccomp"},
    "common/shm": {"common/base"},
    "common/telemetry": {"common/base", "spdlog"},
    "common/cuda": {"common/base", "common/posix", "cuda"},
    "common/resample": {"common/base"},
    "common/jpeg": set(),
    "server/plan": {"common/base"},
    "server/decode": {"common/base", "common/jpeg", "common/resample", "common/shm/row_note.h", "server/augment", "jpeg", "png", "tiff", "webp"},
    "server/augment": {"common/base"},
    # How a sample's bytes become rows. Datasets and readers describe it; workers do it.
    "server/unpack": {"common/base"},
    "server/store": {"common/base", "common/posix", "curl"},
    "server/store/cache": {"common/base", "common/posix"},
    # What joins stores and datasets.
    "server/store/files": {"common/base", "common/posix", "common/telemetry", "server/store", "server/source/files"},
    "server/source": {"common/base", "common/posix", "common/telemetry", "server/unpack", "expat", "json", "re2"},
    # Both sides of the processes that parse files.
    "server/indexer": COMMON | {"common/sandbox", "server/source", "server/unpack"},
    "server/checkpoints": COMMON,
    "server/kept": COMMON,
    # The readers of samples are part of the workers' folder. They see datasets through their
    # interface, and a pure rule tells them how long to retry.
    "server/workers": COMMON | {"server/source/core/stored_images.h", "common/sandbox", "server/decode", "server/unpack",
                                "server/checkpoints/shelf.h", "server/kept/image_shelf.h",
                                "server/source/core/dataset.h",
                                "server/source/core/retry_policy.h"},
    # Hosts and their Python workers, which other processes fork.
    "server/pyworkers": COMMON | {"server/workers/event_set.h"},
    "server/copy": COMMON | {"server/source/core/dataset.h", "server/source/core/retry_policy.h"},
    "server/pool": COMMON,
    "server/export": COMMON | {"common/cuda"},
    # The types for a session's request and grant, which the folders above share.
    "server/session": COMMON | {"server/plan", "server/decode/core/spec.h", "server/source/core",
                                "server/pool/slot_layout.h", "server/export/device_request.h",
                                "server/export/device_grant.h"},
    "server/feed": COMMON | {"server/plan", "server/source", "server/decode/core/spec.h", "server/unpack",
                             "server/workers", "server/checkpoints", "server/kept", "server/pyworkers", "server/copy", "server/pool", "server/export",
                             "server/session"},
    "server/status": COMMON | {"protobuf"},
    "server/doorway": COMMON | {"protobuf", "server/rpc/controller.h"},
    "server/rpc": COMMON | {"grpc", "protobuf", "server/augment/recipe", "server/session"},
    "server/app": COMMON | {"common/cuda", "common/dataset", "common/sandbox/probe/sandbox_probe.h", "grpc", "protobuf", "systemd", "yaml", "server"},
    "client/include": set(),
    "client/finish": {"common/base", "common/cuda", "client/include", "cuda"},
    "client/gpu_decode": {"common/base", "common/cuda", "common/jpeg", "common/resample", "cuda"},
    "client/src": COMMON | {"common/cuda", "client/include", "client/finish", "client/gpu_decode", "grpc", "protobuf"},
    "client/python": {"client/include", "common/base/philox.h", "nanobind"},
    # The decoder in a Python process, which needs neither the client library nor a daemon.
    "client/python/decode": {"common/base", "client/include", "client/finish", "client/python/src/gil.h",
                             "server/augment/recipe", "server/decode", "nanobind"},
    # The files of a cache are looked at without a daemon.
    "client/ctl": COMMON | {"server/store/cache"} | {"common/cuda", "common/dataset", "client/include", "client/src", "grpc", "protobuf"},
    "client/examples": {"client/include", "jpeg"},
}

FORKED = {"common/base", "common/posix", "common/shm", "client/src/maker", "client/src/connection/greet.h"}

# Pure by contract although their folder isn't. They and everything they include may use only these.
PURE = {"server/pyworkers/host_state.cc": {"common/base", "server/pyworkers"},
        "server/pyworkers/place_state.cc": {"common/base", "common/posix/process.h", "common/posix/fd.h",
                                            "server/pyworkers"},
        "server/feed/core/core.h": {"common/base", "server/plan", "server/feed"},
        "server/feed/core/core.cc": {"common/base", "server/plan", "server/feed"},
        "server/feed/stats/flow.cc": {"common/base", "server/feed"},
        "server/feed/stats/trace_text.cc": {"common/base", "server/feed"},
        "server/feed/stats/session_phase.cc": {"common/base", "server/plan", "server/feed"},
        "server/feed/sessions/admission.cc": {"common/base", "server/feed"},
        "server/feed/stats/verdict.cc": {"common/base", "server/plan", "server/feed"},
        "server/feed/stats/worker_demand.cc": {"common/base", "server/feed"},
        # They run in forked children, where gRPC and locks of the parent's threads are of no use.
        "client/src/maker/host.cc": FORKED,
        "client/src/maker/worker.cc": FORKED}

NO_ABSEIL = {"client/include"}  # public headers: only the standard library
MAX_GRPC_FILES = 13             # each takes seconds to compile; server/rpc has one for each kind of call
MAX_LINES = 400
MAX_FILES = 36                  # per folder

SOURCE = re.compile(r"\.(h|cc|cu|py|sh|proto|cmake)$")
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]')
SKIPPED_FOLDERS = re.compile(r"^(build.*|\.git|\.cache|__pycache__)$")


class Tree:
    """A checkout's files, with paths relative to its root."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.files = []
        for folder, below, names in os.walk(self.root):
            below[:] = [name for name in below if not SKIPPED_FOLDERS.match(name)]
            self.files += [os.path.relpath(os.path.join(folder, name), self.root) for name in names]

    def lines(self, path):
        return (self.root / path).read_text(encoding="utf-8").splitlines()

    def includes(self, path):
        """Yields (line number, path) of every #include; public headers have their path in the tree."""
        for number, line in enumerate(self.lines(path), 1):
            if match := INCLUDE.match(line):
                what = match.group(1)
                if re.match(r"^penstock/\w+\.h$", what):
                    what = "client/include/" + what
                yield number, what

    def code(self):
        """The product's C++ files, to which the inclusion rules apply."""
        return sorted(path for path in self.files
                      if re.match(r"^(common|server|client)/.*\.(h|cc|cu)$", path))


def folder_of(path):
    """The folder whose line applies: the innermost one that has a line, else the first two levels."""
    parts = path.split("/")[:-1]
    within_rules = ("/".join(parts[:depth]) for depth in range(len(parts), 2, -1))
    return next((folder for folder in within_rules if folder in MAY_USE), "/".join(path.split("/")[:2]))


def library_of(what):
    return next((name for name, pattern in LIBRARIES.items() if pattern.search(what)), None)


def within(what, allowed):
    """Whether an include is in `allowed`, or is not subject to any rule."""
    if library := library_of(what):
        return library in allowed
    if not re.match(r"^(common|server|client|tests)/", what):
        return True
    return any(what == entry or what.startswith(entry + "/") for entry in allowed)


def inclusion(tree):
    for path in tree.code():
        folder = folder_of(path)
        if folder not in MAY_USE:
            yield f"{path}: the folder {folder} has no line in rules.py; say what it may use"
            continue
        for number, what in tree.includes(path):
            if not within(what, MAY_USE[folder] | {folder}):
                yield f"{path}:{number}: {folder} may not use {what}"
            if folder in NO_ABSEIL and what.startswith("absl/"):
                yield f"{path}:{number}: public headers use the standard library alone, not {what}"


def purity(tree):
    for start, allowed in PURE.items():
        seen, waiting = set(), [start] if start in tree.files else []
        while waiting:
            path = waiting.pop()
            if path in seen or path not in tree.files:
                continue
            seen.add(path)
            for number, what in tree.includes(path):
                if within(what, allowed):
                    waiting += [what, re.sub(r"\.h$", ".cc", what)]
                else:
                    yield f"{path}:{number}: {start} reaches it, so it may not use {what}"


def grpc_files(tree):
    files = [path for path in tree.code()
             if any(library_of(what) == "grpc" for _, what in tree.includes(path))]
    if len(files) > MAX_GRPC_FILES:
        yield f"{len(files)} files include gRPC, more than {MAX_GRPC_FILES}: {', '.join(files)}"


def length(tree):
    for path in sorted(filter(SOURCE.search, tree.files)):
        lines = len(tree.lines(path))
        if lines > MAX_LINES:
            yield f"{path} has {lines} lines; split it"


def folder_size(tree):
    folders = collections.Counter(os.path.dirname(path) for path in tree.files)
    for folder, files in sorted(folders.items()):
        if files > MAX_FILES:
            yield f"{folder} has {files} files, more than {MAX_FILES}; split it"


def readmes(tree):
    for path in sorted(tree.files):
        folder, name = os.path.split(path)
        if name == "CMakeLists.txt" and os.path.join(folder, "README.md") not in tree.files:
            yield f"{folder or 'the root'} has a CMakeLists.txt and no README.md"
    folders = {os.path.dirname(path) for path in tree.code() if re.match(r"^(server|client/src)/", path)}
    for folder in sorted(folders):
        above = os.path.join(os.path.dirname(folder), "README.md")
        if above in tree.files and os.path.join(folder, "README.md") not in tree.files:
            yield f"{folder} has sources and no README.md, which the folder above it has"


def violations(root):
    tree = Tree(root)
    found = collections.OrderedDict()  # reports an include only once if two pure files reach it
    for rule in (inclusion, purity, grpc_files, length, folder_size, readmes):
        for violation in rule(tree):
            found[violation] = None
    return list(found)
