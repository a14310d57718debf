//! ELF notes: which tools made a file, and for which processor.

use crate::error::{ParseError, Problem};

/// The owner of every note the CUDA tools write.
pub const OWNER: &str = "NVIDIA Corp";

/// `n_type` of a note. Any number is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NoteKind(pub u32);

impl NoteKind {
    /// `.note.nv.cuinfo`, in CUDA 12 `.note.nv.cuver`: a [`DeviceNote`].
    pub const DEVICE: Self = Self(1000);
    /// `.note.nv.tkinfo`: a [`ToolNote`].
    pub const TOOL: Self = Self(2000);
}

/// One note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Note<'d> {
    /// What the description holds.
    pub kind: NoteKind,
    /// Who defines [`Note::kind`], without the NUL at its end.
    pub owner: &'d str,
    /// The description, without padding.
    pub description: &'d [u8],
}

/// Size of a note before its owner.
const HEADER: usize = 12;

impl<'d> Note<'d> {
    /// Reads all notes of a section.
    pub fn parse_all(data: &'d [u8]) -> Result<Vec<Self>, ParseError> {
        let mut notes = Vec::new();
        let mut offset = 0;
        while offset < data.len() {
            let at = |problem| ParseError::new(problem).at(offset as u64);
            let [owner_size, size, kind] = words(data, offset, "note header").map_err(at)?;
            let (owner_size, size) = (owner_size as usize, size as usize);
            let owner = offset + HEADER;
            let owner_bytes = bytes(data, owner, owner_size, "owner of a note").map_err(at)?;
            let start = owner + owner_size.next_multiple_of(4);
            let description = bytes(data, start, size, "description of a note").map_err(at)?;
            let owner = owner_bytes
                .strip_suffix(&[0])
                .and_then(|bytes| std::str::from_utf8(bytes).ok())
                .ok_or_else(|| {
                    ParseError::malformed("owner of a note is not a string").at(offset as u64)
                })?;
            notes.push(Self {
                kind: NoteKind(kind),
                owner,
                description,
            });
            offset = start + size.next_multiple_of(4);
        }
        Ok(notes)
    }

    /// A note of the CUDA tools.
    pub fn nvidia(kind: NoteKind, description: &'d [u8]) -> Self {
        Self {
            kind,
            owner: OWNER,
            description,
        }
    }

    /// Appends the note, padded to four bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let words = [
            self.owner.len() as u32 + 1,
            self.description.len() as u32,
            self.kind.0,
        ];
        out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        out.extend(self.owner.bytes().chain([0]));
        pad(out, self.owner.len() + 1);
        out.extend(self.description);
        pad(out, self.description.len());
    }
}

/// What a tool writes of itself: the description of a [`NoteKind::TOOL`] note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolNote<'d> {
    /// Version of the note: 2.
    pub version: u32,
    /// The object's name; empty in every file seen.
    pub object: &'d str,
    /// `ptxas` or `nvlink`.
    pub tool: &'d str,
    /// Version line of the tool.
    pub tool_version: &'d str,
    /// Build line of the tool.
    pub branch: &'d str,
    /// The options, as the tool rebuilds them.
    pub options: &'d str,
}

/// The strings of a tool note, each with its offset.
pub type ToolStrings<'d> = [(u32, &'d [u8]); WORDS - 1];

/// What a tool note has before its strings: the version and five offsets.
const WORDS: usize = 6;

impl<'d> ToolNote<'d> {
    /// The section that holds it.
    pub const SECTION: &'static str = ".note.nv.tkinfo";

    /// Reads a description.
    pub fn parse(description: &'d [u8]) -> Result<Self, ParseError> {
        let (version, strings) = Self::strings(description)?;
        let string = |index: usize| {
            let (offset, bytes) = strings[index - 1];
            std::str::from_utf8(bytes).map_err(|_| Self::no_string(index, offset))
        };
        Ok(Self {
            version,
            object: string(1)?,
            tool: string(2)?,
            tool_version: string(3)?,
            branch: string(4)?,
            options: string(5)?,
        })
    }

    /// The version, and the strings in their order with their offsets. Names of files in them need not be text.
    pub fn strings(description: &'d [u8]) -> Result<(u32, ToolStrings<'d>), ParseError> {
        let head: [u32; WORDS] = words(description, 0, "tool note").map_err(ParseError::new)?;
        let [version, offsets @ ..] = head;
        let all = &description[WORDS * 4..];
        let mut strings = offsets.map(|offset| (offset, &[][..]));
        for (index, (offset, string)) in strings.iter_mut().enumerate() {
            let rest = all.get(*offset as usize..).unwrap_or_default();
            let end = rest.iter().position(|&byte| byte == 0);
            *string = &rest[..end.ok_or_else(|| Self::no_string(index + 1, *offset))?];
        }
        Ok((version, strings))
    }

    fn no_string(index: usize, offset: u32) -> ParseError {
        let problem = format!("string {index} of a tool note at {offset:#x} is no string");
        ParseError::malformed(problem).at(index as u64 * 4)
    }

    /// The description, padded to four bytes as the tools write it.
    pub fn encode(&self) -> Vec<u8> {
        let strings = [
            self.object,
            self.tool,
            self.tool_version,
            self.branch,
            self.options,
        ];
        let mut out = self.version.to_le_bytes().to_vec();
        let mut offset = 0u32;
        for string in strings {
            out.extend(offset.to_le_bytes());
            offset += string.len() as u32 + 1;
        }
        for string in strings {
            out.extend(string.bytes().chain([0]));
        }
        let size = out.len();
        pad(&mut out, size);
        out
    }
}

/// What a file is made for: the description of a [`NoteKind::DEVICE`] note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceNote {
    /// Version of the note: 2, or 1 in `.note.nv.cuver`.
    pub version: u16,
    /// Number of the virtual processor the code was compiled for.
    pub virtual_sm: u16,
    /// Version of the toolkit times ten: 130. Version 1 has 1 here.
    pub toolkit: u16,
    /// Zero.
    pub reserved: u16,
    /// A further word of version 1: 1.
    pub extra: Option<u32>,
}

impl DeviceNote {
    /// Reads a description.
    pub fn parse(description: &[u8]) -> Result<Self, ParseError> {
        let extra = match description.len() {
            8 => None,
            12 => read_u32(description, 2),
            size => {
                return Err(ParseError::malformed(format!(
                    "device note of {size} instead of 8 bytes"
                )));
            }
        };
        let half = |index: usize| u16::from_le_bytes([description[index], description[index + 1]]);
        Ok(Self {
            version: half(0),
            virtual_sm: half(2),
            toolkit: half(4),
            reserved: half(6),
            extra,
        })
    }

    /// The section that holds it today.
    pub const SECTION: &str = ".note.nv.cuinfo";
    /// The same of CUDA 12.
    pub const OLDER_SECTION: &str = ".note.nv.cuver";

    /// All of a section of notes.
    pub fn all(section: &[u8]) -> Result<Vec<Self>, ParseError> {
        let notes = Note::parse_all(section)?.into_iter();
        let notes = notes.filter(|note| note.kind == NoteKind::DEVICE);
        notes.map(|note| Self::parse(note.description)).collect()
    }

    /// What nvlink reads in a section of notes. It looks at two alone, and there where the words
    /// always are, whatever stands before them (case `odd_notes`).
    pub(crate) fn all_as_nvlink(name: &str, section: &[u8]) -> Result<Vec<Self>, ParseError> {
        match name {
            Self::SECTION | Self::OLDER_SECTION => Ok(vec![Self::in_place(section)?]),
            _ => Ok(Vec::new()),
        }
    }

    /// Reads it out of a section in which it is alone, whatever stands before it.
    fn in_place(section: &[u8]) -> Result<Self, ParseError> {
        let start = HEADER + (OWNER.len() + 1).next_multiple_of(4);
        let halves = bytes(section, start, 6, "device note").map_err(ParseError::new)?;
        let half = |index: usize| u16::from_le_bytes([halves[index], halves[index + 1]]);
        Ok(Self {
            version: half(0),
            virtual_sm: half(2),
            toolkit: half(4),
            reserved: 0,
            extra: None,
        })
    }

    /// The description.
    pub fn encode(self) -> Vec<u8> {
        let halves = [self.version, self.virtual_sm, self.toolkit, self.reserved];
        let mut out: Vec<u8> = halves.into_iter().flat_map(u16::to_le_bytes).collect();
        out.extend(self.extra.into_iter().flat_map(u32::to_le_bytes));
        out
    }

    /// The toolkit times ten, of notes that name it.
    pub fn toolkit(self) -> Option<u16> {
        (self.version >= 2).then_some(self.toolkit)
    }
}

fn bytes<'d>(
    data: &'d [u8],
    start: usize,
    size: usize,
    what: &'static str,
) -> Result<&'d [u8], Problem> {
    let end = start.saturating_add(size);
    data.get(start..end).ok_or(Problem::Truncated {
        what,
        end: end as u64,
        available: data.len() as u64,
    })
}

/// Words that have to be there.
fn words<const N: usize>(
    data: &[u8],
    start: usize,
    what: &'static str,
) -> Result<[u32; N], Problem> {
    let (words, _) = bytes(data, start, N * 4, what)?.as_chunks();
    Ok(std::array::from_fn(|index| {
        u32::from_le_bytes(words[index])
    }))
}

fn read_u32(data: &[u8], index: usize) -> Option<u32> {
    let word = data.get(index * 4..index * 4 + 4)?;
    Some(u32::from_le_bytes(word.try_into().ok()?))
}

/// Pads `out`, which ends with `size` bytes that began at a multiple of four.
fn pad(out: &mut Vec<u8>, size: usize) {
    out.extend(&[0; 3][..size.next_multiple_of(4) - size]);
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOL: ToolNote<'static> = ToolNote {
        version: 2,
        object: "",
        tool: "nvlink",
        tool_version: "Cuda compilation tools, release 13.0, V13.0.88",
        branch: "Build cuda_13.0.r13.0/compiler.36424714_0",
        options: "-arch sm_90 ",
    };

    #[test]
    fn tool_notes() {
        let description = TOOL.encode();
        assert_eq!(description.len(), 0x88);
        assert_eq!(
            description[4..24],
            [
                0, 0, 0, 0, 1, 0, 0, 0, 8, 0, 0, 0, 0x37, 0, 0, 0, 0x61, 0, 0, 0
            ]
        );
        assert_eq!(ToolNote::parse(&description), Ok(TOOL));
        let mut section = Vec::new();
        Note::nvidia(NoteKind::TOOL, &description).encode(&mut section);
        Note::nvidia(NoteKind::TOOL, &description).encode(&mut section);
        let notes = Note::parse_all(&section).unwrap();
        assert_eq!(notes.len(), 2);
        assert_eq!((notes[1].kind, notes[1].owner), (NoteKind::TOOL, OWNER));
        assert_eq!(notes[1].description, description);
    }

    #[test]
    fn device_notes() {
        let bytes = [2, 0, 90, 0, 130, 0, 0, 0];
        let note = DeviceNote::parse(&bytes).unwrap();
        assert_eq!((note.virtual_sm, note.toolkit), (90, 130));
        assert_eq!(note.encode(), bytes);
        let older = [1, 0, 100, 0, 1, 0, 0, 0, 1, 0, 0, 0];
        let note = DeviceNote::parse(&older).unwrap();
        assert_eq!((note.virtual_sm, note.toolkit()), (100, None));
        assert_eq!(note.encode(), older);
        assert_eq!(
            DeviceNote::parse(&bytes[..6]).unwrap_err().to_string(),
            "<memory>: device note of 6 instead of 8 bytes"
        );
    }

    #[test]
    fn device_notes_in_place() {
        let mut section = Vec::new();
        Note::nvidia(NoteKind::DEVICE, &[2, 0, 90, 0, 130, 0, 0, 0]).encode(&mut section);
        section[..12].fill(0xff);
        let note = DeviceNote::in_place(&section[..30]).unwrap();
        assert_eq!((note.virtual_sm, note.toolkit()), (90, Some(130)));
        assert!(DeviceNote::in_place(&section[..29]).is_err());
    }

    #[test]
    fn damage_is_named() {
        let error = |data: &[u8]| Note::parse_all(data).unwrap_err().to_string();
        assert_eq!(
            error(&[0; 5]),
            "<memory>, offset 0x0: note header ends at 0xc, past the 0x5 bytes there are"
        );
        assert_eq!(
            error(&[
                4, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, b'a', b'b', b'c', 0
            ]),
            "<memory>, offset 0x0: description of a note ends at 0x10000000f, past the 0x10 bytes there are"
        );
        assert_eq!(
            error(&[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, b'a', 0, 0, 0]),
            "<memory>, offset 0x0: owner of a note is not a string"
        );
        let mut description = TOOL.encode();
        description[8] = 0xff;
        assert_eq!(
            ToolNote::parse(&description).unwrap_err().to_string(),
            "<memory>, offset 0x8: string 2 of a tool note at 0xff is no string"
        );
    }
}
