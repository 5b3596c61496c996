# Install and export: find_package(dcgn) gives dcgn::dcgn, and where they are built dcgn::stencil, dcgn::vgpu, dcgn::pixels.

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/dcgn)

foreach(library IN ITEMS dcgn dcgn_device dcgn_stencil dcgn_vgpu dcgn_pixels)
  if(TARGET ${library})
    install(TARGETS ${library} EXPORT dcgn FILE_SET HEADERS FILE_SET inline_headers)
  endif()
endforeach()
# These have no public headers for who links them: shared, they are there for the command.
foreach(library IN ITEMS dcgn_wall dcgn_memnet)
  if(TARGET ${library} AND BUILD_SHARED_LIBS)
    install(TARGETS ${library})
  endif()
endforeach()
if(TARGET dcgn_wall)
  install(FILES ${PROJECT_SOURCE_DIR}/wall/include/dcgn/mpiglut.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dcgn)
endif()
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
