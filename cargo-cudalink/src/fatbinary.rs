//! `cargo cudalink fatbinary`: puts linked images into a fatbin, for build systems that write the command line of
//! `fatbinary -link`.
//!
//! CMake does for Clang, in words that the `fatbinary` of CUDA 13 does not know any more: `-im=profile=sm_90,file=F`. Those
//! of every version are understood here.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use rustnvlink::arch::Sm;
use rustnvlink::cubin::File;
use rustnvlink::fatbin::{self, FatbinOptions, LinkedImage};
use rustnvlink::host;
use rustnvlink::output::{self, Clash, Named, clash};

use crate::compression::Compression;

/// Put linked images into a fatbin, from a command line for `fatbinary -link`
///
/// For build systems that write one. The options of all CUDA versions are understood that concern linked images.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  cargo cudalink fatbinary -link --create=program.fatbin -im=profile=sm_90,file=program.cubin")]
pub(crate) struct Arguments {
    /// What fatbinary would be given, such as -link --embedded-fatbin=FILE -im=profile=sm_90,file=CUBIN
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENT"
    )]
    arguments: Vec<OsString>,
}

/// Does what the command line asks for.
pub(crate) fn run(arguments: Arguments) -> Result<()> {
    let Parsed {
        images,
        options,
        outputs,
    } = Parsed::parse(arguments.arguments)?;
    let files: Vec<&PathBuf> = images.iter().map(|(_, path)| path).collect();
    let data = images.iter().map(|(sm, path)| read(*sm, path));
    let data = data.collect::<Result<Vec<_>>>()?;
    let images: Vec<LinkedImage<'_>> = images
        .iter()
        .zip(&data)
        .map(|(&(sm, _), data)| LinkedImage::new(sm, data))
        .collect();
    let fatbin = fatbin::write(&images, &options)?;
    check_outputs(&outputs, &files)?;
    for (form, path) in outputs {
        let written = match form {
            Form::File => output::write(&path, &fatbin),
            Form::Source => output::write(&path, host::embedded(&fatbin).as_bytes()),
        };
        written.with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// No image gives way to a fatbin.
fn check_outputs(outputs: &[(Form, PathBuf)], images: &[&PathBuf]) -> Result<()> {
    let named = outputs
        .iter()
        .map(|(form, path)| Named::new(form.option(), path));
    let named: Vec<Named> = named.collect();
    let images: Vec<String> = images
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    match clash(&named, &images) {
        Some(Clash { what, advice, .. }) => bail!("{what}: {advice}"),
        None => Ok(()),
    }
}

fn read(sm: Sm, path: &Path) -> Result<Vec<u8>> {
    let data = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let file = File::parse(&data);
    file.with_context(|| format!("{} is no image for {sm}", path.display()))?;
    Ok(data)
}

/// How a fatbin is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// As it is.
    File,
    /// For the source that registers it.
    Source,
}

impl Form {
    /// The option that names such an output.
    fn option(self) -> &'static str {
        match self {
            Self::File => "--create",
            Self::Source => "--embedded-fatbin",
        }
    }
}

/// What the arguments of `fatbinary -link` ask for.
#[derive(Debug)]
struct Parsed {
    images: Vec<(Sm, PathBuf)>,
    options: FatbinOptions,
    outputs: Vec<(Form, PathBuf)>,
}

impl Parsed {
    fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Self> {
        let mut parsed = Self {
            images: Vec::new(),
            options: FatbinOptions::default(),
            outputs: Vec::new(),
        };
        let mut is_linked = false;
        let mut compression = Compression::default();
        let mut arguments = arguments.into_iter().peekable();
        // As the line of a build log has it.
        arguments.next_if(|word| Path::new(word).file_stem() == Some("fatbinary".as_ref()));
        while let Some(argument) = arguments.next() {
            let argument = text(argument)?;
            let (name, value) = match argument.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (argument.as_str(), None),
            };
            let mut value = || match &value {
                Some(value) => Ok(value.clone()),
                None => {
                    let next = arguments.next();
                    text(next.with_context(|| format!("{name} needs a value"))?)
                }
            };
            match name.trim_start_matches('-') {
                "64" => {}
                "link" => is_linked = true,
                "debug" | "g" => parsed.options.debug = true,
                // It is kept beside PTX, for its compilation.
                "cmdline" => drop(value()?),
                "ident" => parsed.options.identifier = value()?,
                "create" => parsed.outputs.push((Form::File, value()?.into())),
                "embedded-fatbin" | "fatbin" => {
                    parsed.outputs.push((Form::Source, value()?.into()));
                }
                "image" | "im" | "image3" => parsed.images.push(image(&value()?)?),
                name if compression.option(name, &mut value)? => {}
                _ => bail!("'{argument}' is not understood; use fatbinary itself"),
            }
        }
        ensure!(
            is_linked,
            "only linked images are put into fatbins, which -link says; use fatbinary itself for others"
        );
        ensure!(
            !parsed.outputs.is_empty(),
            "no output is named with --embedded-fatbin or --create"
        );
        parsed.options.compression = compression.resolved(parsed.options.debug);
        Ok(parsed)
    }
}

fn text(argument: OsString) -> Result<String> {
    match argument.into_string() {
        Ok(text) => Ok(text),
        Err(argument) => bail!("'{}' is not UTF-8", argument.display()),
    }
}

/// Takes `profile=sm_90,file=F` or `kind=elf,sm=90,file=F` apart.
fn image(text: &str) -> Result<(Sm, PathBuf)> {
    let (mut processor, mut file) = (None, None);
    let malformed =
        || format!("an image is profile=sm_N,file=FILE or kind=elf,sm=N,file=FILE, not '{text}'");
    for field in text.split(',') {
        match field.split_once('=').with_context(malformed)? {
            ("profile", profile) => processor = Some(profile.to_owned()),
            ("sm", number) => processor = Some(format!("sm_{number}")),
            ("kind", "elf") => {}
            ("file", path) => file = Some(PathBuf::from(path)),
            _ => bail!(malformed()),
        }
    }
    let sm = Sm::known(&processor.with_context(malformed)?).with_context(malformed)?;
    Ok((sm, file.with_context(malformed)?))
}

#[cfg(test)]
mod tests {
    use rustnvlink::fatbin::CompressionMode;

    use super::*;

    fn parse(line: &str) -> Result<Parsed> {
        let words = shlex::split(line).expect("a command line");
        Parsed::parse(words.into_iter().map(OsString::from))
    }

    #[track_caller]
    fn check_error(line: &str, expected: &str) {
        let error = format!("{:#}", parse(line).expect_err(line));
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn images_are_named_as_before_cuda_13_and_since() {
        let lines = [
            // CMake 4.1.
            "-64 -cmdline=--compile-only -compress-all -link --embedded-fatbin=F -im=profile=sm_90a,file=a=b",
            "/cuda/bin/fatbinary --64 --cmdline '--compile-only' --compress-all --link -fatbin F --image3=kind=elf,sm=90a,file=a=b",
        ];
        for line in lines {
            let parsed = parse(line).expect(line);
            let [(sm, file)] = &parsed.images[..] else {
                panic!("{:?} in {line}", parsed.images);
            };
            assert_eq!(sm.to_string(), "sm_90a");
            assert_eq!(file, Path::new("a=b"));
            assert_eq!(parsed.outputs, [(Form::Source, "F".into())]);
            assert_eq!(parsed.options.compression, CompressionMode::BALANCE);
        }
    }

    #[test]
    fn images_are_compressed_where_fatbinary_does() {
        let parsed = parse("-link -create=F -compress-mode size -im=profile=sm_90,file=C");
        let parsed = parsed.expect("valid");
        assert_eq!(parsed.options.compression, CompressionMode::SIZE);
        let parsed = parse("-link -create=F -ident a.o -im=profile=sm_90,file=C").expect("valid");
        assert_eq!(parsed.options.compression, CompressionMode::Large);
        assert_eq!(parsed.options.identifier, "a.o");
        let parsed = parse("-link -create=F -g -im=profile=sm_90,file=C").expect("valid");
        assert_eq!(parsed.options.compression, CompressionMode::BALANCE);
    }

    #[test]
    fn what_is_not_done_is_an_error() {
        check_error("-create=F", "-link");
        check_error("-link", "no output");
        check_error("-link -create", "-create needs a value");
        check_error("-link -create=F -no-asm", "'-no-asm' is not understood");
        check_error("-link -im=profile=compute_90,file=F", "profile=sm_N");
        check_error(
            "-link -im=profile=sm_91,file=F",
            "there is no processor 'sm_91'",
        );
        check_error("-link -im=profile=sm_90", "file=FILE");
        check_error("-link -image3=kind=ptx,sm=90,file=F", "kind=elf");
    }
}
