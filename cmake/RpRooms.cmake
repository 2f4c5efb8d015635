# How a folder of src/ becomes part of librepose.
#
#   name.c        compiled once
#   name_dim.c    compiled for RP_DIM = 2 and 3     (exported names end in _2d, _3d)
#   name_cone.c   compiled for RP_CONE = 2, 3 and 6 (exported names end in _c2, _c3, _c6)
#   name_kernel*.c as above, whichever suffix follows; kernels allocate nothing
#   test_*.c      a cmocka test program of its own, linked with the static library
#   fuzz_*.c      a libFuzzer program, built when REPOSE_FUZZ is on
#   name.cpp      the thin shims for formats without a C library

set(RP_ROOMS "" CACHE INTERNAL "")
set(RP_OBJECTS "" CACHE INTERNAL "")
set(RP_LINKS "" CACHE INTERNAL "")

function(rp__objects target room sources definitions links)
    add_library(${target} OBJECT ${sources})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
    target_compile_definitions(${target} PRIVATE RP_BUILDING ${definitions})
    target_link_libraries(${target} PRIVATE ${links})
    if(REPOSE_FUZZ)
        target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link) # the fuzzers see which branches they reach
        if(room MATCHES "^(grid|particles|transfer|nonsmooth|elastoplastic)$")
            # clang needs minutes for one of their kernels with this sanitizer; the tests have it, compiled by gcc
            target_compile_options(${target} PRIVATE -fno-sanitize=undefined)
        endif()
    endif()
    set(RP_OBJECTS ${RP_OBJECTS} $<TARGET_OBJECTS:${target}> CACHE INTERNAL "")
endfunction()

function(rp_room room)
    cmake_parse_arguments(A "" "" "LINK" ${ARGN})
    file(GLOB all CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${room}/*.c ${PROJECT_SOURCE_DIR}/src/${room}/*.cpp)
    set(plain "")
    set(dims "")
    set(cones "")
    foreach(f IN LISTS all)
        get_filename_component(n ${f} NAME)
        if(n MATCHES "^(test_|fuzz_)")
        elseif(n MATCHES "_dim\\.c$")
            list(APPEND dims ${f})
        elseif(n MATCHES "_cone\\.c$")
            list(APPEND cones ${f})
        else()
            list(APPEND plain ${f})
        endif()
    endforeach()
    if(plain)
        rp__objects(rp_${room} ${room} "${plain}" "" "${A_LINK}")
    endif()
    if(dims)
        foreach(d 2 3)
            rp__objects(rp_${room}_${d}d ${room} "${dims}" "RP_DIM=${d}" "${A_LINK}")
        endforeach()
    endif()
    if(cones)
        foreach(d 2 3 6)
            rp__objects(rp_${room}_c${d} ${room} "${cones}" "RP_CONE=${d}" "${A_LINK}")
        endforeach()
    endif()
    set(RP_ROOMS ${RP_ROOMS} ${room} CACHE INTERNAL "")
    set(RP_LINKS ${RP_LINKS} ${A_LINK} CACHE INTERNAL "")
endfunction()

function(rp_library)
    list(REMOVE_DUPLICATES RP_LINKS)
    add_library(repose SHARED ${RP_OBJECTS})
    add_library(repose_static STATIC ${RP_OBJECTS})
    set_target_properties(repose_static PROPERTIES OUTPUT_NAME repose) # librepose.a beside librepose.so
    set_target_properties(repose PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
    foreach(t repose repose_static)
        set_target_properties(${t} PROPERTIES LINKER_LANGUAGE CXX)
        target_include_directories(${t} PUBLIC
            $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
        target_link_libraries(${t} PRIVATE ${RP_LINKS} ${MATH_LIBRARY})
    endforeach()
endfunction()

# A cmocka program: rp_test(name source...) links the static library, so that it sees what rooms hide.
function(rp_test name)
    cmake_parse_arguments(A "" "TIMEOUT" "SOURCES;DEFINITIONS" ${ARGN})
    add_executable(${name} ${A_SOURCES})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/tests)
    target_compile_definitions(${name} PRIVATE RP_SOURCE_DIR="${PROJECT_SOURCE_DIR}" ${A_DEFINITIONS})
    target_link_libraries(${name} PRIVATE repose_static cmocka ${RP_LINKS} ${MATH_LIBRARY})
    add_test(NAME ${name} COMMAND ${name})
    if(NOT A_TIMEOUT)
        set(A_TIMEOUT 900) # only to end what hangs: machines may be slow or busy
    endif()
    if(REPOSE_SANITIZE)
        math(EXPR A_TIMEOUT "2 * ${A_TIMEOUT}")
    endif()
    rp_test_environment(environment)
    set_tests_properties(${name} PROPERTIES TIMEOUT ${A_TIMEOUT} SKIP_RETURN_CODE 77 ENVIRONMENT "${environment}")
endfunction()

# What a test finds in its environment: the options of the sanitizers. Waiting threads yield, as tests use more than there are cores.
function(rp_test_environment result)
    set(${result}
        "OMP_WAIT_POLICY=passive"
        "TSAN_OPTIONS=ignore_noninstrumented_modules=1 halt_on_error=1 suppressions=${PROJECT_SOURCE_DIR}/tools/tsan.supp"
        "UBSAN_OPTIONS=print_stacktrace=1" PARENT_SCOPE)
endfunction()

# A libFuzzer program fuzz/fuzz_NAME from its file and what else it is made of.
function(rp_fuzzer file)
    get_filename_component(n ${file} NAME_WE)
    add_executable(${n} ${file} ${ARGN})
    target_include_directories(${n} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
    target_compile_definitions(${n} PRIVATE RP_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    target_compile_options(${n} PRIVATE -fsanitize=fuzzer)
    target_link_options(${n} PRIVATE -fsanitize=fuzzer)
    set_target_properties(${n} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
    add_dependencies(fuzzers ${n})
    target_link_libraries(${n} PRIVATE repose_static ${RP_LINKS} ${MATH_LIBRARY})
endfunction()

# Tests and fuzzers beside the code. The target "fuzzers" builds the latter.
function(rp_room_tests)
    if(REPOSE_FUZZ)
        add_custom_target(fuzzers)
    endif()
    foreach(room IN LISTS RP_ROOMS)
        file(GLOB tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${room}/test_*.c)
        foreach(f IN LISTS tests)
            get_filename_component(n ${f} NAME_WE)
            string(REGEX REPLACE "^test_" "" short ${n})
            rp_test(${room}_${short} SOURCES ${f})
        endforeach()
        if(REPOSE_FUZZ)
            file(GLOB fuzzers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${room}/fuzz_*.c)
            foreach(f IN LISTS fuzzers)
                rp_fuzzer(${f})
            endforeach()
        endif()
    endforeach()
endfunction()

function(rp_install)
    install(TARGETS repose EXPORT repose-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    # For those who link it whole; what it needs is in repose.pc (pkg-config --static). No CMake target: its dependencies are not exported.
    install(FILES $<TARGET_FILE:repose_static> DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(DIRECTORY include/repose DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
    install(DIRECTORY scenes/ DESTINATION ${CMAKE_INSTALL_DATADIR}/repose/scenes)
    install(EXPORT repose-targets NAMESPACE repose:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/repose)
    include(CMakePackageConfigHelpers)
    configure_package_config_file(cmake/repose-config.cmake.in ${PROJECT_BINARY_DIR}/repose-config.cmake
        INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/repose)
    write_basic_package_version_file(${PROJECT_BINARY_DIR}/repose-config-version.cmake COMPATIBILITY SameMinorVersion)
    install(FILES ${PROJECT_BINARY_DIR}/repose-config.cmake ${PROJECT_BINARY_DIR}/repose-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/repose)
    file(RELATIVE_PATH RP_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /) # the folder may be moved as a whole
    configure_file(cmake/repose.pc.in ${PROJECT_BINARY_DIR}/repose.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/repose.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

function(rp_summary)
    message(STATUS "repose ${PROJECT_VERSION}: ${CMAKE_BUILD_TYPE}, ${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}, -march=${REPOSE_ARCH}")
    message(STATUS "repose uses OpenMP ${OpenMP_C_VERSION}, SUNDIALS ${SUNDIALS_VERSION}, libfyaml ${FYAML_VERSION}, Lua ${LUA_VERSION}, HDF5 ${HDF5_VERSION}, assimp ${ASSIMP_VERSION}, Embree ${embree_VERSION}, libpng ${PNG_VERSION_STRING}")
    if(REPOSE_SANITIZE)
        message(STATUS "repose sanitizers: ${REPOSE_SANITIZE}")
    endif()
endfunction()

# gcc 12 fills all of a 256-bit register from the first half of a constant whose second half is zero (ix86 moves of wide integers,
# seen with AVX-512). A program tells whether this compiler does; the moves from general to vector registers that it takes are then left out.
function(rp_check_wide_constants)
    include(CheckCSourceRuns)
    set(program [[
        typedef struct { double a, b, c, d; } four;
        __attribute__((noinline)) double sum(four v) { return v.a + v.b + v.c + v.d; }
        int main(void) { return sum((four){ 1e-200, 1e-200, 0, 0 }) != 2e-200; }]])
    set(CMAKE_REQUIRED_FLAGS "-O3")
    if(REPOSE_ARCH)
        string(APPEND CMAKE_REQUIRED_FLAGS " -march=${REPOSE_ARCH}")
    endif()
    check_c_source_runs("${program}" RP_WIDE_CONSTANTS_WORK)
    if(RP_WIDE_CONSTANTS_WORK)
        return()
    endif()
    string(APPEND CMAKE_REQUIRED_FLAGS " -mtune-ctrl=^inter_unit_moves_to_vec")
    check_c_source_runs("${program}" RP_WIDE_CONSTANTS_MENDED)
    if(NOT RP_WIDE_CONSTANTS_MENDED)
        message(FATAL_ERROR "This compiler makes wrong code of wide constants for -march=${REPOSE_ARCH}: configure with -DREPOSE_ARCH=x86-64-v3, or take another compiler.")
    endif()
    add_compile_options(-mtune-ctrl=^inter_unit_moves_to_vec)
endfunction()
