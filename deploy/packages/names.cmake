# The Debian package for each component of `cmake --install`.
set(package_programs penstock)
set(package_tools penstock-tools)
set(package_client libpenstock1)
set(package_development libpenstock-dev)
set(package_python python3-penstock)
