# What `cmake --install` installs: the programs, the client library with its public headers, and the
# packages for find_package(penstock) and pkg-config. Each component is also a Debian package
# (deploy/packages): `programs` for the daemon, `tools` to inspect it, `client` for what trainers
# load, `development` for building trainers.
include(CMakePackageConfigHelpers)

function(penstock_install_programs component)
  foreach(program IN LISTS ARGN)
    if(TARGET ${program})
      # bind at start, so that function pointers become read-only
      target_link_options(${program} PRIVATE LINKER:-z,now)
      install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${component})
    endif()
  endforeach()
endfunction()
penstock_install_programs(programs penstockd penstock-worker penstock-indexer)
penstock_install_programs(tools penstockctl penstock-bench)

set(completions client/ctl/completions)
install(FILES ${completions}/penstockctl.bash RENAME penstockctl COMPONENT tools
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${completions}/_penstockctl COMPONENT tools
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${completions}/penstockctl.fish COMPONENT tools
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

set(man deploy/man)
install(FILES ${man}/penstockctl.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools)
install(DIRECTORY ${man}/commands/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools
        FILES_MATCHING PATTERN "*.1")
if(TARGET penstock-bench)
  install(FILES ${man}/penstock-bench.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools)
endif()
install(FILES ${man}/penstock.yaml.5 ${man}/penstockd.yaml.5
        DESTINATION ${CMAKE_INSTALL_MANDIR}/man5 COMPONENT programs)
install(FILES ${man}/penstockd.8 ${man}/penstock-worker.8 ${man}/penstock-indexer.8
        DESTINATION ${CMAKE_INSTALL_MANDIR}/man8 COMPONENT programs)

if(TARGET penstock_client)
  set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/penstock)
  set_target_properties(penstock_client PROPERTIES EXPORT_NAME client)
  target_link_options(penstock_client PRIVATE LINKER:-z,now)
  install(TARGETS penstock_client EXPORT penstockTargets
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT client
                  NAMELINK_COMPONENT development
          INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(DIRECTORY client/include/penstock DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
          COMPONENT development FILES_MATCHING PATTERN "*.h")
  install(EXPORT penstockTargets NAMESPACE penstock:: DESTINATION ${package_dir} COMPONENT
    development)
  configure_package_config_file(common/cmake/penstockConfig.cmake.in
    ${PROJECT_BINARY_DIR}/penstockConfig.cmake INSTALL_DESTINATION ${package_dir})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/penstockConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/penstockConfig.cmake
                ${PROJECT_BINARY_DIR}/penstockConfigVersion.cmake
          DESTINATION ${package_dir} COMPONENT development)

  # For builds without CMake, and for other languages.
  file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" pc_to_prefix ${pc_to_prefix})
  configure_file(common/cmake/penstock.pc.in ${PROJECT_BINARY_DIR}/penstock.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/penstock.pc COMPONENT development
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  install(DIRECTORY proto/penstock DESTINATION ${CMAKE_INSTALL_DATADIR}/penstock/proto
          COMPONENT development FILES_MATCHING PATTERN "*.proto")
endif()

penstock_install_units()
install(FILES deploy/config/penstock.yaml deploy/systemd/network.conf deploy/systemd/stores.conf
        DESTINATION ${CMAKE_INSTALL_DATADIR}/penstock COMPONENT programs)
install(FILES deploy/grafana/penstock.json deploy/grafana/alerts.yml
        DESTINATION ${CMAKE_INSTALL_DATADIR}/penstock/grafana COMPONENT programs)
# The guide for operators and users, and the runbooks.
find_program(PENSTOCK_GUIDE_PYTHON python3)
if(PENSTOCK_GUIDE_PYTHON)
  file(GLOB_RECURSE guide_pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/deploy/*.md
       ${PROJECT_SOURCE_DIR}/client/python/*.md)
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/guide/README.md
    COMMAND ${PENSTOCK_GUIDE_PYTHON} -B ${PROJECT_SOURCE_DIR}/deploy/guide.py ${PROJECT_SOURCE_DIR}
            ${PROJECT_BINARY_DIR}/guide
    DEPENDS ${PROJECT_SOURCE_DIR}/deploy/guide.py ${PROJECT_SOURCE_DIR}/README.md
            ${PROJECT_SOURCE_DIR}/SECURITY.md ${guide_pages}
    VERBATIM)
  add_custom_target(penstock_guide ALL DEPENDS ${PROJECT_BINARY_DIR}/guide/README.md)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/guide/ DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT programs)
else()
  message(STATUS "Guide: not installed, there is no python3 to write it")
endif()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT programs OPTIONAL)
