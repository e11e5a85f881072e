# make install: the program, the shared library, headers, what pkg-config and
# CMake's find_package(Ferrule) need, the man page.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Ferrule)
# libMLIR lies in LLVM's own folder, where the loader does not look.
set_target_properties(ferrule_shared PROPERTIES
  EXPORT_NAME ferrule INSTALL_RPATH ${FERRULE_LLVM_DIR}/lib)
target_include_directories(ferrule_shared INTERFACE
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

install(TARGETS ferrule_shared EXPORT FerruleTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS ferrule_rt ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/ferrule DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
if(TARGET ferrule)
  set_target_properties(ferrule PROPERTIES
    INSTALL_RPATH ${FERRULE_LLVM_DIR}/lib)
  install(TARGETS ferrule RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(FILES man/ferrule.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)

install(EXPORT FerruleTargets NAMESPACE Ferrule:: DESTINATION ${package_dir})
configure_package_config_file(cmake/FerruleConfig.cmake.in
  ${generated_dir}/FerruleConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${generated_dir}/FerruleConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${generated_dir}/FerruleConfig.cmake
        ${generated_dir}/FerruleConfigVersion.cmake
        DESTINATION ${package_dir})

# Written while installing, when the prefix is known.
install(CODE "
  set(prefix \"\${CMAKE_INSTALL_PREFIX}\")
  set(libdir \"${CMAKE_INSTALL_LIBDIR}\")
  set(includedir \"${CMAKE_INSTALL_INCLUDEDIR}\")
  set(version \"${PROJECT_VERSION}\")
  set(description \"${PROJECT_DESCRIPTION}\")
  configure_file(\"${PROJECT_SOURCE_DIR}/cmake/ferrule.pc.in\"
                 \"${generated_dir}/ferrule.pc\" @ONLY)")
install(FILES ${generated_dir}/ferrule.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
