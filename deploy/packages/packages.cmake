# Configures cpack: one package for each component of `cmake --install`, and the Python package if
# the extension was built for Debian's own Python. deploy/package.sh runs cpack.
set(PENSTOCK_PACKAGES_MAINTAINER "Penstock maintainers <maintainers@penstock.invalid>" CACHE STRING
    "Maintainer of the packages: NAME <ADDRESS>")

set(CPACK_COMPONENTS_ALL programs client development tools)

# Builds everything that the packages contain.
add_custom_target(packaged DEPENDS penstockd penstock-worker penstock-indexer penstockctl
  penstock_client)
foreach(optional penstock-bench penstock_guide)
  if(TARGET ${optional})
    add_dependencies(packaged ${optional})
  endif()
endforeach()

# A Debian release has one Python version, and before 3.12 an extension works with one version only.
if(PENSTOCK_HAS_PYTHON)
  execute_process(COMMAND /usr/bin/python3 -c
    "import sysconfig; print(sysconfig.get_config_var('EXT_SUFFIX'))"
                  OUTPUT_VARIABLE debians_suffix OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  get_target_property(suffix penstock_python SUFFIX)
  if(suffix STREQUAL debians_suffix)
    list(APPEND CPACK_COMPONENTS_ALL python)
    add_dependencies(packaged penstock_python penstock_python_stub penstock_python_decode
      penstock_python_decode_stub)
    set(module lib/python3/dist-packages/penstock)
    # Installed as files and not as targets: stage.cmake removes their search paths.
    install(FILES $<TARGET_FILE:penstock_python> $<TARGET_FILE:penstock_python_decode>
            ${PROJECT_BINARY_DIR}/python/penstock/_penstock.pyi
            ${PROJECT_BINARY_DIR}/python/penstock/_decode.pyi
            DESTINATION ${module} COMPONENT python EXCLUDE_FROM_ALL)
    install(DIRECTORY client/python/penstock/ DESTINATION ${module} COMPONENT python EXCLUDE_FROM_ALL
            FILES_MATCHING REGEX "/[^/]+\\.pyi?$" PATTERN py.typed PATTERN __pycache__ EXCLUDE)
  else()
    message(STATUS "Packages: no python3-penstock, the extension is for *${suffix} and Debian's "
            "Python loads *${debians_suffix}")
  endif()
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)  # wherever cpack is run
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_CONTACT ${PENSTOCK_PACKAGES_MAINTAINER})
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# Settings of each package, and the script that adds what only Debian packages have.
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/deploy/packages/control.cmake)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/deploy/packages/stage.cmake)
set(CPACK_PENSTOCK_SOURCE ${PROJECT_SOURCE_DIR})
include(CPack)
