//! `ar` archives: GNU, thin, BSD and COFF ones, Rust's `.rlib`, and archives
//! inside archives.

mod damage;

use std::fmt;

use object::read::archive::{ArchiveFile, ArchiveKind, ArchiveMemberIterator};

use super::{InputKind, detect};
use crate::error::ParseError;

/// How deep archives may lie in archives. Rust puts one level into an `.rlib`.
pub const MAX_DEPTH: usize = 8;

/// How an archive spells long names and its symbol table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Flavour {
    /// System V and GNU tools.
    Gnu,
    /// BSD and macOS tools.
    Bsd,
    /// Windows tools.
    Coff,
    /// Only short names and no symbol table, so that nothing tells.
    Plain,
}

impl fmt::Display for Flavour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gnu => "gnu",
            Self::Bsd => "bsd",
            Self::Coff => "coff",
            Self::Plain => "plain",
        })
    }
}

/// An archive whose header and name table have been read.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Archive<'d> {
    /// How it spells things.
    pub flavour: Flavour,
    /// Whether its members are files elsewhere.
    pub thin: bool,
    file: ArchiveFile<'d>,
    data: &'d [u8],
}

/// One member of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Member<'d> {
    /// Its name; of a thin archive, the path from the archive's folder.
    pub name: String,
    /// Where its contents start in the archive.
    pub offset: u64,
    /// The size its header gives.
    pub size: u64,
    /// Its contents; absent from a thin archive.
    pub data: Option<&'d [u8]>,
}

impl<'d> Archive<'d> {
    /// Reads the header and the name table.
    pub fn parse(data: &'d [u8]) -> Result<Self, ParseError> {
        let file = ArchiveFile::parse(data).map_err(|e| damage::explain(data, &e.to_string()))?;
        let flavour = match file.kind() {
            ArchiveKind::Gnu | ArchiveKind::Gnu64 => Flavour::Gnu,
            ArchiveKind::Bsd | ArchiveKind::Bsd64 => Flavour::Bsd,
            ArchiveKind::Coff => Flavour::Coff,
            ArchiveKind::Unknown => Flavour::Plain,
            other => {
                let problem =
                    format!("archives of kind {other:?} hold no code for machines with CUDA");
                return Err(ParseError::malformed(problem).at(0));
            }
        };
        Ok(Self {
            flavour,
            thin: file.is_thin(),
            file,
            data,
        })
    }

    /// The members in file order, without symbol and name tables. Ends after
    /// the first one that cannot be read.
    pub fn members(&self) -> Members<'d> {
        Members {
            inner: Some(self.file.members()),
            data: self.data,
        }
    }
}

/// See [`Archive::members`].
#[derive(Debug)]
pub struct Members<'d> {
    inner: Option<ArchiveMemberIterator<'d>>,
    data: &'d [u8],
}

impl<'d> Iterator for Members<'d> {
    type Item = Result<Member<'d>, ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = |member: object::read::Result<object::read::archive::ArchiveMember<'d>>| {
            let member = member?;
            let data = (!member.is_thin())
                .then(|| member.data(self.data))
                .transpose()?;
            Ok(Member {
                name: String::from_utf8_lossy(member.name()).into_owned(),
                offset: member.file_range().0,
                size: member.size(),
                data,
            })
        };
        let result = read(self.inner.as_mut()?.next()?);
        if result.is_err() {
            self.inner = None;
        }
        Some(result.map_err(|e: object::read::Error| damage::explain(self.data, &e.to_string())))
    }
}

impl std::iter::FusedIterator for Members<'_> {}

/// Calls `visit` for every member that is not an archive itself, with the
/// names of the archives around it joined by `:`. Stops at the first error.
pub fn walk<'d, E: From<ParseError>>(
    name: &str,
    data: &'d [u8],
    visit: &mut impl FnMut(&str, Member<'d>) -> Result<(), E>,
) -> Result<(), E> {
    walk_at(name, data, MAX_DEPTH, visit)
}

fn walk_at<'d, E: From<ParseError>>(
    name: &str,
    data: &'d [u8],
    depth: usize,
    visit: &mut impl FnMut(&str, Member<'d>) -> Result<(), E>,
) -> Result<(), E> {
    let place = |e: ParseError| e.in_input(name);
    let Some(depth) = depth.checked_sub(1) else {
        return Err(place(too_deep()).into());
    };
    for member in Archive::parse(data).map_err(place)?.members() {
        let member = member.map_err(place)?;
        let path = format!("{name}:{}", member.name);
        match member.data {
            Some(inner) if detect(inner) == InputKind::Archive => {
                walk_at(&path, inner, depth, visit)?;
            }
            _ => visit(&path, member)?,
        }
    }
    Ok(())
}

/// The error for an archive below [`MAX_DEPTH`].
pub fn too_deep() -> ParseError {
    ParseError::malformed(format!(
        "archives lie in archives more than {MAX_DEPTH} deep"
    ))
}
