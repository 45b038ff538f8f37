"""The environment's variables: which code of the program may read all of them, itself or through a child process."""
import os
import sys

# Differ between the processes of one job, or say nothing of data.
_NOT_ENVIRONMENT = ("RANK", "LOCAL_RANK", "GROUP_RANK", "ROLE_", "MASTER_", "TORCHELASTIC_", "SLURM_", "OMPI_", "PMI", "PRTE_",
                    "HYDRA_", "CUDA_VISIBLE_DEVICES", "NVIDIA_", "SHLVL", "_", "PWD", "OLDPWD", "TERM", "COLUMNS", "LINES",
                    "SSH_", "XDG_SESSION", "DISPLAY", "WINDOWID", "TMUX", "STY", "PENSTOCK_", "INVOCATION_ID", "JOURNAL_STREAM")

# expanduser is not here: of all variables it reads HOME alone, which always counts.
_OF_SYSTEM = ("environ", "environb", "getenv", "getenvb", "expandvars", "get_exec_path", "system", "popen", "startfile",
              "execl", "execle", "execlp", "execlpe", "execv", "execve", "execvp", "execvpe", "posix_spawn", "posix_spawnp",
              "spawnl", "spawnle", "spawnlp", "spawnlpe", "spawnv", "spawnve", "spawnvp", "spawnvpe")
_READERS = {"os": _OF_SYSTEM, "posix": _OF_SYSTEM, "posixpath": _OF_SYSTEM, "shutil": ("which",), "getpass": ("getuser",)}
# Whatever is used of these, what they start or call sees the environment.
_MODULES = {"subprocess", "_posixsubprocess", "asyncio.subprocess", "pty", "ctypes", "_ctypes", "cffi", "_cffi_backend"}


def walk(to):
    """All of it, without what differs between the processes of one job. Once, when all code that may read it was met."""
    for name, value in sorted(os.environ.items()):
        if not any(name == each or each.endswith("_") and len(each) > 1 and name.startswith(each) for each in _NOT_ENVIRONMENT):
            to.token("variable", f"{name}={value}")


def walk_function(to, function, module):
    """A library's function: whether it reads the environment."""
    if module in _MODULES or any(function is getattr(sys.modules.get(place), function.__name__, None)
                                 for place, names in _READERS.items() if function.__name__ in names):
        to.reads_environment = True


def walk_module(to, name, used):
    """A library's module that code holds; `used`: all names that this code has."""
    if name in _MODULES or not used.isdisjoint(_READERS.get(name, ())):
        to.reads_environment = True
