# For which processors the library is compiled, and the portable build, which chooses at start.
#
#   REPOSE_ARCH=native        the processor of this machine alone
#   REPOSE_ARCH=NAME          any other -march of the compiler; empty: its default
#   REPOSE_ARCH=portable      runs on every x86-64: the rooms marked KERNELS in CMakeLists.txt are compiled once more for each level below,
#                             src/methods/kernels.c takes the highest that the processor has. Elsewhere the compiler's default.
#
# All objects of a level are linked into one, in which every name is local but that of its table (rp__methods_table_LEVEL): the same
# sources, no name that a second copy would clash with, and nothing that a static library could not hold.

set(REPOSE_ARCH "native" CACHE STRING "Value of -march, or portable: kernels for several processors, chosen at start; empty for the compiler's default")

set(RP_KERNEL_LEVELS "")
if(REPOSE_ARCH STREQUAL "portable")
    set(RP_BASE_ARCH "")
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$" AND CMAKE_SIZEOF_VOID_P EQUAL 8)
        set(RP_BASE_ARCH x86-64)
        set(RP_KERNEL_LEVELS x86-64-v3 x86-64-v4)
        if(NOT CMAKE_OBJCOPY)
            message(FATAL_ERROR "REPOSE_ARCH=portable needs objcopy (binutils)")
        endif()
    endif()
else()
    set(RP_BASE_ARCH "${REPOSE_ARCH}")
endif()

# gcc 12 fills all of a 256-bit register from the first half of a constant whose second half is zero (ix86 moves of wide integers,
# seen with AVX-512). A program tells whether this compiler does for -march=ARCH; RESULT is the option that leaves out the moves from
# general to vector registers that it takes, or nothing. A processor that cannot run the program cannot tell: gcc is then given the option.
function(rp_wide_constants arch result)
    include(CheckCSourceRuns)
    include(CheckCCompilerFlag)
    string(MAKE_C_IDENTIFIER "RP_WIDE_CONSTANTS_${arch}" id)
    set(option -mtune-ctrl=^inter_unit_moves_to_vec)
    set(program [[
        typedef struct { double a, b, c, d; } four;
        __attribute__((noinline)) double sum(four v) { return v.a + v.b + v.c + v.d; }
        int main(void) { return sum((four){ 1e-200, 1e-200, 0, 0 }) != 2e-200; }]])
    set(CMAKE_REQUIRED_FLAGS "-O3")
    set(${result} "" PARENT_SCOPE)
    if(arch)
        string(APPEND CMAKE_REQUIRED_FLAGS " -march=${arch}")
    endif()
    check_c_source_runs("${program}" ${id}_WORK)
    if(${id}_WORK)
        return()
    endif()
    set(plain "${CMAKE_REQUIRED_FLAGS}")
    string(APPEND CMAKE_REQUIRED_FLAGS " ${option}")
    check_c_source_runs("${program}" ${id}_MENDED)
    if(${id}_MENDED)
        set(${result} ${option} PARENT_SCOPE)
        return()
    endif()
    if(arch IN_LIST RP_KERNEL_LEVELS) # perhaps only because this machine is a lesser one
        set(CMAKE_REQUIRED_FLAGS "${plain}")
        check_c_source_runs("#include <math.h>\nint main(int n, char **v) { double x[64]; for (int i = 0; i < 64; i++) x[i] = sqrt(n + i) * n + 1; return !v || !(x[63 - n] > 0); }" ${id}_RUNS)
        if(NOT ${id}_RUNS)
            set(CMAKE_REQUIRED_FLAGS "")
            check_c_compiler_flag(${option} RP_WIDE_CONSTANTS_OPTION)
            if(RP_WIDE_CONSTANTS_OPTION)
                set(${result} ${option} PARENT_SCOPE)
            endif()
            return()
        endif()
    endif()
    message(FATAL_ERROR "This compiler makes wrong code of wide constants for -march=${arch}: configure with -DREPOSE_ARCH=x86-64-v3, or take another compiler.")
endfunction()

# The options of the whole library, and those of each level: RP_KERNEL_OPTIONS_LEVEL.
macro(rp_architecture)
    if(RP_BASE_ARCH)
        add_compile_options(-march=${RP_BASE_ARCH})
    endif()
    if(RP_KERNEL_LEVELS)
        add_compile_options(-Wno-psabi) # vectors of four are handed between functions of one file alone, whatever the processor has
    endif()
    rp_wide_constants("${RP_BASE_ARCH}" wide)
    add_compile_options(${wide})
    foreach(level IN LISTS RP_KERNEL_LEVELS)
        rp_wide_constants(${level} wide)
        set(RP_KERNEL_OPTIONS_${level} -march=${level} ${wide})
        set(RP_KERNEL_TARGETS_${level} "" CACHE INTERNAL "")
    endforeach()
    set(definitions "RP_BASE_ARCH=\"${RP_BASE_ARCH}\"")
    if(NOT RP_BASE_ARCH)
        set(definitions "RP_BASE_ARCH=\"default\"")
    endif()
    if(RP_KERNEL_LEVELS)
        list(APPEND definitions RP_KERNELS_X86_64)
    endif()
    set_source_files_properties(src/methods/kernels.c PROPERTIES COMPILE_DEFINITIONS "${definitions}")
endmacro()

# The objects of a target once more for every level: all its sources, or those named in `kernels`.
function(rp_kernel_objects target sources definitions links kernels)
    if(NOT kernels STREQUAL "ALL")
        set(chosen "")
        foreach(f IN LISTS sources)
            get_filename_component(n ${f} NAME)
            if(n IN_LIST kernels)
                list(APPEND chosen ${f})
            endif()
        endforeach()
        set(sources "${chosen}")
    endif()
    if(NOT sources)
        return()
    endif()
    foreach(level IN LISTS RP_KERNEL_LEVELS)
        set(t kernels_${level}_${target})
        string(MAKE_C_IDENTIFIER ${level} id)
        add_library(${t} OBJECT ${sources})
        target_include_directories(${t} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
        target_compile_definitions(${t} PRIVATE RP_BUILDING RP_KERNEL_LEVEL=${id} ${definitions})
        target_compile_options(${t} PRIVATE ${RP_KERNEL_OPTIONS_${level}})
        target_link_libraries(${t} PRIVATE ${links})
        set(RP_KERNEL_TARGETS_${level} ${RP_KERNEL_TARGETS_${level}} ${t} CACHE INTERNAL "")
    endforeach()
endfunction()

# One object a level, in which only the table is seen.
function(rp_kernel_files result)
    set(files "")
    set(targets "")
    foreach(level IN LISTS RP_KERNEL_LEVELS)
        set(objects "")
        foreach(t IN LISTS RP_KERNEL_TARGETS_${level})
            list(APPEND objects $<TARGET_OBJECTS:${t}>)
        endforeach()
        string(MAKE_C_IDENTIFIER ${level} id)
        set(file ${PROJECT_BINARY_DIR}/kernels_${level}.o)
        add_custom_command(OUTPUT ${file}
            COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -o ${file}.all ${objects}
            COMMAND ${CMAKE_OBJCOPY} --keep-global-symbol=rp__methods_table_${id} ${file}.all ${file}
            COMMAND ${CMAKE_COMMAND} -E rm ${file}.all
            DEPENDS ${objects} COMMAND_EXPAND_LISTS VERBATIM COMMENT "Kernels for ${level}")
        set_source_files_properties(${file} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
        add_custom_target(kernels_${level} DEPENDS ${file}) # once for both libraries, after all its objects, with any generator
        add_dependencies(kernels_${level} ${RP_KERNEL_TARGETS_${level}})
        list(APPEND files ${file})
        list(APPEND targets kernels_${level})
    endforeach()
    set(${result} "${files}" PARENT_SCOPE)
    set(${result}_targets "${targets}" PARENT_SCOPE)
endfunction()
