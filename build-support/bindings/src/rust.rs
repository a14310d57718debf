//! The Rust module.

use std::fmt::Write as _;

use super::{Bindings, Kernel};

const TYPES: &str = "
/// A kernel of [`IMAGE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, unreachable_pub)]
pub struct Kernel {
    /// The name by which the driver finds it.
    pub name: &'static str,
    /// Its parameters in their order.
    pub parameters: &'static [Parameter],
    /// The size of all parameters in bytes, with padding.
    pub parameter_bytes: u64,
    /// What it needs, by processor.
    pub resources: &'static [Resources],
}

/// A parameter; sizes are in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, unreachable_pub)]
pub struct Parameter {
    /// Where it lies among the parameters.
    pub offset: u32,
    /// Its size.
    pub size: u32,
}

/// What a kernel needs on one processor; sizes are in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, unreachable_pub)]
pub struct Resources {
    /// The processor.
    pub arch: &'static str,
    /// Registers of a thread.
    pub registers: u32,
    /// Stack of a thread; unknown with recursion.
    pub stack: Option<u32>,
    /// Static shared memory of a block.
    pub shared: u64,
    /// Local memory of a thread.
    pub local: u64,
    /// Barriers of a block.
    pub barriers: u32,
    /// The largest block it was compiled for.
    pub max_threads: Option<[u32; 3]>,
}
";

/// A module for the image `STEM.fatbin` beside it. Programs that use a part of it get no warnings.
pub(super) fn source(bindings: &Bindings, stem: &str, size: usize) -> String {
    let Bindings {
        archs,
        kernels,
        maker,
    } = bindings;
    let mut text = format!(
        "// Made by {maker}; changes are lost when it runs again.\n\n\
         #[repr(C, align(16))]\nstruct Aligned<T>(T);\n\n",
    );
    let _ = write!(
        text,
        "static ALIGNED: Aligned<[u8; {size}]> = Aligned(*include_bytes!({:?}));\n\n\
         /// The images, as the driver loads them.\n\
         #[allow(dead_code, unreachable_pub)]\n\
         pub static IMAGE: &[u8] = &ALIGNED.0;\n\n\
         /// The processors there are images for.\n\
         #[allow(dead_code, unreachable_pub)]\n\
         pub const ARCHS: &[&str] = &{archs:?};\n",
        format!("{stem}.fatbin"),
    );
    text.push_str(TYPES);
    text.push_str("\n/// Every kernel.\n#[allow(dead_code, unreachable_pub)]\npub const KERNELS: &[Kernel] = &[");
    for kernel in kernels {
        let _ = write!(text, "\n    kernels::{},", constant(kernel));
    }
    if !kernels.is_empty() {
        text.push('\n');
    }
    text.push_str("];\n\n/// The kernels by name.\n#[allow(dead_code, unreachable_pub, clippy::module_inception)]\npub mod kernels {\n");
    // What is not used would be warned of.
    let has_parameters = kernels
        .iter()
        .any(|kernel| !kernel.first().parameters.is_empty());
    text.push_str(match (kernels.is_empty(), has_parameters) {
        (true, _) => "",
        (false, true) => "    use super::{Kernel, Parameter, Resources};\n",
        (false, false) => "    use super::{Kernel, Resources};\n",
    });
    for kernel in kernels {
        write_kernel(&mut text, kernel);
    }
    text.push_str("}\n");
    text
}

fn constant(kernel: &Kernel) -> String {
    kernel.identifier.to_uppercase()
}

fn write_kernel(text: &mut String, kernel: &Kernel) {
    let function = kernel.first();
    let _ = write!(
        text,
        "\n    /// `{}`\n    pub const {}: Kernel = Kernel {{\n        name: {:?},\n        \
         parameters: &[",
        kernel.readable,
        constant(kernel),
        kernel.symbol,
    );
    for parameter in &function.parameters {
        let _ = write!(
            text,
            "\n            Parameter {{ offset: {}, size: {} }},",
            parameter.offset, parameter.size
        );
    }
    if !function.parameters.is_empty() {
        text.push_str("\n        ");
    }
    let _ = write!(
        text,
        "],\n        parameter_bytes: {},\n        resources: &[",
        function.parameter_bytes
    );
    for (arch, function) in &kernel.images {
        let _ = write!(
            text,
            "\n            Resources {{\n                arch: {arch:?},\n                \
             registers: {},\n                stack: {:?},\n                shared: {},\n                \
             local: {},\n                barriers: {},\n                max_threads: {:?},\n            }},",
            function.registers.unwrap_or(0),
            function.stack.minimum,
            function.shared,
            function.local,
            function.barriers.unwrap_or(0),
            function.max_threads,
        );
    }
    text.push_str("\n        ],\n    };\n");
}
