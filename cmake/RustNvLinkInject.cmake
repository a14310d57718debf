# For -DCMAKE_PROJECT_INCLUDE=<this file>: a project that knows nothing of RustNvLink links its device code with it.
include("${CMAKE_CURRENT_LIST_DIR}/RustNvLinkConfig.cmake")
get_property(_rustnvlink_languages GLOBAL PROPERTY ENABLED_LANGUAGES)
if("CUDA" IN_LIST _rustnvlink_languages)
  rustnvlink_use_as_device_linker()
endif()
unset(_rustnvlink_languages)
