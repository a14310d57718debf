# For -DCMAKE_PROJECT_INCLUDE=<this file>: a project that knows nothing of RustNvLink links its device code with it.
include("${CMAKE_CURRENT_LIST_DIR}/RustNvLinkConfig.cmake")
rustnvlink_use_as_device_linker()
