# What a wheel holds beside the Python files: the extension with its stub, the client library and the
# programs in lib/ and bin/, and every shared library that they need. They find each other by paths
# relative to themselves; the client finds penstockd in ../bin.
set_target_properties(penstock_python PROPERTIES INSTALL_RPATH $ORIGIN/lib)
install(TARGETS penstock_python LIBRARY DESTINATION penstock COMPONENT wheel)
install(FILES ${package}/_penstock.pyi DESTINATION penstock COMPONENT wheel)
# As they are in the build tree, which can be moved.
install(PROGRAMS $<TARGET_FILE:penstockd> $<TARGET_FILE:penstock-worker> $<TARGET_FILE:penstockctl>
        DESTINATION penstock/bin COMPONENT wheel)
install(PROGRAMS $<TARGET_SONAME_FILE:penstock_client> DESTINATION penstock/lib COMPONENT wheel)
install(CODE "set(strip \"${CMAKE_STRIP}\")" COMPONENT wheel)
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/wheel_libraries.cmake COMPONENT wheel)
