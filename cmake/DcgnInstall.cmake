# Install and export: find_package(dcgn) gives dcgn::dcgn.

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/dcgn)

install(TARGETS dcgn EXPORT dcgn FILE_SET HEADERS FILE_SET inline_headers)
install(TARGETS dcgn_device EXPORT dcgn) # its headers are the library's
if(TARGET dcgn_pixels)
  install(TARGETS dcgn_pixels EXPORT dcgn) # its headers are among those
endif()
install(FILES ${PROJECT_SOURCE_DIR}/include/dcgn/mpiglut.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dcgn)
install(EXPORT dcgn NAMESPACE dcgn:: FILE dcgnTargets.cmake DESTINATION ${package_dir})
if(TARGET dcgn_command)
  install(TARGETS dcgn_command)
endif()

# A static library leaves it to its user to link what it needs.
get_target_property(library_type dcgn TYPE)
set(dcgn_static_dependencies "")
if(library_type STREQUAL "STATIC_LIBRARY")
  string(APPEND dcgn_static_dependencies "find_dependency(Boost 1.74 CONFIG COMPONENTS context)\n")
  if(dcgn_has_cuda)
    string(APPEND dcgn_static_dependencies "find_dependency(CUDAToolkit)\n")
  endif()
endif()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/dcgnConfig.cmake.in ${PROJECT_BINARY_DIR}/dcgnConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/dcgnConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/dcgnConfig.cmake ${PROJECT_BINARY_DIR}/dcgnConfigVersion.cmake
        DESTINATION ${package_dir})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
