//! The report as people read it.

mod contents;
mod image;
mod table;

use std::collections::BTreeSet;
use std::io::{self, Write};

use cudalink_bindings::Name;
use rustnvlink::container::InputKind;
use rustnvlink::container::host::{EXECUTABLE_SECTION, RELOCATABLE_SECTION};

use super::report::{
    Document, EntryReport, Failure, FatbinReport, FileReport, HostReport, PtxReport,
};
use crate::streams;
use crate::style::{ERROR, GOOD, QUIET, count};
pub(super) use table::clean;
use table::{Align, Table};

/// How much is shown, and how.
#[derive(Debug)]
pub(super) struct Style {
    /// Names as the files have them.
    pub(super) mangled: bool,
    /// The parameters of each kernel.
    pub(super) parameters: bool,
    /// Also what is of no use after the device link.
    pub(super) all: bool,
    /// Nothing but the contents of sections.
    pub(super) only_contents: bool,
    /// Images for other processors are left out.
    pub(super) filtered: bool,
}

impl Style {
    fn name(&self, name: &Name) -> String {
        clean(if self.mangled {
            &name.name
        } else {
            name.pretty()
        })
    }
}

/// Writes the whole report. Files that cannot be read at all are left to the error stream.
pub(super) fn write(out: &mut impl Write, document: &Document, style: &Style) -> io::Result<()> {
    let mut first = true;
    for file in &document.files {
        if is_unreadable(file) {
            continue;
        }
        if !first {
            writeln!(out)?;
        }
        first = false;
        write_file(out, file, &streams::shown(&file.name), style)?;
    }
    Ok(())
}

fn is_unreadable(file: &FileReport) -> bool {
    file.error.is_some() && file.members.is_empty() && file.fatbins.is_empty()
}

/// What a file is, what it says of itself, and how large it is.
fn what_it_is(file: &FileReport) -> String {
    let mut words = vec![match (&file.archive, &file.host) {
        (Some(archive), _) => {
            let thin = if archive.thin { "thin " } else { "" };
            format!("{thin}archive of {}", count(file.members.len(), "member"))
        }
        (None, Some(host)) => format!("{} for {}", file.kind, host.machine),
        (None, None) => file.kind.to_string(),
    }];
    if let Some(PtxReport { version, target }) = &file.ptx {
        words.extend(version.iter().map(|version| format!("version {version}")));
        words.extend(target.iter().map(|target| format!("for {target}")));
    }
    words.push(size(file.size));
    words.join(", ")
}

fn write_file(
    out: &mut impl Write,
    file: &FileReport,
    name: &str,
    style: &Style,
) -> io::Result<()> {
    writeln!(
        out,
        "{GOOD}{}{GOOD:#}  {QUIET}{}{QUIET:#}",
        clean(name),
        clean(&what_it_is(file))
    )?;
    if let Some(failure) = &file.error {
        write_failure(out, failure, 2)?;
    }
    if let Some(host) = file.host.as_ref().filter(|_| !style.only_contents) {
        write_host(out, host, style)?;
    }
    if !file.fatbins.is_empty() {
        write_fatbins(out, &file.fatbins, style)?;
    }
    if let Some(image) = &file.image {
        image::write(out, image, style)?;
    }
    let is_host_code = file.host.is_some() || file.kind == InputKind::Bitcode;
    if is_host_code && file.fatbins.is_empty() && !style.only_contents {
        let what = if file.left_to_optimizer {
            "device code that -flto leaves to the link of host code"
        } else if is_offloading(file) {
            "device code in .llvm.offloading, which only Clang's own link understands"
        } else {
            "no device code"
        };
        writeln!(out, "  {QUIET}{what}{QUIET:#}")?;
    }
    write_members(out, file, name, style)
}

/// Members without device code are only counted: an `.rlib` is full of them.
fn write_members(
    out: &mut impl Write,
    file: &FileReport,
    name: &str,
    style: &Style,
) -> io::Result<()> {
    let (shown, other): (Vec<_>, Vec<_>) = file.members.iter().partition(|m| is_of_interest(m));
    for member in shown {
        writeln!(out)?;
        write_file(out, member, &format!("{name}:{}", member.name), style)?;
    }
    if !other.is_empty() && !style.only_contents {
        let what = if style.filtered {
            "such images"
        } else {
            "device code"
        };
        let members = count(other.len(), "member");
        writeln!(out, "\n  {QUIET}{members} without {what}{QUIET:#}")?;
    }
    Ok(())
}

fn is_offloading(file: &FileReport) -> bool {
    file.host.as_ref().is_some_and(|host| host.offloading)
}

fn is_of_interest(file: &FileReport) -> bool {
    file.error.is_some()
        || file.image.is_some()
        || file.left_to_optimizer
        || is_offloading(file)
        || matches!(file.kind, InputKind::Ptx | InputKind::LtoIr)
        || file
            .fatbins
            .iter()
            .any(|f| f.error.is_some() || !f.entries.is_empty())
        || file.members.iter().any(is_of_interest)
}

fn write_host(out: &mut impl Write, host: &HostReport, style: &Style) -> io::Result<()> {
    /// More modules than this fill a screen and tell nothing.
    const MODULES: usize = 8;
    let linked: BTreeSet<&str> = host
        .modules
        .iter()
        .filter(|m| m.linked)
        .map(|m| m.id.as_str())
        .collect();
    let shown: Vec<_> = host
        .modules
        .iter()
        .filter(|m| m.linked || !linked.contains(m.id.as_str()))
        .collect();
    let limit = if style.all { usize::MAX } else { MODULES };
    for module in shown.iter().take(limit) {
        let state = if module.linked {
            "linked module"
        } else {
            "module"
        };
        writeln!(out, "  {QUIET}{state}{QUIET:#} {}", clean(&module.id))?;
    }
    if shown.len() > limit {
        writeln!(
            out,
            "  {QUIET}and {} more modules{QUIET:#}",
            shown.len() - limit
        )?;
    }
    let referred: Vec<_> = host
        .references
        .iter()
        .filter(|r| !r.patterns.is_empty())
        .map(|r| count(r.patterns.len(), &format!("{} {}", r.scope, r.kind)))
        .collect();
    if !referred.is_empty() {
        writeln!(
            out,
            "  {QUIET}host code refers to{QUIET:#} {}",
            referred.join(", ")
        )?;
    }
    Ok(())
}

fn write_fatbins(out: &mut impl Write, fatbins: &[FatbinReport], style: &Style) -> io::Result<()> {
    if !style.only_contents {
        write_image_table(out, fatbins)?;
    }
    // After the device link nothing uses the objects it was made from.
    let linked = fatbins
        .iter()
        .any(|f| f.section == Some(EXECUTABLE_SECTION));
    for fatbin in fatbins {
        if let Some(failure) = &fatbin.error {
            write_failure(out, failure, 2)?;
        }
        let leftover = linked && fatbin.section == Some(RELOCATABLE_SECTION);
        if leftover && !style.all && !style.only_contents {
            continue;
        }
        for entry in &fatbin.entries {
            if let Some(failure) = &entry.error {
                writeln!(out)?;
                writeln!(out, "  {}", image_name(entry))?;
                write_failure(out, failure, 4)?;
            }
            if let Some(image) = &entry.image {
                image::write(out, image, style)?;
            }
        }
    }
    Ok(())
}

/// The name by which nvcc's options call an image.
fn image_name(entry: &EntryReport) -> String {
    match (entry.kind.as_str(), entry.arch.strip_prefix("sm_")) {
        ("ptx" | "relocatable-ptx", Some(number)) => format!("compute_{number}"),
        ("ltoir", Some(number)) => format!("lto_{number}"),
        _ => entry.arch.clone(),
    }
}

fn write_image_table(out: &mut impl Write, fatbins: &[FatbinReport]) -> io::Result<()> {
    let mut table = Table::new(&[
        ("SECTION", Align::Left),
        ("IMAGE", Align::Left),
        ("KIND", Align::Left),
        ("SIZE", Align::Right),
        ("STORED", Align::Right),
        ("COMPRESSION", Align::Left),
        ("IDENTIFIER", Align::Left),
        ("OPTIONS", Align::Left),
    ]);
    for fatbin in fatbins {
        for entry in &fatbin.entries {
            let form = match &entry.image {
                Some(image) => image.object.clone(),
                None if entry.error.is_some() => "unreadable".to_owned(),
                None => match entry.kind.as_str() {
                    "ptx" => format!("PTX {}", entry.code_version),
                    "relocatable-ptx" => format!("linked PTX {}", entry.code_version),
                    "ltoir" => format!("LTO-IR {}", entry.code_version),
                    other => other.to_owned(),
                },
            };
            let debug = if entry.debug { ", debug" } else { "" };
            let narrow = if entry.address_bits == 64 {
                ""
            } else {
                ", 32-bit"
            };
            table.row(vec![
                fatbin.section.unwrap_or_default().to_owned(),
                image_name(entry),
                format!("{form}{debug}{narrow}"),
                entry.size.to_string(),
                entry.stored_size.to_string(),
                match entry.compression.as_str() {
                    "none" => "-".to_owned(),
                    other if entry.scrambled => format!("{other}, scrambled"),
                    other => other.to_owned(),
                },
                entry.identifier.clone().unwrap_or_default(),
                entry.options.clone().unwrap_or_default(),
            ]);
        }
    }
    table.write_apart(out, 2)
}

fn write_failure(out: &mut impl Write, failure: &Failure, indent: usize) -> io::Result<()> {
    let text = failure.to_string();
    let text = text.trim_start_matches([',', ':', ' ']);
    writeln!(
        out,
        "{:indent$}{ERROR}unreadable{ERROR:#}: {}",
        "",
        clean(text)
    )
}

/// A size for people.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_well() {
        for (bytes, expected) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1536, "1.5 KiB"),
            (3 << 20, "3.0 MiB"),
        ] {
            assert_eq!(size(bytes), expected);
        }
    }
}
