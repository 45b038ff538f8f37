"""stores serve|proxy|dataset|measure ...: the rig's programs. `stores serve --help` and so on say more."""
import os
import sys

sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from stores import processes  # noqa: E402  (after the path)


def main():
    if "--with-parent" in sys.argv:
        sys.argv.remove("--with-parent")
        processes.end_with_parent()
    name, arguments = (sys.argv + [""])[1], sys.argv[2:]
    if name == "serve":
        from stores import file_server
        return file_server.main(arguments)
    if name == "proxy":
        from stores import proxy_server
        return proxy_server.main(arguments)
    if name == "dataset":
        from stores import datasets
        return datasets.main(arguments)
    if name == "measure":
        from stores import load
        return load.main(arguments)
    print(f"{__doc__}", file=sys.stderr)
    return 2


try:
    sys.exit(main())
except KeyboardInterrupt:
    sys.exit(130)
