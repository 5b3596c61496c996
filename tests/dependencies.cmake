# What the tests need.

if(DCGN_BUILD_TESTS)
  find_package(GTest QUIET)
  if(GTest_FOUND)
    dcgn_note(tests on "GoogleTest ${GTest_VERSION}")
  else()
    dcgn_note(tests off "GoogleTest not found; scripts/install-packages test")
    set(DCGN_BUILD_TESTS OFF)
  endif()
else()
  dcgn_note(tests off "-DDCGN_BUILD_TESTS=ON")
endif()
