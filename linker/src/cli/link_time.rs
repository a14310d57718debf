//! Link-time optimization: LTO-IR becomes PTX in NVIDIA's library, and PTX an
//! image in NVIDIA's assembler.
//!
//! Where all device code is LTO-IR, the PTX is the whole program, and nothing
//! is left to link, unless it uses what it does not define. Where there is
//! machine code beside it, the library links that, too: it has no way to
//! compile a part of a program for another linker.

use cudalink_jitlink::{Input, Kind, Library, Output};

use super::fatal;
use super::lower::{LinkTime, Request};
use crate::arch::Sm;
use crate::arch::reserved::is_provided_by_driver;
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::inputs::ptx::{Product, Ptxas, Source};
use crate::inputs::{Environment, Loaded};
use crate::options::{ImageKind, KernelFilter};

/// The name of what comes of LTO-IR in messages.
pub(super) const OBJECT: &str = "lto.cubin";

/// What was made.
#[derive(Debug)]
pub(super) enum Made {
    /// What the user asked for.
    Output(Vec<u8>),
    /// The only object of a link that is still to be done.
    Object(Vec<u8>),
}

/// Makes an image, or PTX if that is asked for. What the tools say goes to
/// `diagnostics`.
pub(super) fn link(
    request: &Request,
    settings: &LinkTime,
    target: Sm,
    loaded: &Loaded<'_>,
    environment: &Environment,
    diagnostics: &mut Diagnostics,
) -> Result<Made, Diagnostic> {
    let is_whole = loaded.images.is_empty();
    if request.image != ImageKind::Executable {
        return Err(fatal(
            "unsupported-option",
            "LTO-IR cannot be part of a relocatable link; compile without -dlto for that",
        ));
    }
    if settings.emit_ptx && !is_whole {
        let text = format!(
            "there is no PTX of machine code, which '{}' holds",
            loaded.images[0].name
        );
        return Err(fatal("partial-lto", text));
    }
    let path = match &settings.library {
        Some(path) => environment.folder.join(path),
        None => (environment.find_jitlink)().map_err(|why| {
            let name = &loaded.intermediates[0].name;
            let text =
                format!("'{name}' has LTO-IR, and libnvJitLink, which compiles it, is not there");
            fatal("missing-nvjitlink", text).with_detail(why)
        })?,
    };
    let failed = |error: cudalink_jitlink::Error| fatal("lto-failed", error.to_string());
    let library = Library::open(&path).map_err(failed)?;
    let intermediates = loaded.intermediates.iter().map(|one| Input {
        kind: one.kind,
        name: &one.name,
        data: one.data,
    });
    let images = loaded.images.iter().map(|image| Input {
        kind: Kind::Cubin,
        name: &image.name,
        data: &image.data,
    });
    let inputs: Vec<Input<'_>> = intermediates.chain(images).collect();
    let output = if is_whole { Output::Ptx } else { Output::Cubin };
    let options = options(settings, target, &loaded.kernels, output, request);
    let linked = library.link(&options, &inputs, output).map_err(failed)?;
    if !linked.log.is_empty() {
        let note = Diagnostic::new(Severity::Info, "lto-log", linked.log);
        diagnostics.push(note);
    }
    if !is_whole || settings.emit_ptx {
        return Ok(Made::Output(linked.data));
    }
    let assembler = &request.assembler;
    let ptxas = Ptxas::find(assembler, target, request.behaviour, environment);
    let ptxas = ptxas.map_err(|why| {
        fatal("missing-ptxas", "ptxas, which compiles PTX, is not there").with_detail(why)
    })?;
    let product = match needs_others(&linked.data) {
        true => Product::Object,
        false => Product::Program,
    };
    let source = Source {
        name: OBJECT.to_owned(),
        text: linked.data.into(),
        options: Vec::new(),
    };
    let mut image = Err(fatal("ptxas-failed", "ptxas made nothing"));
    for assembled in ptxas.assemble(&[source], product) {
        let printed = assembled.printed.trim_end();
        if !printed.is_empty() {
            diagnostics.push(Diagnostic::text(printed.to_owned()));
        }
        image = assembled.product;
    }
    match product {
        Product::Object => image.map(Made::Object),
        Product::Program => image.map(Made::Output),
    }
}

/// Whether a program uses functions or variables that neither it nor the
/// driver defines.
fn needs_others(ptx: &[u8]) -> bool {
    let text = String::from_utf8_lossy(ptx);
    text.lines().any(|line| {
        let Some(declared) = line.trim_start().strip_prefix(".extern ") else {
            return false;
        };
        match declared.trim_start().strip_prefix(".func") {
            Some(function) => !is_provided_by_driver(function_name(function)),
            // Its size is chosen at launch.
            None => !declared.starts_with(".shared"),
        }
    })
}

/// The name in a declaration, behind what the function returns.
fn function_name(declaration: &str) -> &str {
    let rest = declaration.trim_start();
    let rest = match rest.strip_prefix('(') {
        Some(result) => result.split_once(')').map_or("", |(_, rest)| rest),
        None => rest,
    };
    let rest = rest.trim_start();
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$');
    rest.split(|c| !is_part(c)).next().unwrap_or_default()
}

fn options(
    settings: &LinkTime,
    target: Sm,
    kernels: &KernelFilter,
    output: Output,
    request: &Request,
) -> Vec<String> {
    let mut options = vec![format!("-arch={target}"), "-lto".to_owned()];
    match output {
        Output::Ptx => options.push("-ptx".to_owned()),
        Output::Cubin => {
            let assembler = request.assembler.arguments.iter();
            options.extend(assembler.map(|argument| format!("-Xptxas={argument}")));
        }
    }
    options.extend(settings.options.iter().cloned());
    // The library keeps kernels by parts of their names: of a pattern, the
    // longest part that holds for every match.
    let parts: Vec<&str> = match kernels {
        KernelFilter::All => Vec::new(),
        KernelFilter::Containing(parts) => parts.iter().map(String::as_str).collect(),
        KernelFilter::Matching(patterns) => patterns
            .iter()
            .filter_map(|pattern| pattern.split('*').max_by_key(|part| part.len()))
            .collect(),
    };
    if !parts.is_empty() {
        options.push(format!("-kernels-used={}", parts.join(",")));
    }
    options
}

#[cfg(test)]
mod tests {
    use super::needs_others;

    #[test]
    fn declarations_of_the_driver_need_no_others() {
        let check =
            |ptx: &str, expected| assert_eq!(needs_others(ptx.as_bytes()), expected, "{ptx}");
        check(".version 9.0\n.visible .func f() { ret; }", false);
        check(
            ".extern .func  (.param .b32 func_retval0) vprintf\n(",
            false,
        );
        check(".extern .func  (.param .b32 func_retval0) _Z1fi\n(", true);
        check(".extern .func g();", true);
        check(".extern .shared .align 4 .b8 s[];", false);
        check("\t.extern .global .align 4 .u32 v;", true);
    }
}
