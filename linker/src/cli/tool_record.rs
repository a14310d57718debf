//! What a link says of its command line in `.note.nv.tkinfo`, where it is asked to.

use std::ffi::OsStr;
use std::path::Path;

use super::flags::{Flag, Value};
use super::typed::Typed;
use crate::tool_record::tool_record;

/// The note with the inputs, the output and the options.
pub(super) fn of_command_line(typed: &Typed) -> Vec<u8> {
    let output = typed.path(Flag::Output).unwrap_or_default();
    let output = base_name(&output);
    let inputs: Vec<String> = typed.inputs.iter().map(|path| base_name(path)).collect();
    let mut options = format!("{} -o {output}", inputs.join(","));
    let is_told = |flag| !matches!(flag, Flag::Output | Flag::VerboseToolRecord);
    for (flag, value) in typed.options().filter(|(flag, _)| is_told(*flag)) {
        options.push(' ');
        options.push_str(&spelled(flag, value));
    }
    tool_record(&output, &options)
}

fn spelled(flag: Flag, value: &OsStr) -> String {
    let spelling = flag.spelling();
    let name = match spelling.short {
        Some(short) => format!("-{short}"),
        None => format!("--{}", spelling.long),
    };
    match spelling.value {
        Value::Nothing => name,
        _ => format!("{name} {}", value.to_string_lossy()),
    }
}

/// Folders differ from machine to machine; an image is to be the same on all.
fn base_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::super::typed;
    use super::*;
    use crate::cubin::{Note, ToolNote};

    #[test]
    fn names_files_and_options_but_no_folders() {
        let typed = "-arch=sm_90 -g in/a.cubin b.cubin -verbose-tkinfo=true -o out/x.cubin -lm";
        let typed = typed.split(' ').map(OsString::from).collect();
        let typed = typed::parse(typed, &|_| Ok(Vec::new()), &mut Vec::new()).unwrap();
        let bytes = of_command_line(&typed);
        let notes = Note::parse_all(&bytes).unwrap();
        let note = ToolNote::parse(notes[0].description).unwrap();
        assert_eq!(note.object, "x.cubin");
        assert_eq!(note.tool, "rustnvlink");
        assert_eq!(
            note.options,
            "a.cubin,b.cubin -o x.cubin -arch sm_90 -g -l m"
        );
    }
}
