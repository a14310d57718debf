//! What was typed: options files read, spellings resolved, values checked one
//! by one, and nothing decided yet.

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::flags::{FLAGS, Flag, Spelling, Value};
use super::meant::{is_of_compilers, like_library, unknown_option};
use super::printer::Format;
use super::response_file::{self, Stray};
use super::values::{number, processors, undefined_value};
use crate::codes;
use crate::diagnostic::{Diagnostic, Severity};
use crate::options::Behaviour;
use crate::raw_text;

/// How many options files may lie in one another.
const MAX_NESTED_FILES: usize = 15;

/// The arguments, sorted out.
#[derive(Debug, Default)]
pub(crate) struct Typed {
    /// Arguments that are no options, in order.
    pub(crate) inputs: Vec<PathBuf>,
    /// Files that held arguments.
    pub(crate) options_files: Vec<PathBuf>,
    options: Vec<(Flag, OsString)>,
}

/// What reads options files.
pub(crate) type ReadFile<'a> = &'a dyn Fn(&Path) -> std::io::Result<Vec<u8>>;

/// Sorts out the arguments. The first error ends it, as with nvlink. What else
/// the user should know goes to `notes`.
pub(crate) fn parse(
    arguments: Vec<OsString>,
    read: ReadFile<'_>,
    notes: &mut Vec<Diagnostic>,
) -> Result<Typed, Diagnostic> {
    let mut parser = Parser {
        typed: Typed::default(),
        read,
        notes,
        behaviour: behaviour(&arguments),
    };
    parser.arguments(arguments, 0)?;
    Ok(parser.typed)
}

/// Nvlink's if `--compat` is among the arguments: what `@file` means and how
/// messages look depends on it, wherever it stands.
fn behaviour(arguments: &[OsString]) -> Behaviour {
    let mut arguments = arguments.iter();
    match arguments.any(|argument| argument == "--compat" || argument == "-compat") {
        true => Behaviour::Nvlink,
        false => Behaviour::Own,
    }
}

/// The shape of messages about the arguments themselves.
pub(crate) fn format(arguments: &[OsString]) -> Format {
    let is_json = |pair: &[OsString]| pair[0] == "--message-format" && pair[1] == "json";
    if arguments
        .iter()
        .any(|argument| argument == "--message-format=json")
        || arguments.windows(2).any(is_json)
    {
        return Format::Json;
    }
    match behaviour(arguments) {
        Behaviour::Nvlink => Format::Nvlink,
        Behaviour::Own => Format::Own,
    }
}

impl Typed {
    /// What is to be done where nvlink is wrong.
    pub(crate) fn behaviour(&self) -> Behaviour {
        match self.has(Flag::Compat) {
            true => Behaviour::Nvlink,
            false => Behaviour::Own,
        }
    }

    /// Whether an option was given.
    pub(crate) fn has(&self, flag: Flag) -> bool {
        self.options.iter().any(|(given, _)| *given == flag)
    }

    /// The value of an option; the last one counts.
    pub(crate) fn value(&self, flag: Flag) -> Option<&OsStr> {
        self.all(flag).last()
    }

    /// The value of an option that is text by its kind.
    pub(crate) fn text(&self, flag: Flag) -> Option<&str> {
        self.value(flag).and_then(OsStr::to_str)
    }

    /// The value of an option that is a number.
    pub(crate) fn number(&self, flag: Flag) -> Option<i32> {
        number(self.text(flag)?).ok()
    }

    /// The value of an option that names a file.
    pub(crate) fn path(&self, flag: Flag) -> Option<PathBuf> {
        self.value(flag).map(PathBuf::from)
    }

    /// The items of a list.
    pub(crate) fn all(&self, flag: Flag) -> impl Iterator<Item = &OsStr> {
        self.options
            .iter()
            .filter(move |(given, _)| *given == flag)
            .map(|(_, value)| value.as_os_str())
    }

    /// All options in the order they were given, with the items of lists one
    /// by one.
    pub(crate) fn options(&self) -> impl Iterator<Item = (Flag, &OsStr)> {
        self.options
            .iter()
            .map(|(flag, value)| (*flag, value.as_os_str()))
    }
}

struct Parser<'a> {
    typed: Typed,
    read: ReadFile<'a>,
    notes: &'a mut Vec<Diagnostic>,
    behaviour: Behaviour,
}

impl Parser<'_> {
    fn arguments(
        &mut self,
        arguments: impl IntoIterator<Item = OsString>,
        depth: usize,
    ) -> Result<(), Diagnostic> {
        let mut arguments = arguments.into_iter().peekable();
        while let Some(argument) = arguments.next() {
            let text = raw_text::text(&argument);
            let Some(name) = option_name(&text) else {
                self.input(argument, depth)?;
                continue;
            };
            if self.behaviour == Behaviour::Own
                && let Some(warning) = like_library(name)
            {
                self.notes.push(warning);
                continue;
            }
            if self.behaviour == Behaviour::Own && is_of_compilers(name) {
                return Err(unknown_option(name.split('=').next().unwrap_or(name)));
            }
            let (spelling, attached) = resolve(name)?;
            if spelling.value == Value::Nothing {
                if attached.is_some() {
                    let name = name.split('=').next().unwrap_or(name);
                    return Err(Diagnostic::fatal(
                        codes::UNEXPECTED_VALUE,
                        format!("no argument expected after '-{name}'"),
                    ));
                }
                self.set(spelling, OsString::new());
                continue;
            }
            if attached.is_none() && self.behaviour == Behaviour::Own {
                self.notes.extend(
                    arguments
                        .peek()
                        .and_then(|next| option_as_value(spelling, next)),
                );
            }
            let implied = spelling.implied.map(OsString::from);
            let value = attached.map(raw_text::name).or_else(|| {
                let follows = |next: &OsString| !is_option(next);
                match implied {
                    Some(_) if !arguments.peek().is_some_and(follows) => implied,
                    Some(_) | None => arguments.next(),
                }
            });
            let value = value.ok_or_else(|| {
                Diagnostic::fatal(
                    codes::MISSING_VALUE,
                    format!("argument expected after '-{name}'"),
                )
            })?;
            self.value(spelling, value, depth)?;
        }
        Ok(())
    }

    /// An argument that is no option: an input, or `@file`.
    fn input(&mut self, argument: OsString, depth: usize) -> Result<(), Diagnostic> {
        let text = raw_text::text(&argument);
        let file = text
            .strip_prefix('@')
            .filter(|file| !file.is_empty() && self.behaviour == Behaviour::Own);
        if let Some(file) = file {
            return self.options_file(Path::new(&raw_text::name(file)), depth);
        }
        self.typed.inputs.push(argument.into());
        Ok(())
    }

    fn value(
        &mut self,
        spelling: &'static Spelling,
        value: OsString,
        depth: usize,
    ) -> Result<(), Diagnostic> {
        let value = match spelling.value {
            Value::Processor => processors(spelling, &value, self.behaviour)?,
            _ => value,
        };
        let text = &*raw_text::text(&value);
        match spelling.value {
            Value::Nothing => {}
            Value::Text => self.replace(spelling, value, OsStr::eq),
            Value::Texts => self.set(spelling, value),
            Value::List => {
                for item in response_file::items(text).map_err(stray)? {
                    let item = raw_text::name(&item);
                    if spelling.flag == Flag::OptionsFile {
                        self.options_file(Path::new(&item), depth)?;
                    } else {
                        self.set(spelling, item);
                    }
                }
            }
            Value::Choice(allowed) if !allowed.contains(&text) => {
                return Err(undefined_value(spelling, text));
            }
            Value::SixtyFour if number(text)? != 64 => {
                return Err(undefined_value(spelling, text));
            }
            Value::Truth if !matches!(text, "true" | "false") => {
                return Err(Diagnostic::fatal(
                    codes::INVALID_VALUE,
                    format!("'{text}': expected true or false"),
                ));
            }
            Value::Number => {
                number(text)?;
                let parse = |text: &OsStr| text.to_str().and_then(|text| number(text).ok());
                self.replace(spelling, value, |a, b| parse(a) == parse(b));
            }
            // Only one value is allowed, so that a repetition cannot differ.
            Value::SixtyFour => self.set(spelling, value),
            Value::Choice(_) | Value::Processor | Value::Truth => {
                self.replace(spelling, value, OsStr::eq);
            }
        }
        Ok(())
    }

    fn set(&mut self, spelling: &Spelling, value: OsString) {
        self.typed.options.push((spelling.flag, value));
    }

    /// Sets the value of an option that has one, and warns if it had another.
    fn replace(
        &mut self,
        spelling: &Spelling,
        value: OsString,
        same: impl Fn(&OsStr, &OsStr) -> bool,
    ) {
        let old = self.typed.value(spelling.flag);
        if old.is_some_and(|old| !same(old, &value)) {
            self.notes.push(Diagnostic::new(
                Severity::Warning,
                codes::REDEFINED_OPTION,
                format!(
                    "incompatible redefinition for option '{}', the last value of this option \
                     was used",
                    spelling.long
                ),
            ));
        }
        self.set(spelling, value);
    }

    fn options_file(&mut self, path: &Path, depth: usize) -> Result<(), Diagnostic> {
        let shown = raw_text::text(path.as_os_str());
        if depth == MAX_NESTED_FILES {
            return Err(Diagnostic::fatal(
                codes::NESTED_OPTIONS_FILES,
                format!("Too many options file opened '{shown}'"),
            ));
        }
        let bytes = match (self.read)(path) {
            Ok(bytes) => bytes,
            // nvlink opens folders like files, and finds nothing there.
            Err(error)
                if self.behaviour == Behaviour::Nvlink
                    && error.kind() == ErrorKind::IsADirectory =>
            {
                Vec::new()
            }
            Err(why) => {
                let text = format!("Could not open options file '{shown}'");
                return Err(
                    Diagnostic::fatal(codes::UNREADABLE_OPTIONS_FILE, text).with_detail(why)
                );
            }
        };
        self.typed.options_files.push(path.to_owned());
        let invalid = |what: &str| {
            let text = format!("options file '{shown}' is {what}");
            Diagnostic::fatal(codes::INVALID_OPTIONS_FILE, text)
        };
        // nvlink reads on behind it.
        if self.behaviour == Behaviour::Own && bytes.contains(&0) {
            return Err(invalid("no text").with_detail("there is a zero byte in it"));
        }
        let text = raw_text::from_bytes(&bytes).ok_or_else(|| invalid("not valid UTF-8"))?;
        response_file::arguments(&text, self.behaviour)
            .map_err(stray)
            .and_then(|arguments| {
                let arguments = arguments.iter().map(|one| raw_text::name(one));
                self.arguments(arguments, depth + 1)
            })
            .map_err(|problem| match problem.notes.is_empty() {
                // The innermost file is the one to look at.
                true => problem.with_note(format_args!("in the options file '{shown}'")),
                false => problem,
            })
    }
}

/// What there is to say of an option that, as with nvlink, becomes the value of the one before it.
fn option_as_value(spelling: &Spelling, next: &OsStr) -> Option<Diagnostic> {
    let next = raw_text::text(next);
    let is_taken = match spelling.value {
        Value::Text | Value::Texts | Value::List => spelling.implied.is_none(),
        Value::Nothing
        | Value::Choice(_)
        | Value::Processor
        | Value::Number
        | Value::SixtyFour
        | Value::Truth => false,
    };
    let is_known = option_name(&next).is_some_and(|name| resolve(name).is_ok());
    if !is_taken || takes_options(spelling.flag) || !is_known {
        return None;
    }
    let option = spelling.long;
    let text = format!("'{next}' is taken for the value of option '{option}'");
    let warning = Diagnostic::new(Severity::Warning, codes::OPTION_AS_VALUE, text);
    Some(warning.with_detail(format_args!(
        "'--{option}' needs one: --{option}={}",
        spelling.placeholder
    )))
}

/// Whether the values are options of another program.
fn takes_options(flag: Flag) -> bool {
    matches!(flag, Flag::NvvmOptions | Flag::PtxasOptions | Flag::XLinker)
}

/// Whether an argument is an option, known or not.
fn is_option(argument: &OsString) -> bool {
    option_name(&raw_text::text(argument)).is_some()
}

/// What stands behind the first dash of an option.
fn option_name(argument: &str) -> Option<&str> {
    argument.strip_prefix('-').filter(|name| !name.is_empty())
}

/// Finds an option by what stands behind its first dash.
fn resolve(typed: &str) -> Result<(&'static Spelling, Option<&str>), Diagnostic> {
    let (name, value) = match typed.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (typed, None),
    };
    let exact = match name.strip_prefix('-') {
        Some(long) => FLAGS.iter().find(|spelling| spelling.long == long),
        None => FLAGS.iter().find(|spelling| spelling.short == Some(name)),
    };
    if let Some(spelling) = exact {
        return Ok((spelling, value));
    }
    FLAGS
        .iter()
        .filter(|spelling| spelling.joined)
        .find_map(|spelling| Some((spelling, Some(typed.strip_prefix(spelling.short?)?))))
        .ok_or_else(|| unknown_option(name))
}

fn stray(what: Stray) -> Diagnostic {
    let character = match what {
        Stray::Quote => "\"",
        // nvlink shows the end of the text instead.
        Stray::Backslash => "",
    };
    Diagnostic::fatal(codes::STRAY_QUOTE, format!("Stray '{character}' character"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn files(path: &Path) -> std::io::Result<Vec<u8>> {
        match path.to_str() {
            Some("inputs.txt") => Ok(b"a.o \"b c.o\"".to_vec()),
            Some("self.txt") => Ok(b"-optf self.txt".to_vec()),
            Some("stray.txt") => Ok(b"a \"b".to_vec()),
            Some("value.txt") => Ok(b"-arch".to_vec()),
            _ => Err(std::io::ErrorKind::NotFound.into()),
        }
    }

    /// What was understood, or the error.
    fn check(arguments: &str, expected: &str) {
        let mut notes = Vec::new();
        let typed = parse(
            arguments.split(' ').map(OsString::from).collect(),
            &files,
            &mut notes,
        );
        let shown = match typed {
            Err(error) => error.text,
            Ok(typed) => {
                let options = typed.options.iter().map(|(flag, value)| {
                    format!("{}={}", flag.spelling().long, value.to_string_lossy())
                });
                let inputs = typed.inputs.iter().map(|path| path.display().to_string());
                let notes = notes.iter().map(|note| note.text.clone());
                let all: Vec<String> = options.chain(inputs).chain(notes).collect();
                all.join(" ")
            }
        };
        assert_eq!(shown, expected, "{arguments}");
    }

    /// Every line was tried with nvlink 13.0.88.
    #[test]
    fn spellings() {
        check("-arch=sm_90 -arch sm_90", "arch=sm_90 arch=sm_90");
        check("--arch sm_90 --arch=sm_90", "arch=sm_90 arch=sm_90");
        // Not with nvlink, which takes one.
        check("-arch=sm_90,\tsm_80,", "arch=sm_90,sm_80");
        check(
            "-o x --output-file=y=z",
            concat!(
                "output-file=x output-file=y=z incompatible redefinition for option 'output-file', ",
                "the last value of this option was used",
            ),
        );
        check(
            "-m64 -m 64 -m=0x40 -m=+64",
            "machine=64 machine=64 machine=0x40 machine=+64",
        );
        check("-lx -l y,z -l=u", "library=x library=y library=z library=u");
        check("-La -L b,c", "library-path=a library-path=b library-path=c");
        check("-lineinfo --compat", "library=ineinfo compat=");
        check("-v --verbose a.o -", "verbose= verbose= a.o -");
        check(
            "-kernels-used= -kernels-used a,b",
            "kernels-used=a kernels-used=b",
        );
        check(
            "-maxrregcount=32 -maxrregcount=0x20",
            "maxrregcount=32 maxrregcount=0x20",
        );
        check("--register-link-binaries r", "register-link-binaries=r");
        check("-kernels-used -v --compat", "kernels-used=-v compat=");
        check(
            "--why-live=f(int,int) -why-live g",
            "why-live=f(int,int) why-live=g",
        );
        check(
            "-ghls -Ofc -v",
            "gen-host-linker-script=lcs-abs Ofast-compile=0 verbose=",
        );
        check(
            "-ghls lcs-aug -Ofc min --Ofast-compile",
            concat!(
                "gen-host-linker-script=lcs-aug Ofast-compile=min Ofast-compile=0 incompatible ",
                "redefinition for option 'Ofast-compile', the last value of this option was used",
            ),
        );
    }

    #[test]
    fn options_as_values_are_told() {
        check(
            "--time --map=- -v",
            "time=--map=- verbose= '--map=-' is taken for the value of option 'time'",
        );
        check(
            "-l -v",
            "library=-v '-v' is taken for the value of option 'library'",
        );
        for silent in [
            "-time=-v",
            "-Xptxas -v",
            "-o -other",
            "-time -",
            "-time -v --compat",
        ] {
            let arguments = silent.split(' ').map(OsString::from).collect();
            let mut notes = Vec::new();
            parse(arguments, &files, &mut notes).unwrap();
            assert!(notes.is_empty(), "{silent}");
        }
    }

    #[test]
    fn errors() {
        check("-badopt", "Unknown option 'badopt'");
        check("--badopt=3", "Unknown option '-badopt'");
        check("--v", "Unknown option '-v'");
        check("-verbose", "Unknown option 'verbose'");
        check("--", "Unknown option '-'");
        check("-=3", "Unknown option ''");
        check("-oout", "Unknown option 'oout'");
        check("--machine64", "Unknown option '-machine64'");
        check(
            "-register-link-binaries r",
            "Unknown option 'register-link-binaries'",
        );
        check("-arch", "argument expected after '-arch'");
        check("-ghls -foo", "Unknown option 'foo'");
        check(
            "-ghls -",
            "Value '-' is not defined for option 'gen-host-linker-script'",
        );
        check("--nvvmpath", "argument expected after '--nvvmpath'");
        check("-v=true", "no argument expected after '-v'");
        check("--verbose=", "no argument expected after '--verbose'");
        check("-arch=", "Value '' is not defined for option 'arch'");
        check(
            "-arch=sm_11",
            "Value 'sm_11' is not defined for option 'arch'",
        );
        check(
            "-arch=sm_90,sm_11",
            "Value 'sm_11' is not defined for option 'arch'",
        );
        check("-arch=,", "Value ',' is not defined for option 'arch'");
        check(
            "-arch=sm_90,sm_80 --compat",
            "Value 'sm_90,sm_80' is not defined for option 'arch'",
        );
        check("-m32", "Value '32' is not defined for option 'machine'");
        check("-mfoo --compat", "'foo': expected a number");
        check("-m=064", "Value '064' is not defined for option 'machine'");
        check("-maxrregcount=1.5", "'1.5': expected a number");
        check(
            "-maxrregcount=2147483648",
            "32-bit integer value (2147483648) out of range",
        );
        check(
            "-device-stack-protector TRUE",
            "'TRUE': expected true or false",
        );
        check(
            "-ghls=foo",
            "Value 'foo' is not defined for option 'gen-host-linker-script'",
        );
        check("-kernels-used=\"x", "Stray '\"' character");
    }

    #[test]
    fn options_files() {
        check("-optf inputs.txt c.o", "a.o b c.o c.o");
        check("@inputs.txt", "a.o b c.o");
        check("--compat @inputs.txt", "compat= @inputs.txt");
        check("-optf nofile", "Could not open options file 'nofile'");
        check("@nofile", "Could not open options file 'nofile'");
        check("-optf self.txt", "Too many options file opened 'self.txt'");
        check("-optf stray.txt", "Stray '\"' character");
        check("-optf value.txt sm_90", "argument expected after '-arch'");
        check(
            "--options-file=inputs.txt,inputs.txt",
            "a.o b c.o a.o b c.o",
        );
    }

    proptest! {
        #[test]
        fn no_arguments_panic(arguments in prop::collection::vec(
            prop_oneof![
                "\\PC*",
                "--?[a-zA-Z-]{0,12}(=[\\PC]{0,8})?",
                prop::sample::select(FLAGS).prop_map(|f| format!("--{}", f.long)),
                prop::sample::select(FLAGS).prop_map(|f| format!("-{}", f.short.unwrap_or(""))),
                prop::sample::select(vec!["@self.txt", "-optf=stray.txt", "-m", "-", "sm_90"])
                    .prop_map(str::to_owned),
            ],
            0..8,
        )) {
            let arguments = arguments.into_iter().map(OsString::from).collect();
            let _ = parse(arguments, &files, &mut Vec::new());
        }
    }
}
