// A case that is broken for a reason of its own: check.cmake must report it.
#include "no/such/header.h"
