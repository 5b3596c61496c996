# How the modules register their tests. A folder is one GoogleTest program of all its *.cpp files: core/tests/message/ is
# test_message, and its tests are message.*. By name:
#   long_*.cpp     a second program, test_<folder>_long, with the label `long`: not part of `make test`
#   planted_*.cpp  programs of their own with a bug planted: see below
#   measure_*.cpp  programs that are run by hand
#   *.sh           a script, run with the path of the dcgn command as its argument
# DCGN_TEST_FILES is for core/tests/planted/run.sh: of the first kind only those that this regular expression names as
# FOLDER/NAME of FOLDER/NAME_test.cpp, and explore/.
# Labels: `gpu` for tests that run on whatever devices the machine has, one of them at a time; `cpu` for those that run
# beside each other and see no GPU, only emulated ones; `long`; and the module's name, by dcgn_label_tests().

include(GoogleTest)

# For kernels of many calls ptxas takes several times as long over its last optimisations as over all the rest: where time
# is short, tests do without those.
set(dcgn_nvcc_options "")
if(DCGN_FAST_COMPILE_TESTS AND dcgn_has_cuda AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13.0)
  set(dcgn_nvcc_options $<$<COMPILE_LANGUAGE:CUDA>:--Ofast-compile=max>)
endif()
set(properties_of_cpu "")
set(properties_of_gpu "")
if(dcgn_has_cuda)
  set(properties_of_cpu ENVIRONMENT_MODIFICATION CUDA_VISIBLE_DEVICES=set:)
  set(properties_of_gpu RESOURCE_LOCK gpus)
endif()
set(properties_of_long ${properties_of_gpu})
set(timeout 120)
if(DCGN_SANITIZE)
  set(timeout 480)
endif()

# dcgn_label_tests(<label> [COMPUTE]): all tests of the folder here and of those in it have it, besides their own. The
# host's compiler optimises little of those that compute, as emulated kernels do, and nothing of others, which saves it half
# of its time: what they test is in the libraries, and that is optimised. Under the address sanitizer nothing is: clang
# takes four times as long for -O1.
macro(dcgn_label_tests label)
  set_property(DIRECTORY APPEND PROPERTY LABELS ${label})
  set(level -O0)
  if("${ARGN}" STREQUAL "COMPUTE" AND NOT DCGN_SANITIZE MATCHES address)
    set(level -O1)
  endif()
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:${level}> $<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:-Xcompiler=-O0>)
endmacro()

# dcgn_add_test(<name> <label> [TIMEOUT <s>] [ENVIRONMENT <variable>...] [PROPERTIES <property> <value>...]
# COMMAND <argument>...)
function(dcgn_add_test name label)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "TIMEOUT" "COMMAND;ENVIRONMENT;PROPERTIES")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT ${timeout})
  endif()
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT ${arg_TIMEOUT} ${properties_of_${label}} ${arg_PROPERTIES})
  if(arg_ENVIRONMENT)
    # Open MPI's files in a folder of the test's own: two mpiruns that make the same one at once may both fail.
    list(APPEND arg_ENVIRONMENT "OMPI_MCA_orte_tmpdir_base=${CMAKE_BINARY_DIR}/ompi/${name}")
  endif()
  set_property(TEST ${name} PROPERTY ENVIRONMENT ${arg_ENVIRONMENT})
endfunction()

# dcgn_add_test_program(<name> <folder> <label> <timeout> [EACH_ALONE] [PROCESSORS <n>] [LIBRARIES <library>...]
# [DEFINITIONS <definition>...] SOURCES <source>...): PROCESSORS that a test keeps busy; EACH_ALONE is each file compiled.
function(dcgn_add_test_program name folder label limit)
  cmake_parse_arguments(PARSE_ARGV 4 arg "EACH_ALONE" "PROCESSORS" "LIBRARIES;DEFINITIONS;SOURCES")
  if(NOT arg_PROCESSORS)
    set(arg_PROCESSORS 1)
  endif()
  dcgn_add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE GTest::gtest_main ${arg_LIBRARIES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_options(${name} PRIVATE ${dcgn_nvcc_options})
  target_compile_definitions(${name} PRIVATE ${arg_DEFINITIONS})
  if(arg_EACH_ALONE)
    set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  endif()
  if(dcgn_has_cuda AND label STREQUAL gpu)
    # As one: each process that starts CUDA pays a second for it.
    dcgn_add_test(${folder} gpu TIMEOUT 1200 COMMAND ${name})
  else()
    gtest_discover_tests(
      ${name}
      TEST_PREFIX ${folder}.
      DISCOVERY_MODE PRE_TEST
      DISCOVERY_TIMEOUT 60
      PROPERTIES LABELS ${label} TIMEOUT ${limit} PROCESSORS ${arg_PROCESSORS} ${properties_of_${label}})
  endif()
  if(label STREQUAL gpu)
    set_property(GLOBAL APPEND PROPERTY dcgn_gpu_programs ${name}) # for scripts/gpu
  endif()
endfunction()

# dcgn_add_test_folder(<folder> [PATH <path>] [GPU] [EACH_ALONE] [PROCESSORS <n>]
# [LIBRARIES <library>...] [DEFINITIONS <definition>...] [EXCEPT <name>...]): the tests of ./<folder>, or of the path, but for
# <name>_test.cpp and <name>.sh. GPU are those that run on devices. They are compiled eight at a time, which halves the time
# of the compiler, unless EACH_ALONE.
function(dcgn_add_test_folder folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "GPU;EACH_ALONE" "PATH;PROCESSORS" "LIBRARIES;DEFINITIONS;EXCEPT")
  set(path ${CMAKE_CURRENT_SOURCE_DIR}/${folder})
  if(arg_PATH)
    set(path ${arg_PATH})
  endif()
  set(label cpu)
  set(each_alone "")
  if(arg_EACH_ALONE)
    set(each_alone EACH_ALONE)
  endif()
  if(arg_GPU)
    set(label gpu)
  endif()
  set(options ${each_alone} LIBRARIES ${arg_LIBRARIES} DEFINITIONS ${arg_DEFINITIONS})
  if(arg_PROCESSORS)
    list(APPEND options PROCESSORS ${arg_PROCESSORS})
  endif()
  file(GLOB scripts CONFIGURE_DEPENDS ${path}/*.sh)
  file(GLOB sources CONFIGURE_DEPENDS ${path}/*.cpp)
  foreach(name IN LISTS arg_EXCEPT)
    list(REMOVE_ITEM scripts ${path}/${name}.sh)
    list(REMOVE_ITEM sources ${path}/${name}_test.cpp)
  endforeach()
  set(long_sources ${sources})
  set(planted_sources ${sources})
  set(measure_sources ${sources})
  list(FILTER long_sources INCLUDE REGEX "/long_[^/]*$")
  list(FILTER planted_sources INCLUDE REGEX "/planted_[^/]*$")
  list(FILTER measure_sources INCLUDE REGEX "/measure_[^/]*$")
  list(FILTER sources EXCLUDE REGEX "/(long|planted|measure)_[^/]*$")
  if(DCGN_TEST_FILES)
    list(FILTER sources INCLUDE REGEX "/(${DCGN_TEST_FILES})_test\\.cpp$")
  endif()
  if(sources)
    dcgn_add_test_program(test_${folder} ${folder} ${label} ${timeout} ${options} SOURCES ${sources})
  endif()
  if(long_sources)
    dcgn_add_test_program(test_${folder}_long ${folder} long 7200 ${options} SOURCES ${long_sources})
  endif()
  # Run by hand.
  foreach(source IN LISTS measure_sources)
    cmake_path(GET source STEM name)
    dcgn_add_executable(${name} ${source})
  endforeach()
  # A planted bug: `<program> broken` has it, `<program> correct` has not, and the thread sanitizer must tell them apart.
  foreach(source IN LISTS planted_sources)
    cmake_path(GET source STEM name)
    dcgn_add_executable(${name} ${source})
    dcgn_add_test(${folder}.${name}.correct cpu PROPERTIES FAIL_REGULAR_EXPRESSION "ThreadSanitizer" COMMAND ${name} correct)
    if(DCGN_SANITIZE STREQUAL thread)
      dcgn_add_test(${folder}.${name}.broken cpu PROPERTIES PASS_REGULAR_EXPRESSION "ThreadSanitizer: data race"
                    COMMAND ${name} broken)
    endif()
  endforeach()
  if(DCGN_BUILD_TOOL)
    foreach(script IN LISTS scripts)
      cmake_path(GET script STEM name)
      dcgn_add_test(${folder}.${name} cpu COMMAND bash ${script} $<TARGET_FILE:dcgn_command>)
    endforeach()
  endif()
endfunction()

# Jobs of several processes: under each MPI that is here, and as torchrun starts them, `tcp`. Sets dcgn_launchers to those
# that there are, DCGN_MPIRUN_<launcher> to the command of each, process_timeout, and process_environment.
macro(dcgn_find_launchers)
  set(dcgn_launchers "")
  set(DCGN_MPIRUN_tcp bash ${PROJECT_SOURCE_DIR}/core/tests/process/launch.sh)
  foreach(mpi IN LISTS dcgn_mpis ITEMS tcp)
    if(NOT mpi STREQUAL tcp)
      find_program(DCGN_MPIRUN_${mpi} NAMES mpirun.${mpi} mpiexec.${mpi} mpirun mpiexec)
      mark_as_advanced(DCGN_MPIRUN_${mpi})
    endif()
    if(DCGN_MPIRUN_${mpi})
      list(APPEND dcgn_launchers ${mpi})
    endif()
  endforeach()
  set(process_environment "DCGN_EMULATED_GPUS=4" "OMPI_ALLOW_RUN_AS_ROOT=1" "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
                          "OMPI_MCA_rmaps_base_oversubscribe=1")
  # The processes have more threads than a small machine has cores, and others may be at work there, too.
  math(EXPR process_timeout "3 * ${timeout}")
endmacro()

# dcgn_add_process_test(<name> <launcher> <processes> <program> <filter> [LONG] [<wrapper>...]): after
# dcgn_find_launchers(). LONG: for `make long` alone.
function(dcgn_add_process_test name mpi count program filter)
  cmake_parse_arguments(PARSE_ARGV 5 arg LONG "" "")
  set(label cpu)
  if(arg_LONG)
    set(label long)
  endif()
  dcgn_add_test(process.${name}.${mpi}.${count} ${label} TIMEOUT ${process_timeout} PROPERTIES PROCESSORS 2
                ENVIRONMENT ${process_environment}
                COMMAND ${DCGN_MPIRUN_${mpi}} -n ${count} ${arg_UNPARSED_ARGUMENTS} $<TARGET_FILE:${program}> --gtest_filter=${filter})
endfunction()
