//! Hardware facts: the processors, their families and their relocations.
