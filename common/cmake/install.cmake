# What `cmake --install` lays down: the programs, the client library with its public headers, and the
# package that find_package(penstock) reads.
include(CMakePackageConfigHelpers)

foreach(program penstockd penstock-worker penstockctl penstock-bench)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
  endif()
endforeach()

if(TARGET penstock_client)
  set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/penstock)
  set_target_properties(penstock_client PROPERTIES EXPORT_NAME client)
  install(TARGETS penstock_client EXPORT penstockTargets
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT client
          INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(DIRECTORY client/include/penstock DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
          COMPONENT client FILES_MATCHING PATTERN "*.h")
  install(EXPORT penstockTargets NAMESPACE penstock:: DESTINATION ${package_dir} COMPONENT client)
  configure_package_config_file(common/cmake/penstockConfig.cmake.in
    ${PROJECT_BINARY_DIR}/penstockConfig.cmake INSTALL_DESTINATION ${package_dir})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/penstockConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/penstockConfig.cmake
                ${PROJECT_BINARY_DIR}/penstockConfigVersion.cmake
          DESTINATION ${package_dir} COMPONENT client)
endif()

penstock_install_units()
install(FILES deploy/config/penstock.yaml DESTINATION ${CMAKE_INSTALL_DATADIR}/penstock
        COMPONENT programs)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT programs OPTIONAL)
