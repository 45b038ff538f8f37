# Runs when a wheel is built: copies the shared libraries that its programs need beside them, and
# their licences into licenses/. Each copy has the name by which it is loaded, because a wheel
# cannot contain links. Leaves out the libraries that every system has, and libjbig, which is under
# the GPL: the wheel has our own (server/decode/no_jbig).
set(tree ${CMAKE_INSTALL_PREFIX}/penstock)
file(GLOB programs ${tree}/bin/*)
file(GLOB decoder ${tree}/_decode*.so)

file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${programs} LIBRARIES ${tree}/lib/libpenstock.so.1
     MODULES ${decoder}
     RESOLVED_DEPENDENCIES_VAR needed UNRESOLVED_DEPENDENCIES_VAR missing
     PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|resolv|stdc\\+\\+|gcc_s)\\.so"
                         "^libjbig\\.so"
     POST_EXCLUDE_REGEXES "/ld-linux" "/libpenstock\\.so")
if(missing)
  message(FATAL_ERROR
    "the wheel needs libraries that are not found here: ${missing}; run deploy/install-deps.sh")
endif()
foreach(library IN LISTS needed)
  get_filename_component(name ${library} NAME)
  file(REAL_PATH ${library} file)
  file(COPY_FILE ${file} ${tree}/lib/${name} ONLY_IF_DIFFERENT)
  execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/../../deploy/copy-licence.sh ${file}
    ${tree}/licenses
                  COMMAND_ERROR_IS_FATAL ANY)
endforeach()
