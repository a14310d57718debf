// A source that needs its target's precompiled header, and that several targets may have.
static std::string helps = "it helps";
