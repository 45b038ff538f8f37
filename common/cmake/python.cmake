# PENSTOCK_PYTHON=AUTO|ON|OFF: whether to build the Python package, for the Python that CMake finds
# (set Python_EXECUTABLE or Python_ROOT_DIR), which must have nanobind installed. Sets
# PENSTOCK_HAS_PYTHON.
set(PENSTOCK_PYTHON "AUTO" CACHE STRING
  "Build the Python package: AUTO (if nanobind is found), ON, OFF")
set_property(CACHE PENSTOCK_PYTHON PROPERTY STRINGS AUTO ON OFF)
if(NOT PENSTOCK_PYTHON MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "PENSTOCK_PYTHON is '${PENSTOCK_PYTHON}'; give it AUTO, ON or OFF")
endif()

set(PENSTOCK_HAS_PYTHON OFF)
if(PENSTOCK_PYTHON STREQUAL "OFF" OR PENSTOCK_SANITIZE)
  message(STATUS
    "Python: off (PENSTOCK_PYTHON=OFF, or a sanitizer build, which a plain interpreter cannot load)")
else()
  # Prefer the virtual environment that deploy/install-deps.sh --tests creates.
  if(NOT DEFINED Python_ROOT_DIR AND NOT DEFINED Python_EXECUTABLE AND
     EXISTS ${PROJECT_SOURCE_DIR}/build/venv/bin/python)
    set(Python_EXECUTABLE ${PROJECT_SOURCE_DIR}/build/venv/bin/python)
  endif()
  find_package(Python 3.9 QUIET COMPONENTS Interpreter Development.Module
               OPTIONAL_COMPONENTS Development.SABIModule)
  if(Python_FOUND AND NOT DEFINED nanobind_ROOT)
    execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
                    OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  if(Python_FOUND AND nanobind_ROOT)
    find_package(nanobind CONFIG QUIET)
  endif()
  if(nanobind_FOUND)
    set(PENSTOCK_HAS_PYTHON ON)
    message(STATUS
      "Python: ${Python_VERSION} with nanobind ${nanobind_VERSION} (${Python_EXECUTABLE})")
  elseif(PENSTOCK_PYTHON STREQUAL "ON")
    message(FATAL_ERROR
      "PENSTOCK_PYTHON=ON, but no Python >= 3.9 with its headers and nanobind was found "
            "(looked at '${Python_EXECUTABLE}'); python3 -m pip install nanobind in a virtual environment, "
            "and point Python_EXECUTABLE at its python")
  else()
    message(STATUS
      "Python: no nanobind found (PENSTOCK_PYTHON=AUTO); the Python package is not built")
  endif()
endif()
