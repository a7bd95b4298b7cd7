# cmake -DCOMPILER=… -DINCLUDES=folder,folder -P check.cmake CASE
# A case must compile as it stands, and must not compile with SHOULD_FAIL defined. The first half is what makes the
# second mean something: a case that is broken for another reason fails it.
math(EXPR last "${CMAKE_ARGC} - 1")
set(case "${CMAKE_ARGV${last}}")
string(REPLACE "," ";-I" includes "-I${INCLUDES}")
set(compile ${COMPILER} -std=c++20 -fsyntax-only ${includes})

execute_process(COMMAND ${compile} ${case} RESULT_VARIABLE status ERROR_VARIABLE messages)
if(NOT status EQUAL 0)
  message(NOTICE "${messages}\n${case} does not compile without SHOULD_FAIL")
  message(FATAL_ERROR "a broken case")
endif()
execute_process(COMMAND ${compile} -DSHOULD_FAIL ${case} RESULT_VARIABLE status ERROR_QUIET)
if(status EQUAL 0)
  message(NOTICE "${case} compiles with SHOULD_FAIL")
  message(FATAL_ERROR "the types do not hold this mistake back")
endif()
