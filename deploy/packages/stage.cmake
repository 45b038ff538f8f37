# Runs after all components are installed in the staging folder and before they are packed. Adds
# what Debian requires in a package and a manual installation does not have. Sets all times to
# SOURCE_DATE_EPOCH, so that packing one build twice gives the same bytes.
include(${CPACK_PENSTOCK_SOURCE}/deploy/packages/names.cmake)
set(source ${CPACK_PENSTOCK_SOURCE})
set(version ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

if("$ENV{SOURCE_DATE_EPOCH}" STREQUAL "")
  string(TIMESTAMP now "%s" UTC)
  set(ENV{SOURCE_DATE_EPOCH} ${now})
endif()
execute_process(COMMAND date -u -R -d "@$ENV{SOURCE_DATE_EPOCH}" OUTPUT_VARIABLE date
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)

# Keeps a program's symbols below `symbols`, under its build ID, where debuggers and addr2line look.
function(keep_symbols program symbols)
  execute_process(COMMAND readelf --notes ${program} OUTPUT_VARIABLE notes COMMAND_ERROR_IS_FATAL ANY)
  if(NOT notes MATCHES "Build ID: ([0-9a-f][0-9a-f])([0-9a-f]+)")
    message(FATAL_ERROR "${program} has no build ID, so nothing could find its symbols; link with --build-id")
  endif()
  set(folder ${symbols}/usr/lib/debug/.build-id/${CMAKE_MATCH_1})
  file(MAKE_DIRECTORY ${folder})
  run(objcopy --only-keep-debug --compress-debug-sections ${program} ${folder}/${CMAKE_MATCH_2}.debug)
endfunction()

# Makes PACKAGE-dbgsym. cpack would change the programs after their times have been set.
function(pack_symbols package symbols)
  file(MAKE_DIRECTORY ${symbols}/usr/share/doc)
  file(CREATE_LINK ${package} ${symbols}/usr/share/doc/${package}-dbgsym SYMBOLIC)
  execute_process(COMMAND dpkg --print-architecture OUTPUT_VARIABLE architecture
                  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  file(WRITE ${symbols}/DEBIAN/control "Package: ${package}-dbgsym\nSource: penstock\nVersion: ${version}\n"
       "Auto-Built-Package: debug-symbols\nArchitecture: ${architecture}\nMaintainer: ${CPACK_PACKAGE_CONTACT}\n"
       "Section: debug\nPriority: optional\nDepends: ${package} (= ${version})\n"
       "Description: debug symbols for ${package}\n")
  run(chmod -R u=rwX,go=rX ${symbols})
  file(MAKE_DIRECTORY ${CPACK_PACKAGE_DIRECTORY}/dbgsym)
  run(dpkg-deb --root-owner-group --build ${symbols}
      ${CPACK_PACKAGE_DIRECTORY}/dbgsym/${package}-dbgsym_${version}_${architecture}.deb)
endfunction()

# zsh reserves site-functions for the administrator; packages use vendor-completions.
set(zsh ${CPACK_TEMPORARY_DIRECTORY}/tools/usr/share/zsh)
file(RENAME ${zsh}/site-functions ${zsh}/vendor-completions)

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  set(package ${package_${component}})
  set(root ${CPACK_TEMPORARY_DIRECTORY}/${component})

  set(documents ${root}/usr/share/doc/${package})
  file(COPY ${source}/deploy/packages/copyright DESTINATION ${documents})
  file(REMOVE ${documents}/LICENSE)  # copyright contains it
  file(WRITE ${documents}/changelog.Debian "penstock (${version}) stable; urgency=medium\n\n"
       "  * See changelog.gz for the changes in Penstock.\n\n -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
  configure_file(${source}/CHANGELOG.md ${documents}/changelog COPYONLY)
  run(gzip -9nf ${documents}/changelog ${documents}/changelog.Debian)

  if(EXISTS ${source}/deploy/packages/${package}/lintian-overrides)
    configure_file(${source}/deploy/packages/${package}/lintian-overrides
                   ${root}/usr/share/lintian/overrides/${package} COPYONLY)
  endif()

  file(GLOB_RECURSE pages ${root}/usr/share/man/*)
  if(pages)
    run(gzip -9nf ${pages})
  endif()

  # The libraries are where the loader looks by default, so programs need no search path.
  set(symbols ${CPACK_TEMPORARY_DIRECTORY}/../${package}-dbgsym)
  file(REMOVE_RECURSE ${symbols})
  file(GLOB_RECURSE programs LIST_DIRECTORIES false ${root}/usr/bin/* ${root}/usr/lib/*.so*)
  foreach(program IN LISTS programs)
    if(NOT IS_SYMLINK ${program})
      file(RPATH_REMOVE FILE ${program})
      keep_symbols(${program} ${symbols})
      run(strip --strip-unneeded --remove-section=.comment --remove-section=.note ${program})
    endif()
  endforeach()
  if(EXISTS ${symbols})
    pack_symbols(${package} ${symbols})
  endif()
endforeach()

# Lets Python's tools find the package.
if(CPACK_COMPONENTS_ALL MATCHES python)
  set(modules ${CPACK_TEMPORARY_DIRECTORY}/python/usr/lib/python3/dist-packages)
  file(WRITE ${modules}/penstock-${CPACK_PACKAGE_VERSION}.dist-info/METADATA
       "Metadata-Version: 2.1\nName: penstock\nVersion: ${CPACK_PACKAGE_VERSION}\nRequires-Dist: numpy\n")
  file(WRITE ${modules}/penstock-${CPACK_PACKAGE_VERSION}.dist-info/INSTALLER "dpkg\n")
endif()

set(configuration ${CPACK_TEMPORARY_DIRECTORY}/programs/etc/penstock)
file(COPY ${source}/deploy/packages/penstock/penstock.yaml DESTINATION ${configuration})

# The usual modes of files in packages, whatever the builder's umask.
run(chmod -R u=rwX,go=rX ${CPACK_TEMPORARY_DIRECTORY})
run(find ${CPACK_TEMPORARY_DIRECTORY}
  -exec touch --no-dereference --date=@$ENV{SOURCE_DATE_EPOCH} {} +)
