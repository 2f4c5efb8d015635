# What the library has besides its core, which needs a C library and OpenMP alone.
#
#   scripts   expressions and scripted motions       Lua
#   images    height fields from pictures            libpng
#   problems  friction problems as FCLIB files       HDF5, zlib
#   implicit  implicit steps of elastoplastic        SUNDIALS
#   files     scene files and the files of a run     libfyaml, HDF5, zlib
#   pictures  grain samples, pictures, the command   Embree, libpng (and all of the above)
#
# A file named in rp_room(… WITH component:file) is compiled when the component is there; absent_COMPONENT*.c of the room otherwise, whose
# functions refuse with a sentence that names the component. Of `files` and `pictures` it stands in for the whole rooms.

set(RP_COMPONENTS scripts images problems implicit files pictures)
set(REPOSE_COMPONENTS "all" CACHE STRING "core, or all, or core and some of: ${RP_COMPONENTS}")

foreach(c IN LISTS REPOSE_COMPONENTS)
    if(NOT c IN_LIST RP_COMPONENTS AND NOT c STREQUAL "core" AND NOT c STREQUAL "all")
        message(FATAL_ERROR "There is no component '${c}'; known are: core all ${RP_COMPONENTS}")
    endif()
endforeach()
set(RP_PRESENT "")
set(RP_MISSING "")
foreach(c IN LISTS RP_COMPONENTS)
    if("all" IN_LIST REPOSE_COMPONENTS OR c IN_LIST REPOSE_COMPONENTS)
        set(RP_HAS_${c} ON)
        list(APPEND RP_PRESENT ${c})
    else()
        set(RP_HAS_${c} OFF)
        list(APPEND RP_MISSING ${c})
    endif()
endforeach()
if(RP_HAS_pictures AND RP_MISSING)
    message(FATAL_ERROR "The component 'pictures' needs all others; missing: ${RP_MISSING}")
endif()
if(RP_HAS_files AND NOT RP_HAS_scripts)
    message(FATAL_ERROR "The component 'files' needs 'scripts': scenes have expressions")
endif()
