# The contents of each package's control file. cpack reads this file at its start, after the version
# and revision from its command line are set. dpkg-shlibdeps adds the dependencies on libraries.
include(${CPACK_PENSTOCK_SOURCE}/deploy/packages/names.cmake)
set(scripts ${CPACK_PENSTOCK_SOURCE}/deploy/packages)
set(this_version "(= ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")

set(CPACK_PACKAGE_DESCRIPTION_SUMMARY)  # otherwise cpack puts it before each description
# The long description that all packages share.
set(about "Penstock is one daemon per GPU node: it decodes training data once and feeds
every trainer process on the node, in order, in GPU memory or shared memory.")

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package_${component}})
endforeach()

set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAMS_DESCRIPTION "daemon that feeds training data to every trainer of a node
${about}
.
This package has the daemon penstockd, its workers and its systemd units.")
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_DEPENDS "systemd | systemd-standalone-sysusers | systemd-sysusers")
# libcurl: private daemons read stores with it.
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_RECOMMENDS "penstock-tools ${this_version}, libcurl4")
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_CONTROL_EXTRA
    ${scripts}/penstock/conffiles ${scripts}/penstock/postinst ${scripts}/penstock/prerm
    ${scripts}/penstock/postrm)

set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION science)
set(CPACK_DEBIAN_TOOLS_DESCRIPTION "commands that inspect and measure Penstock's daemon
${about}
.
This package has penstockctl, which shows what the daemon does and what would
prevent it from serving, and penstock-bench, which measures a machine.")
set(CPACK_DEBIAN_TOOLS_PACKAGE_RECOMMENDS "penstock")
set(CPACK_DEBIAN_TOOLS_PACKAGE_SUGGESTS "python3-pil")

set(CPACK_DEBIAN_CLIENT_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_CLIENT_DESCRIPTION "shared library for trainers fed by Penstock
${about}
.
This package has the library that C++ trainers and the Python package need.")
set(CPACK_DEBIAN_CLIENT_PACKAGE_RECOMMENDS "penstock")
set(CPACK_DEBIAN_CLIENT_PACKAGE_CONTROL_EXTRA ${scripts}/libpenstock1/triggers)

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "headers and CMake package for trainers fed by Penstock
${about}
.
This package has what is needed to write and build a trainer in C++:
find_package(penstock), and link penstock::client.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libpenstock1 ${this_version}")

set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_DESCRIPTION "Python package for trainers fed by Penstock
${about}
.
This package has the module penstock, with data loaders that replace PyTorch's,
and iterators for JAX, CuPy and NumPy.")
# The extension works only with the Python version of this Debian release.
if(CPACK_COMPONENTS_ALL MATCHES python)
  execute_process(COMMAND /usr/bin/python3 -c "import sys; print('python3 (>= 3.%d), python3 (<< 3.%d)' % (
                          sys.version_info.minor, sys.version_info.minor + 1))"
                  OUTPUT_VARIABLE this_python OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "libpenstock1 ${this_version}, python3-numpy, ${this_python}")
endif()
set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS "penstock")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "python3-torch")
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA
    ${scripts}/python3-penstock/postinst ${scripts}/python3-penstock/prerm)
