# PENSTOCK_SYSTEMD=AUTO|ON|OFF: whether penstockd talks to systemd through libsystemd, and whether
# its units are installed. Sets PENSTOCK_HAS_SYSTEMD.
#
# All paths are below the install prefix, so that an installation never writes outside it; systemd
# searches /usr and /usr/local. To change them, set PENSTOCK_SYSTEMD_DIR (units),
# PENSTOCK_SYSUSERS_DIR, PENSTOCK_TMPFILES_DIR.
set(PENSTOCK_SYSTEMD "AUTO" CACHE STRING
  "Speak to systemd, install units: AUTO (if libsystemd is found), ON, OFF")
set_property(CACHE PENSTOCK_SYSTEMD PROPERTY STRINGS AUTO ON OFF)
if(NOT PENSTOCK_SYSTEMD MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "PENSTOCK_SYSTEMD is '${PENSTOCK_SYSTEMD}'; give it AUTO, ON or OFF")
endif()
set(PENSTOCK_SYSTEMD_DIR lib/systemd CACHE STRING "Where system/ and user/ get their units")
set(PENSTOCK_SYSUSERS_DIR lib/sysusers.d CACHE STRING "Where systemd-sysusers looks")
set(PENSTOCK_TMPFILES_DIR lib/tmpfiles.d CACHE STRING "Where systemd-tmpfiles looks")

set(PENSTOCK_HAS_SYSTEMD OFF)
if(NOT PENSTOCK_SYSTEMD STREQUAL "OFF")
  pkg_check_modules(SYSTEMD QUIET IMPORTED_TARGET libsystemd)
  set(PENSTOCK_HAS_SYSTEMD ${SYSTEMD_FOUND})
endif()
if(PENSTOCK_HAS_SYSTEMD)
  message(STATUS "systemd: ${SYSTEMD_VERSION}")
elseif(PENSTOCK_SYSTEMD STREQUAL "ON")
  message(FATAL_ERROR
    "PENSTOCK_SYSTEMD=ON, but pkg-config finds no libsystemd; install libsystemd-dev")
else()
  message(STATUS "systemd: off (PENSTOCK_SYSTEMD=${PENSTOCK_SYSTEMD}); penstockd does not notify a "
          "service manager, and no units are installed")
endif()

function(penstock_install_units)
  if(NOT PENSTOCK_HAS_SYSTEMD)
    return()
  endif()
  set(units ${PROJECT_SOURCE_DIR}/deploy/systemd)
  install(FILES ${units}/penstockd.service DESTINATION ${PENSTOCK_SYSTEMD_DIR}/system
          COMPONENT programs)
  install(PROGRAMS ${units}/preflight ${units}/backtrace DESTINATION libexec/penstock
          COMPONENT programs)
  install(FILES ${units}/user/penstockd.service DESTINATION ${PENSTOCK_SYSTEMD_DIR}/user
          COMPONENT programs)
  install(FILES ${units}/sysusers.d/penstock.conf DESTINATION ${PENSTOCK_SYSUSERS_DIR}
          COMPONENT programs)
  install(FILES ${units}/tmpfiles.d/penstock.conf DESTINATION ${PENSTOCK_TMPFILES_DIR}
          COMPONENT programs)
endfunction()
