// Marks a function that is known as an object only: what a program hands to a library.
#pragma once

#include <Python.h>

#include "collect/python/code_mark.h"

namespace stepscope {

// Finds the code that a call of `callable` runs: of a function (where a decorator made it, of the
// one that it was made from), a method, a functools.partial, an object with __call__. Nothing where
// there is none, or where it has a mark already. No Python code is run for it.
void mark_callable(PyObject* callable, CodeMark mark);

}  // namespace stepscope
