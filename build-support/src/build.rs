//! The builder.

mod cmake_library;
mod embed;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::iter;
use std::path::{Path, PathBuf};

use cudalink_toolkit::{Tool, Toolkit};
use rustnvlink::arch::Sm;
use rustnvlink::fatbin::FatbinOptions;
use rustnvlink::host::{HostMachine, HostObject};

use crate::compile::{Code, Compiled, Compiler, Product};
use crate::device::Input;
use crate::error::Error;
use crate::record::Surroundings;
use crate::{device, environment, output, places, toolchain};

/// The key under which packages publish their device objects.
const PUBLISHED: &str = "device_objects";

/// How the CUDA runtime is linked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Cudart {
    /// Into the program.
    #[default]
    Static,
    /// As a shared library, which has to be there when the program starts.
    Shared,
    /// Not at all, because something else does it.
    None,
}

/// Builds CUDA sources. Every method that ends a build prints an error and ends the build script if it fails; the
/// method of the same name with `try_` returns the error.
///
/// ```no_run
/// use cudalink_build::{Build, Cudart};
///
/// Build::new()
///     .files(["device/solver.cu", "device/math.cu"])
///     .archs(["sm_80", "sm_90a"])
///     .include("device/include")
///     .define("TILE", "32")
///     .flag("--expt-relaxed-constexpr")
///     .library("vendor/libfft.a") // compiled with -rdc=true
///     .cudart(Cudart::Static)
///     .dlto(std::env::var("PROFILE").is_ok_and(|profile| profile == "release"))
///     .compile("solver");
/// ```
#[derive(Debug, Clone, Default)]
pub struct Build {
    sources: Vec<PathBuf>,
    libraries: Vec<PathBuf>,
    arguments: Vec<OsString>,
    archs: Vec<String>,
    prebuilt: Option<PathBuf>,
    cudart: Cudart,
    dlto: bool,
}

impl Build {
    /// A build of nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a source.
    pub fn file(&mut self, path: impl AsRef<Path>) -> &mut Self {
        self.sources.push(path.as_ref().to_owned());
        self
    }

    /// Adds sources.
    pub fn files(&mut self, paths: impl IntoIterator<Item: AsRef<Path>>) -> &mut Self {
        for path in paths {
            self.file(path);
        }
        self
    }

    /// Adds a processor such as `sm_90` or `sm_100a`. `CUDALINK_ARCH` replaces all of them.
    pub fn arch(&mut self, name: impl Into<String>) -> &mut Self {
        self.archs.push(name.into());
        self
    }

    /// Adds processors.
    pub fn archs(&mut self, names: impl IntoIterator<Item: Into<String>>) -> &mut Self {
        self.archs.extend(names.into_iter().map(Into::into));
        self
    }

    /// Adds a folder with headers.
    pub fn include(&mut self, folder: impl AsRef<Path>) -> &mut Self {
        self.flag("-I").flag(folder.as_ref())
    }

    /// Defines a macro.
    pub fn define<'a>(&mut self, name: &str, value: impl Into<Option<&'a str>>) -> &mut Self {
        match value.into() {
            Some(value) => self.flag(format!("-D{name}={value}")),
            None => self.flag(format!("-D{name}")),
        }
    }

    /// Adds an argument for nvcc.
    pub fn flag(&mut self, flag: impl AsRef<OsStr>) -> &mut Self {
        self.arguments.push(flag.as_ref().to_owned());
        self
    }

    /// Adds an object or a static library with relocatable device code, which is linked with that of the sources. PTX,
    /// cubins and fatbins are taken, too; they have no host code by which `cargo cudalink` could find them.
    pub fn library(&mut self, path: impl AsRef<Path>) -> &mut Self {
        self.libraries.push(path.as_ref().to_owned());
        self
    }

    /// Builds a static library with CMake and adds it; `name` is the target, and `lib<name>.a` the file.
    ///
    /// ```no_run
    /// use cudalink_build::{Build, cmake};
    ///
    /// Build::new()
    ///     .file("device/app.cu")
    ///     .arch("sm_90")
    ///     .cmake_library(cmake::Config::new("vendor/fft").define("FFT_TESTS", "OFF"), "fft")
    ///     .compile("app");
    /// ```
    pub fn cmake_library(&mut self, config: &mut cmake::Config, name: &str) -> &mut Self {
        let library = self.try_cmake_library(config, name);
        self.library(or_exit(library))
    }

    /// Names a folder that holds what nvcc would make, `<source>.<processor>.cubin` for each of both, for builds without
    /// a toolkit. [`Build::cubin`] makes these files. They replace the compiler of [`Build::embed`] only: host code has
    /// to be compiled.
    pub fn prebuilt(&mut self, folder: impl AsRef<Path>) -> &mut Self {
        self.prebuilt = Some(folder.as_ref().to_owned());
        self
    }

    /// Chooses how the CUDA runtime is linked; it is linked statically unless another choice is made.
    pub fn cudart(&mut self, cudart: Cudart) -> &mut Self {
        self.cudart = cudart;
        self
    }

    /// Chooses link-time optimization: the sources are compiled to LTO-IR, and the device link optimizes them together.
    /// `CUDALINK_DLTO` comes first.
    pub fn dlto(&mut self, dlto: bool) -> &mut Self {
        self.dlto = dlto;
        self
    }

    /// Makes the static library `lib<name>.a` with the linked device code, and tells cargo to link it. That file name may
    /// also be given, as to the `cc` crate.
    pub fn compile(&self, name: &str) {
        or_exit(self.try_compile(name));
    }

    /// Compiles every source for every processor to relocatable device code, and returns the files:
    /// `<source>.<processor>.cubin` in `OUT_DIR`, or in a folder there where another build of the build script has made one
    /// of them from the same source with other options.
    pub fn cubin(&self) -> Vec<PathBuf> {
        or_exit(self.try_cubin())
    }

    /// Compiles every source for every processor to PTX, and returns the files, which lie where those of
    /// [`cubin`](Build::cubin) do.
    pub fn ptx(&self) -> Vec<PathBuf> {
        or_exit(self.try_ptx())
    }

    /// Makes the static library `lib<name>.a`, whose device code is linked by the package that makes the program.
    ///
    /// The package needs `links` in its manifest. What its own dependencies have published is published again.
    pub fn publish_device_objects(&self, name: &str) {
        or_exit(self.try_publish_device_objects(name));
    }

    /// Links the device code of the sources, and of all packages this one depends on directly, for this package's
    /// program. There need not be any sources.
    pub fn link_device(&self, name: &str) {
        or_exit(self.try_link_device(name));
    }

    /// Links the device code of the sources, without host code, to `<name>.fatbin` in `OUT_DIR`, and writes the Rust
    /// module `<name>.rs` that embeds it: `IMAGE` for the driver, `ARCHS`, `KERNELS`, and in `kernels` a constant for each
    /// kernel with its name, its parameters and what it needs.
    pub fn embed(&self, name: &str) {
        or_exit(self.try_embed(name));
    }

    /// See [`Build::compile`].
    ///
    /// # Errors
    ///
    /// Fails if there is no toolkit, a source does not compile, or the device code does not link.
    pub fn try_compile(&self, name: &str) -> Result<(), Error> {
        let name = places::library(name)?;
        let toolkit = toolchain::find()?;
        let compiled = self.objects(name, &toolkit)?;
        let mut objects = paths(&compiled);
        if !environment::is_linked_later() {
            let mut inputs: Vec<Input> = compiled.into_iter().map(Input::from).collect();
            inputs.extend(self.libraries());
            let help = "what other packages publish with publish_device_objects() is linked by link_device(), \
                        in the place of compile()";
            objects.push(self.linked_object(&inputs, name, &toolkit, help)?);
        }
        self.archive(name, &objects)?;
        self.link_libraries();
        self.link_runtime(&toolkit)
    }

    /// See [`Build::cubin`].
    ///
    /// # Errors
    ///
    /// Fails if there is no toolkit, or a source does not compile.
    pub fn try_cubin(&self) -> Result<Vec<PathBuf>, Error> {
        self.for_each_target(Product::Cubin)
    }

    /// See [`Build::ptx`].
    ///
    /// # Errors
    ///
    /// Fails if there is no toolkit, or a source does not compile.
    pub fn try_ptx(&self) -> Result<Vec<PathBuf>, Error> {
        self.for_each_target(Product::Ptx)
    }

    /// See [`Build::publish_device_objects`].
    ///
    /// # Errors
    ///
    /// Fails if there is no toolkit, a source does not compile, or the manifest has no `links`.
    pub fn try_publish_device_objects(&self, name: &str) -> Result<(), Error> {
        let name = places::library(name)?;
        environment::of_cargo("CARGO_MANIFEST_LINKS")
            .map_err(|_| Error::NoLinks(name.to_owned()))?;
        let toolkit = toolchain::find()?;
        let objects = self.objects(name, &toolkit)?;
        self.archive(name, &paths(&objects))?;
        self.link_libraries();
        let mut published = vec![environment::out_dir()?.join(format!("lib{name}.a"))];
        published.extend(self.libraries.iter().cloned());
        published.extend(environment::published(PUBLISHED).files);
        let joined = std::env::join_paths(&published).map_err(Error::write)?;
        output::line("metadata", format_args!("{PUBLISHED}={}", joined.display()));
        self.link_runtime(&toolkit)
    }

    /// See [`Build::link_device`].
    ///
    /// # Errors
    ///
    /// Fails if there is no toolkit, a source does not compile, or the device code does not link.
    pub fn try_link_device(&self, name: &str) -> Result<(), Error> {
        let name = places::library(name)?;
        let toolkit = toolchain::find()?;
        let published = environment::published(PUBLISHED);
        let help = who_publishes(&published.names);
        let mut inputs: Vec<Input> = published.files.into_iter().map(Input::from).collect();
        if !self.sources.is_empty() {
            let objects = self.objects(name, &toolkit)?;
            self.archive(name, &paths(&objects))?;
            inputs.extend(objects.into_iter().map(Input::from));
        }
        inputs.extend(self.libraries());
        if !environment::is_linked_later() {
            let linked_name = format!("{name}_device");
            let object = self.linked_object(&inputs, &linked_name, &toolkit, &help)?;
            places::take(&environment::out_dir()?.join(format!("lib{linked_name}.a")))?;
            cc::Build::new()
                .cargo_metadata(false)
                .object(object)
                .try_compile(&linked_name)?;
            // Nothing asks for it by name before the objects it registers have been read.
            output::search_in(&environment::out_dir()?);
            output::link_with(format_args!("static:+whole-archive={linked_name}"));
        }
        self.link_libraries();
        self.link_runtime(&toolkit)
    }

    fn sources(&self) -> Result<&[PathBuf], Error> {
        match self.sources.is_empty() {
            true => Err(Error::NothingToBuild),
            false => Ok(&self.sources),
        }
    }

    /// The processors: those of the user, else those of the build script.
    fn targets(&self) -> Result<Vec<Sm>, Error> {
        let chosen = environment::chosen("CUDALINK_ARCH");
        let chosen = chosen.as_ref().map(|names| names.to_string_lossy());
        let (names, unknown): (Vec<&str>, fn(_) -> Error) = match &chosen {
            Some(names) => (names.split(',').map(str::trim).collect(), Error::ChosenArch),
            None => (
                self.archs.iter().map(String::as_str).collect(),
                Error::UnknownArch,
            ),
        };
        let mut targets = Vec::with_capacity(names.len());
        for name in names {
            let sm = Sm::known(name).map_err(unknown)?;
            if !targets.contains(&sm) {
                targets.push(sm);
            }
        }
        match targets.is_empty() {
            true => Err(Error::NoArch),
            false => Ok(targets),
        }
    }

    fn compiler(&self, toolkit: &Toolkit, targets: Vec<Sm>) -> Result<Compiler, Error> {
        let mut arguments = Vec::new();
        if environment::of_cargo("DEBUG")? != "false" {
            arguments.extend(debug_information(&self.arguments).map(OsString::from));
        }
        let level = match environment::of_cargo("OPT_LEVEL")?.as_str() {
            "s" | "z" => "-O2".to_owned(),
            level => format!("-O{level}"),
        };
        arguments.push(level.into());
        arguments.extend(self.arguments.iter().cloned());
        let (launcher, nvcc) = toolchain::nvcc(toolkit)?;
        // What nvcc adds to each of its command lines.
        let added = ["NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"].map(environment::chosen);
        let programs = [nvcc.clone(), toolkit.tool(Tool::Nvcc)?];
        Ok(Compiler {
            surroundings: Surroundings::of(&programs, &added),
            launcher,
            nvcc,
            toolkit: toolkit.root().to_owned(),
            host: host_compiler()?,
            arguments,
            targets,
            code: self.code()?,
        })
    }

    fn code(&self) -> Result<Code, Error> {
        let is_optimized = environment::switch("CUDALINK_DLTO")?.unwrap_or(self.dlto);
        Ok(match is_optimized {
            true => Code::LinkTime,
            false => Code::Machine,
        })
    }

    /// What was compiled elsewhere.
    fn libraries(&self) -> impl Iterator<Item = Input> {
        self.libraries.iter().cloned().map(Input::from)
    }

    fn objects(&self, name: &str, toolkit: &Toolkit) -> Result<Vec<Compiled>, Error> {
        let compiler = self.compiler(toolkit, self.targets()?)?;
        let folder = environment::out_dir()?.join(name);
        compiler.compile(self.sources()?, Product::Object, &folder)
    }

    fn for_each_target(&self, product: impl Fn(Sm) -> Product) -> Result<Vec<PathBuf>, Error> {
        let toolkit = toolchain::find()?;
        let targets = self.targets()?;
        let compiler = self.compiler(&toolkit, targets.clone())?;
        let sources = self.sources()?;
        let mut files = Vec::new();
        for sm in &targets {
            files.extend(compiler.ways(sources, product(*sm))?);
        }
        let folder = places::folder(&environment::out_dir()?, &files);
        let mut made = Vec::new();
        for sm in targets {
            made.extend(paths(&compiler.compile(sources, product(sm), &folder)?));
        }
        Ok(made)
    }

    /// The device link of `inputs`, as an object for the host linker.
    fn linked_object(
        &self,
        inputs: &[Input],
        name: &str,
        toolkit: &Toolkit,
        help: &str,
    ) -> Result<PathBuf, Error> {
        let (targets, code) = (self.targets()?, self.code()?);
        let linked = device::link(inputs, &targets, Some(toolkit), code, Some(help))?;
        let fatbin = linked
            .fatbin(&FatbinOptions::default())
            .map_err(Error::write)?;
        let machine: HostMachine = environment::of_cargo("CARGO_CFG_TARGET_ARCH")?
            .parse()
            .map_err(Error::write)?;
        let object = HostObject::new(&fatbin, &linked.modules)
            .and_then(|object| object.to_bytes(machine))
            .map_err(Error::write)?;
        let path = environment::out_dir()?.join(format!("{name}.device.o"));
        write(&path, &object)?;
        Ok(path)
    }

    /// A static library, which the host compiler's archiver makes and cargo links.
    fn archive(&self, name: &str, objects: &[PathBuf]) -> Result<(), Error> {
        places::take(&environment::out_dir()?.join(format!("lib{name}.a")))?;
        cc::Build::new()
            .cpp(true)
            .objects(objects)
            .try_compile(name)?;
        Ok(())
    }

    /// Tells cargo of the further libraries. Objects are no libraries: whoever adds one takes care of its host code.
    fn link_libraries(&self) {
        for library in &self.libraries {
            let name = library.file_name().unwrap_or_default().to_string_lossy();
            let name = name
                .strip_prefix("lib")
                .and_then(|name| name.strip_suffix(".a"));
            if let (Some(name), Some(folder)) = (name, library.parent()) {
                output::search_in(folder);
                output::link_with(format_args!("static={name}"));
            }
        }
    }

    fn link_runtime(&self, toolkit: &Toolkit) -> Result<(), Error> {
        let name = match self.cudart {
            Cudart::Static => "cudart_static",
            Cudart::Shared => "cudart",
            Cudart::None => return Ok(()),
        };
        let folder = toolkit.lib_dir()?;
        output::search_in(&folder);
        output::link_with(name);
        if self.cudart == Cudart::Static {
            // What the runtime needs of the system; all one library in newer ones.
            for name in ["dl", "pthread", "rt"] {
                output::link_with(name);
            }
        }
        Ok(())
    }
}

/// The compiler behind nvcc: that of nvcc's own variable, else that of the `cc` crate, which tells cargo of the variables
/// that it reads.
fn host_compiler() -> Result<PathBuf, Error> {
    if let Some(chosen) = environment::chosen("NVCC_CCBIN") {
        return Ok(chosen.into());
    }
    let compiler = cc::Build::new().cpp(true).try_get_compiler()?;
    Ok(compiler.path().to_owned())
}

/// What asks nvcc for debug information. Code for debuggers has its lines already, and nvcc warns where both are asked for.
fn debug_information(others: &[OsString]) -> impl Iterator<Item = &'static str> {
    let is_for_debuggers = |word: &OsString| word == "-G" || word == "--device-debug";
    let lines = (!others.iter().any(is_for_debuggers)).then_some("-lineinfo");
    iter::once("-g").chain(lines)
}

/// Where `link_device` takes the device code of others from.
fn who_publishes(names: &[String]) -> String {
    let there = match names {
        [] => "there is none".to_owned(),
        names => format!("here: {}", names.join(", ")),
    };
    format!(
        "what another package has is linked if that stands in [dependencies] and its build script ends with \
         publish_device_objects() ({there})"
    )
}

fn paths(compiled: &[Compiled]) -> Vec<PathBuf> {
    compiled.iter().map(|one| one.path.clone()).collect()
}

/// Replaces a file where it differs; what did not change looks old to cargo, too.
fn write(path: &Path, contents: &[u8]) -> Result<(), Error> {
    if fs::read(path).is_ok_and(|there| there == contents) {
        return Ok(());
    }
    rustnvlink::output::write(path, contents).map_err(Error::io(path))
}

fn or_exit<T>(result: Result<T, Error>) -> T {
    result.unwrap_or_else(|error| {
        output::message("error", &error.to_string());
        std::process::exit(1);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_for_debuggers_needs_no_lines() {
        let check = |others: &[&str], expected: &[&str]| {
            let others: Vec<OsString> = others.iter().map(OsString::from).collect();
            let asked: Vec<&str> = debug_information(&others).collect();
            assert_eq!(asked, expected, "{others:?}");
        };
        check(&["-O3"], &["-g", "-lineinfo"]);
        check(&["-O3", "-G"], &["-g"]);
        check(&["--device-debug"], &["-g"]);
    }
}
