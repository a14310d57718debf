//! The C header.

use std::fmt::Write as _;

use rustnvlink::host;

use super::{Bindings, Kernel, identifier};

/// A header that holds everything.
pub(super) fn source(bindings: &Bindings, stem: &str, fatbin: &[u8]) -> String {
    let Bindings { kernels, maker, .. } = bindings;
    let prefix = identifier(stem);
    let guard = prefix.to_uppercase();
    let mut text = format!(
        "/* Made by {maker}; changes are lost when it runs again.\n \
         * Define {guard}_IMPLEMENTATION in one source file before including this. */\n\
         #ifndef {guard}_H\n#define {guard}_H\n\n\
         #ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n\
         /* The images, for cuModuleLoadData or cuLibraryLoadData. */\n\
         #define {guard}_IMAGE_SIZE {}\n\
         extern const unsigned long long {prefix}_image[];\n",
        fatbin.len()
    );
    for kernel in kernels {
        write_kernel(&mut text, &prefix, kernel);
    }
    let _ = write!(
        text,
        "\n#ifdef {guard}_IMPLEMENTATION\nconst unsigned long long {prefix}_image[] = {{\n"
    );
    host::write_words(&mut text, fatbin);
    text.push_str("};\n#endif\n\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    text
}

/// Macros, because C has no constants that an array size or a preprocessor may use.
fn write_kernel(text: &mut String, prefix: &str, kernel: &Kernel) {
    let function = kernel.first();
    let name = format!(
        "{}_{}",
        prefix.to_uppercase(),
        kernel.identifier.to_uppercase()
    );
    // The name could end the comment, as in `operator*/`.
    let readable = kernel.readable.replace("*/", "* /");
    let mut define = |what: &str, value: String| {
        let _ = writeln!(text, "#define {name}_{what} {value}");
    };
    define("NAME", format!("{:?} /* {readable} */", kernel.symbol));
    define("PARAMETER_COUNT", function.parameters.len().to_string());
    define("PARAMETER_BYTES", function.parameter_bytes.to_string());
    for parameter in &function.parameters {
        let ordinal = parameter.ordinal;
        define(
            &format!("PARAMETER_{ordinal}_OFFSET"),
            parameter.offset.to_string(),
        );
        define(
            &format!("PARAMETER_{ordinal}_SIZE"),
            parameter.size.to_string(),
        );
    }
    for (arch, function) in &kernel.images {
        let arch = arch.to_uppercase();
        let mut resource = |what: &str, value: Option<u64>| {
            if let Some(value) = value {
                define(&format!("{arch}_{what}"), value.to_string());
            }
        };
        resource("REGISTERS", function.registers.map(u64::from));
        resource("STACK", function.stack.minimum.map(u64::from));
        resource("SHARED", Some(function.shared));
        resource("LOCAL", Some(function.local));
        resource("BARRIERS", function.barriers.map(u64::from));
        resource(
            "MAX_THREADS",
            function
                .max_threads
                .map(|size| size.into_iter().map(u64::from).product()),
        );
    }
    text.push('\n');
}
