//! Pieces of PTX.

use std::fmt::Write as _;

/// What every file begins with.
pub(crate) fn head(arch: &str) -> String {
    format!(".version 9.0\n.target {arch}\n.address_size 64\n")
}

/// How the functions of all shapes look: `int f(int)`.
const SIGNATURE: &str = "(.param .b32 result)";

/// A function that another file defines.
pub(crate) fn extern_function(name: &str) -> String {
    format!(".extern .func {SIGNATURE} {name} (.param .b32 argument);\n")
}

/// A function that this file defines further down.
pub(crate) fn forward(linking: &str, name: &str) -> String {
    format!("{linking} .func {SIGNATURE} {name} (.param .b32 argument);\n")
}

/// A variable, defined here or in another file.
pub(crate) fn global_variable(name: &str, is_defined: bool) -> String {
    match is_defined {
        true => format!(".visible .global .align 4 .u32 {name} = 1;\n"),
        false => format!(".extern .global .align 4 .u32 {name};\n"),
    }
}

/// A function or kernel in the making. `%x` holds its value.
pub(crate) struct Body {
    text: String,
    calls: usize,
}

impl Body {
    pub(crate) fn new() -> Self {
        Self {
            text: String::new(),
            calls: 0,
        }
    }

    fn call_with(mut self, setup: &str, target: &str, rest: &str) -> Self {
        self.calls += 1;
        write!(
            self.text,
            "  {{ .param .b32 a; .param .b32 r; st.param.b32 [a], %x; {setup}\n    \
             call (r), {target}, (a){rest}; ld.param.b32 %x, [r]; }}\n"
        )
        .expect("strings take all text");
        self
    }

    /// Calls a function with the value.
    pub(crate) fn call(self, name: &str) -> Self {
        self.call_with("", name, "")
    }

    /// Calls one of a table of functions.
    pub(crate) fn call_entry_of(self, table: &str) -> Self {
        let prototype = format!("prototype_{}", self.calls);
        let setup = format!(
            "cvt.u64.u32 %p, %x; shl.b64 %p, %p, 3; mov.u64 %q, {table}; add.u64 %p, %p, %q; \
             ld.global.u64 %p, [%p];\n    \
             {prototype}: .callprototype (.param .b32 _) _ (.param .b32 _);"
        );
        self.call_with(&setup, "%p", &format!(", {prototype}"))
    }

    /// Adds a variable of shared memory to the value.
    pub(crate) fn add_shared(mut self, name: &str) -> Self {
        writeln!(
            self.text,
            "  ld.shared.u32 %y, [{name}]; add.u32 %x, %x, %y;"
        )
        .expect("strings take all text");
        self
    }

    /// Adds a variable of global memory to the value.
    pub(crate) fn add_global(mut self, name: &str) -> Self {
        writeln!(
            self.text,
            "  ld.global.u32 %y, [{name}]; add.u32 %x, %x, %y;"
        )
        .expect("strings take all text");
        self
    }

    /// Something to compute, different for every number.
    pub(crate) fn compute(mut self, number: usize) -> Self {
        writeln!(
            self.text,
            "  mad.lo.u32 %x, %x, {}, {}; xor.b32 %x, %x, {};",
            number * 2 + 3,
            number + 7,
            number * 5 + 1
        )
        .expect("strings take all text");
        self
    }

    /// `int name(int)`.
    pub(crate) fn function(self, linking: &str, name: &str) -> String {
        format!(
            "{linking} .func {SIGNATURE} {name} (.param .b32 argument) {{\n  \
             .reg .b32 %x, %y; .reg .b64 %p, %q;\n  \
             ld.param.b32 %x, [argument];\n{}  \
             st.param.b32 [result], %x; ret;\n}}\n",
            self.text
        )
    }

    /// `void name(int *)`.
    pub(crate) fn kernel(self, name: &str) -> String {
        format!(
            ".visible .entry {name} (.param .u64 out) {{\n  \
             .reg .b32 %x, %y; .reg .b64 %p, %q, %o;\n  \
             ld.param.u64 %o, [out]; mov.u32 %x, %tid.x;\n{}  \
             cvta.to.global.u64 %o, %o; st.global.u32 [%o], %x; ret;\n}}\n",
            self.text
        )
    }
}
