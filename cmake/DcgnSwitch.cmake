# Settings with three states: AUTO, ON, OFF, and CMake's other words for the latter two.

# dcgn_read_switch(<setting> <result>): <result> is AUTO, ON or OFF.
function(dcgn_read_switch setting result)
  string(TOUPPER "${${setting}}" word)
  if(word STREQUAL "AUTO")
    set(${result} AUTO PARENT_SCOPE)
  elseif(word MATCHES "^(ON|YES|TRUE|1)$")
    set(${result} ON PARENT_SCOPE)
  elseif(word MATCHES "^(OFF|NO|FALSE|0)$")
    set(${result} OFF PARENT_SCOPE)
  else()
    message(FATAL_ERROR "${setting}=${${setting}}: expected AUTO, ON or OFF")
  endif()
endfunction()
