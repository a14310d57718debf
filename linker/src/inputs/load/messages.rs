//! What is said of inputs, in nvlink's words where it has some.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::super::contents::what_else;
use super::super::files::Files;
use super::super::{Image, ToolError, check, host, search};
use super::{Loader, Stop};
use crate::codes::{self, Code};
use crate::container::OutOfReach;
use crate::diagnostic::{Diagnostic, Severity, some_of};
use crate::error::ParseError;

impl Loader<'_, '_> {
    pub(super) fn without_arch(&mut self, name: &str, held: &[String]) -> Result<(), Stop> {
        if !held.is_empty() && !self.wanted.is_compatible() {
            self.hints.add_lacking(name);
        }
        // Of libraries, nvlink says nothing (case `archive_without_arch`).
        if self.wanted.may_lack_arch || self.in_archive && self.wanted.is_compatible() {
            return Ok(());
        }
        let target = &self.processor.name;
        let text = format!("SM Arch ('{target}') not found in '{name}'");
        let warning =
            Diagnostic::new(Severity::Warning, codes::MISSING_ARCH_CODE, text).of_input(name);
        self.warn_with(match held {
            [] => warning,
            held => warning.with_detail(format_args!("it has code for {}", held.join(", "))),
        })
    }

    /// Whole programs are meant to be linked with the device runtime alone. nvlink says so when it merges the others.
    pub(super) fn warn_of_company(&mut self) -> Result<(), Stop> {
        if self.wanted.is_compatible() {
            return Ok(());
        }
        let company = self.company().into_iter();
        let warnings: Vec<_> = company
            .map(|index| Diagnostic::whole_program_company(&self.images[index].name))
            .collect();
        warnings
            .into_iter()
            .try_for_each(|warning| self.warn_with(warning))
    }

    /// The positions of objects that are linked together with a whole program.
    pub(super) fn company(&self) -> BTreeSet<usize> {
        if !self.images.iter().any(|image| image.is_alone) {
            return BTreeSet::new();
        }
        let is_of_runtime =
            |image: &Image<'_>| image.is_of_system_library() || self.is_runtime(&image.name);
        let is_company = |image: &Image<'_>| !image.is_alone && !is_of_runtime(image);
        let images = self.images.iter().enumerate();
        let company = images.filter(|(_, image)| is_company(image));
        company.map(|(index, _)| index).collect()
    }

    /// nvlink makes an image without code of inputs without code.
    pub(super) fn warn_of_nothing(&mut self) -> Result<(), Stop> {
        let has_code = !self.images.is_empty() || self.optimization.finished.is_some();
        if has_code || self.wanted.may_be_empty || self.wanted.is_compatible() {
            return Ok(());
        }
        let text = "no input has device code to link; the image is empty";
        self.warn_with(Diagnostic {
            detail: self.hints.linked_before(),
            ..Diagnostic::new(Severity::Warning, codes::NO_DEVICE_CODE, text)
        })
    }

    /// Libraries are looked for before any file is read.
    pub(super) fn warn_of_libraries(&mut self, files: &Files) -> Result<(), Stop> {
        for found in files.libraries(self.wanted) {
            // nvlink looks at none behind an error.
            if self.wanted.is_compatible() {
                self.stop_after_errors()?;
            }
            if let Some(warning) = found.incompatible() {
                self.warn(warning.code, warning.text)?;
            }
        }
        Ok(())
    }

    /// nvlink says nothing of libraries that are not there. Those of the host
    /// linker are none of ours, as long as nothing is missing.
    pub(super) fn missing_library(
        &mut self,
        library: &str,
        host: Option<&Path>,
    ) -> Result<(), Stop> {
        let code = codes::MISSING_LIBRARY;
        match host {
            _ if self.wanted.is_compatible() => Ok(()),
            None => {
                let text = format!("no library was found for -l{library}");
                let why = match library.contains(['/', ':']) || library.ends_with(".a") {
                    true => {
                        "-l takes the name between lib and .a; name a file by its path, without -l"
                            .to_owned()
                    }
                    false => self.searched_in_vain(library),
                };
                self.warn_with(Diagnostic::new(Severity::Warning, code, text).with_detail(why))
            }
            Some(folder) => {
                let text = format!(
                    "-l{library} was left to the host linker, which has it in '{}'; -L names \
                     folders with libraries of device code",
                    folder.display()
                );
                self.hints.add(Diagnostic::new(Severity::Info, code, text));
                Ok(())
            }
        }
    }

    /// Where a library was looked for, apart from folders that are none.
    fn searched_in_vain(&self, library: &str) -> String {
        let folders = search::folders(&self.wanted.library_paths, self.environment);
        let (there, missing): (Vec<_>, Vec<_>) =
            folders.into_iter().partition(|folder| folder.is_dir());
        let names = |folders: Vec<PathBuf>| {
            let names: Vec<String> = folders
                .iter()
                .map(|folder| folder.display().to_string())
                .collect();
            some_of(&names)
        };
        let lacking = names(there).map(|there| format!("there is no lib{library}.a in {there}"));
        let missing = names(missing).map(|missing| format!("there is no folder {missing}"));
        let both: Vec<String> = missing.into_iter().chain(lacking).collect();
        match both.is_empty() {
            true => "no folder is named by -L".to_owned(),
            false => both.join(", and "),
        }
    }

    /// Says that an input is left out, where nvlink says nothing. The link
    /// goes on, as it does after any warning.
    pub(super) fn ignored(&mut self, name: &str, why: &str) -> Result<(), Stop> {
        if self.wanted.is_compatible() {
            return Ok(());
        }
        let text = format!("'{name}' is ignored: {why}");
        self.warn_with(
            Diagnostic::new(Severity::Warning, codes::IGNORED_INPUT, text).of_input(name),
        )
    }

    /// Says that an input is left out because nvlink goes by the ends of names.
    pub(super) fn ignored_by_name(
        &mut self,
        name: &str,
        what: &str,
        end: &str,
    ) -> Result<(), Stop> {
        let why = format!("{what} is only linked from a file whose name ends in .{end}");
        self.ignored(name, &why)
    }

    /// Says why the device code of an object stays away.
    pub(super) fn out_of_reach(&mut self, name: &str, place: OutOfReach) -> Result<(), Stop> {
        let why = match place {
            OutOfReach::ClangLink => {
                "only Clang's own link understands its device code; compile it with --no-offload-new-driver"
            }
            OutOfReach::Optimizer => {
                "-flto leaves its device code to the link of host code; compile CUDA sources without it (behind others, \
                 -Xcompiler=-fno-lto for nvcc, -fno-lto for Clang)"
            }
        };
        self.ignored(name, why)
    }

    /// Says so of a file of bitcode.
    pub(super) fn bitcode(&mut self, name: &str, data: &[u8]) -> Result<(), Stop> {
        let place = OutOfReach::in_bitcode(data);
        place.map_or(Ok(()), |place| self.out_of_reach(name, place))
    }

    /// Says what ptxas printed, message by message: a line that is indented belongs
    /// to the one before it.
    pub(super) fn say_printed(&mut self, printed: &str) {
        let mut message = String::new();
        for line in printed.trim_end().lines() {
            if !line.starts_with(' ') && !message.is_empty() {
                let text = std::mem::take(&mut message);
                self.say_text(text);
            }
            if !message.is_empty() {
                message.push('\n');
            }
            message.push_str(line);
        }
        if !message.is_empty() {
            self.say_text(message);
        }
    }

    fn say_text(&mut self, text: String) {
        let text = Diagnostic::new(Severity::Text, codes::PTXAS_OUTPUT, text);
        self.diagnostics.push(text);
    }

    pub(super) fn warn(&mut self, code: Code, text: String) -> Result<(), Stop> {
        self.warn_with(Diagnostic::new(Severity::Warning, code, text))
    }

    pub(super) fn warn_with(&mut self, mut warning: Diagnostic) -> Result<(), Stop> {
        if self.wanted.warnings_are_errors && !self.diagnostics.forgets_options() {
            warning.severity = Severity::Error;
        }
        self.diagnostics.push(warning);
        Ok(())
    }

    pub(super) fn stop(&mut self, problem: Diagnostic) -> Stop {
        self.diagnostics.push(problem);
        Stop
    }

    pub(super) fn fatal(&mut self, code: Code, name: &str, text: &str) -> Stop {
        self.diagnostics.push(check::fatal(code, name, text));
        Stop
    }

    pub(super) fn damaged(&mut self, name: &str, error: ParseError) -> Stop {
        self.diagnostics.push(check::damaged(name, error));
        Stop
    }

    /// nvlink tries damaged zstd frames twice, and says so; it goes on without
    /// what it cannot read of LZ4 blocks.
    pub(super) fn compressed_badly(&mut self, name: &str, error: ParseError) -> Stop {
        let problem = Diagnostic::new(Severity::Error, codes::BAD_INPUT, "Uncompress failed");
        self.diagnostics.push(Diagnostic {
            times: 2,
            ..problem.with_detail(error.in_input(name))
        });
        self.fatal(codes::BAD_INPUT, name, "elfLink fatbinary error")
    }

    pub(super) fn unreadable(&mut self, name: &str, why: &str) -> Stop {
        let text = format!("Could not open input file '{name}'");
        self.diagnostics.push(
            Diagnostic::fatal(codes::UNREADABLE_INPUT, text)
                .with_detail(why)
                .of_input(name),
        );
        Stop
    }

    /// What `-l` finds, and nvlink stops at.
    pub(super) fn no_archive(&mut self, name: &str, is_folder: bool) -> Stop {
        if is_folder {
            let text = format!("Could not read file '{name}'");
            return self.stop(Diagnostic::fatal(codes::UNREADABLE_INPUT, text));
        }
        self.broken_archive(name, "unexpected archive format")
    }

    /// An archive, or what stands where one should, at which nvlink stops with these words.
    pub(super) fn broken_archive(&mut self, name: &str, why: &'static str) -> Stop {
        let stop = self.fatal(codes::BAD_INPUT, name, why);
        self.diagnostics.push(host::internal_error());
        stop
    }

    pub(super) fn unrecognized_ptx(&mut self, name: &str, data: &[u8]) -> Stop {
        let text = "Binary format for key='0', ident='' is not recognized";
        let what = match what_else(name, data) {
            Some(what) => format!("'{name}' {what}"),
            None => format!("'{name}' is neither PTX nor a cubin"),
        };
        self.diagnostics
            .push(Diagnostic::new(Severity::Error, codes::NOT_PTX, text).with_detail(what));
        self.fatal(codes::NOT_PTX, name, "elfLink fatbinary error")
    }

    pub(super) fn needs_ptxas(&mut self, name: &str, why: &ToolError) -> Stop {
        let target = &self.processor.name;
        let text = format!(
            "'{name}' has PTX but no machine code for {target}, and ptxas, which would compile it, \
             is not there"
        );
        self.diagnostics
            .push(Diagnostic::fatal(codes::MISSING_PTXAS, text).with_detail(why));
        Stop
    }
}
