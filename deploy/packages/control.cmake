# What stands in each package's control file. cpack reads this when it begins, and with it the version
# and revision that its command line gave. Dependencies on libraries are dpkg-shlibdeps' affair.
include(${CPACK_PENSTOCK_SOURCE}/deploy/packages/names.cmake)
set(scripts ${CPACK_PENSTOCK_SOURCE}/deploy/packages)
set(this_version "(= ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")

set(CPACK_PACKAGE_DESCRIPTION_SUMMARY)  # else it comes before each description
# What is said below the first line of each description.
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
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_RECOMMENDS "penstock-tools ${this_version}")
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_CONTROL_EXTRA
    ${scripts}/penstock/conffiles ${scripts}/penstock/postinst ${scripts}/penstock/prerm
    ${scripts}/penstock/postrm)

set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION science)
set(CPACK_DEBIAN_TOOLS_DESCRIPTION "commands that look into Penstock's daemon and measure it
${about}
.
This package has penstockctl, which shows what the daemon does and what would
keep it from serving, and penstock-bench, which measures what a machine can do.")
set(CPACK_DEBIAN_TOOLS_PACKAGE_RECOMMENDS "penstock")
set(CPACK_DEBIAN_TOOLS_PACKAGE_SUGGESTS "python3-pil")

set(CPACK_DEBIAN_CLIENT_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_CLIENT_DESCRIPTION "shared library for trainers that Penstock feeds
${about}
.
This package has the library that C++ trainers and the Python package need.")
set(CPACK_DEBIAN_CLIENT_PACKAGE_RECOMMENDS "penstock")
set(CPACK_DEBIAN_CLIENT_PACKAGE_CONTROL_EXTRA ${scripts}/libpenstock1/triggers)

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "headers and CMake package for trainers that Penstock feeds
${about}
.
This package has what is needed to write and build a trainer in C++:
find_package(penstock), and link penstock::client.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libpenstock1 ${this_version}")

set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_DESCRIPTION "Python package for trainers that Penstock feeds
${about}
.
This package has the module penstock, with data loaders that take the place of
PyTorch's, and iterators for JAX, CuPy and NumPy.")
# The extension is for the one Python that this release of Debian has.
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
