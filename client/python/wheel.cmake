# What a wheel contains beside the Python files: the extensions with their stubs, the client library in
# lib/, the programs in bin/, every shared library that they need, and the libraries' licences. They
# find each other by relative paths; the client finds penstockd in ../bin.
set(programs penstockd penstock-worker penstock-indexer penstockctl)
set(extensions penstock_python penstock_python_decode)
set_target_properties(${extensions} PROPERTIES INSTALL_RPATH $ORIGIN/lib)
set_target_properties(${programs} PROPERTIES INSTALL_RPATH $ORIGIN/../lib)
install(TARGETS ${extensions} LIBRARY DESTINATION penstock COMPONENT wheel)
install(FILES ${package}/_penstock.pyi ${package}/_decode.pyi DESTINATION penstock COMPONENT wheel)
install(TARGETS ${programs} RUNTIME DESTINATION penstock/bin COMPONENT wheel)
install(TARGETS penstock_client LIBRARY DESTINATION penstock/lib COMPONENT wheel NAMELINK_SKIP)
install(TARGETS penstock_no_jbig LIBRARY DESTINATION penstock/lib COMPONENT wheel NAMELINK_SKIP)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION penstock COMPONENT wheel)
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/wheel_libraries.cmake COMPONENT wheel)
