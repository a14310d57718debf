//! The framing that `.nv.info*` and `.nv.compat` share: attribute records.
//!
//! A record is a format byte, a code byte and two bytes of value. Only the
//! fourth format has a payload, whose length the value gives; the next record
//! starts at the next multiple of four.

use crate::error::ParseError;

/// How a record keeps its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// `EIFMT_NVAL`: the record's presence is all it says.
    NoValue,
    /// `EIFMT_BVAL`: one byte.
    Byte,
    /// `EIFMT_HVAL`: two bytes.
    Half,
    /// `EIFMT_SVAL`: a payload of as many bytes as the value says.
    Sized,
}

impl Format {
    /// The format of a number.
    pub fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::NoValue),
            2 => Some(Self::Byte),
            3 => Some(Self::Half),
            4 => Some(Self::Sized),
            _ => None,
        }
    }

    /// The number in the file.
    pub fn number(self) -> u8 {
        match self {
            Self::NoValue => 1,
            Self::Byte => 2,
            Self::Half => 3,
            Self::Sized => 4,
        }
    }

    /// The name, as cuobjdump prints it.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoValue => "EIFMT_NVAL",
            Self::Byte => "EIFMT_BVAL",
            Self::Half => "EIFMT_HVAL",
            Self::Sized => "EIFMT_SVAL",
        }
    }
}

/// One attribute record; `C` is the kind of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Record<'d, C> {
    /// How the value is kept.
    pub format: Format,
    /// What the record says.
    pub code: C,
    /// The two bytes behind the code. Of a sized record they are the length
    /// of the payload, of the others the value; unused bytes are kept.
    pub value: [u8; 2],
    /// The payload of a sized record, empty for the others.
    pub payload: &'d [u8],
}

/// Makes the code of a kind of records a number in files, and the name that cuobjdump prints in texts.
macro_rules! record_code {
    ($code:ident) => {
        impl From<u8> for $code {
            fn from(number: u8) -> Self {
                Self(number)
            }
        }

        impl From<$code> for u8 {
            fn from(code: $code) -> Self {
                code.0
            }
        }

        impl std::fmt::Display for $code {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self.short_name() {
                    Some(name) => write!(f, "{}{name}", Self::PREFIX),
                    None => write!(f, "{:#x}", self.0),
                }
            }
        }

        impl std::fmt::Debug for $code {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    };
}
pub(super) use record_code;

/// Size of a record without its payload.
const HEADER: usize = 4;

impl<'d, C> Record<'d, C> {
    /// A record that is its own message.
    pub fn no_value(code: C) -> Self {
        Self {
            format: Format::NoValue,
            code,
            value: [0; 2],
            payload: &[],
        }
    }

    /// A record of one byte.
    pub fn byte(code: C, value: u8) -> Self {
        Self {
            format: Format::Byte,
            code,
            value: [value, 0],
            payload: &[],
        }
    }

    /// A record of two bytes.
    pub fn half(code: C, value: u16) -> Self {
        Self {
            format: Format::Half,
            code,
            value: value.to_le_bytes(),
            payload: &[],
        }
    }

    /// A record with a payload; `None` if it is longer than a record can say.
    pub fn sized(code: C, payload: &'d [u8]) -> Option<Self> {
        Some(Self {
            format: Format::Sized,
            code,
            value: u16::try_from(payload.len()).ok()?.to_le_bytes(),
            payload,
        })
    }

    /// The value of a byte or half record, zero for one without a value, the
    /// length of the payload for a sized one.
    pub fn number(&self) -> u16 {
        match self.format {
            Format::NoValue => 0,
            Format::Byte => self.value[0].into(),
            Format::Half | Format::Sized => u16::from_le_bytes(self.value),
        }
    }

    /// The payload as 32-bit words; up to three bytes at its end are left out.
    pub fn words(&self) -> impl ExactSizeIterator<Item = u32> + use<'d, C> {
        let (words, _) = self.payload.as_chunks();
        words.iter().map(|word| u32::from_le_bytes(*word))
    }

    /// The payload's 32-bit word of an index.
    pub fn word(&self, index: usize) -> Option<u32> {
        let start = index.checked_mul(4)?;
        let bytes = self.payload.get(start..start.checked_add(4)?)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }

    /// The size in a section, padding included.
    pub fn encoded_size(&self) -> usize {
        HEADER + self.payload.len().next_multiple_of(4)
    }
}

impl<C: Copy + Into<u8>> Record<'_, C> {
    /// Appends the record. The length of the payload is written as it is,
    /// whatever [`Record::value`] says of it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let value = match self.format {
            Format::NoValue | Format::Byte | Format::Half => self.value,
            Format::Sized => (self.payload.len() as u16).to_le_bytes(),
        };
        out.extend([self.format.number(), self.code.into(), value[0], value[1]]);
        out.extend(self.payload);
        let padding = self.payload.len().next_multiple_of(4) - self.payload.len();
        out.extend(&[0; 3][..padding]);
    }
}

/// The records of a section, each checked as it is read. The first error is
/// the last item.
#[derive(Debug, Clone)]
pub struct Records<'d, C> {
    data: &'d [u8],
    offset: usize,
    code: std::marker::PhantomData<C>,
}

impl<'d, C> Records<'d, C> {
    /// Reads the bytes of a section.
    pub fn new(data: &'d [u8]) -> Self {
        Self {
            data,
            offset: 0,
            code: std::marker::PhantomData,
        }
    }

    /// Offset of the next record in the section.
    pub fn offset(&self) -> usize {
        self.offset
    }
}

impl<'d, C: From<u8>> Records<'d, C> {
    // To hand a record over in memory takes longer than to read it.
    #[inline]
    fn read(&mut self) -> Result<Record<'d, C>, ParseError> {
        let start = self.offset;
        let rest = &self.data[start..];
        let Some((&[format, code, low, high], body)) = rest.split_first_chunk::<HEADER>() else {
            return Err(self.truncated("attribute record", HEADER));
        };
        let format = Format::from_number(format).ok_or_else(|| self.unknown(format, code))?;
        let value = u16::from_le_bytes([low, high]);
        let size = match format {
            Format::Sized => usize::from(value),
            Format::NoValue | Format::Byte | Format::Half => 0,
        };
        let payload = body
            .get(..size)
            .ok_or_else(|| self.truncated("payload of an attribute record", HEADER + size))?;
        // The last record of a section may lack its padding.
        self.offset = (start + HEADER + size.next_multiple_of(4)).min(self.data.len());
        Ok(Record {
            format,
            code: code.into(),
            value: value.to_le_bytes(),
            payload,
        })
    }

    #[cold]
    fn truncated(&self, what: &'static str, size: usize) -> ParseError {
        let start = self.offset as u64;
        ParseError::truncated(what, start + size as u64, self.data.len()).at(start)
    }

    #[cold]
    fn unknown(&self, format: u8, code: u8) -> ParseError {
        let problem = format!("attribute record of unknown format {format}, code {code:#x}");
        ParseError::malformed(problem).at(self.offset as u64)
    }
}

impl<'d, C: From<u8>> Iterator for Records<'d, C> {
    type Item = Result<Record<'d, C>, ParseError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.offset >= self.data.len() {
            return None;
        }
        let record = self.read();
        if record.is_err() {
            self.offset = self.data.len();
        }
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Raw<'d> = Record<'d, u8>;

    fn check(bytes: &[u8], expected: &[Raw<'_>]) {
        let records: Vec<Raw<'_>> = Records::new(bytes).collect::<Result<_, _>>().unwrap();
        assert_eq!(records, expected);
        let mut encoded = Vec::new();
        for record in &records {
            record.encode(&mut encoded);
        }
        assert_eq!(encoded, bytes);
        let size: usize = records.iter().map(Record::encoded_size).sum();
        assert_eq!(size, bytes.len());
    }

    #[test]
    fn every_format() {
        check(&[], &[]);
        check(&[1, 0x04, 0, 0], &[Raw::no_value(0x04)]);
        check(&[2, 0x4c, 3, 0], &[Raw::byte(0x4c, 3)]);
        check(&[3, 0x1b, 0xff, 0], &[Raw::half(0x1b, 0xff)]);
        check(
            &[4, 0x1c, 5, 0, 1, 2, 3, 4, 5, 0, 0, 0, 4, 0x2f, 0, 0],
            &[
                Raw::sized(0x1c, &[1, 2, 3, 4, 5]).unwrap(),
                Raw::sized(0x2f, &[]).unwrap(),
            ],
        );
    }

    #[test]
    fn words_of_a_payload() {
        let record = Raw::sized(0, &[1, 0, 0, 0, 2, 0, 0, 0, 9]).unwrap();
        assert_eq!(record.words().collect::<Vec<_>>(), [1, 2]);
        assert_eq!(record.word(1), Some(2));
        assert_eq!(record.word(2), None);
        assert_eq!(record.word(usize::MAX), None);
        assert_eq!(Raw::sized(0, &vec![0; 0x1_0000]), None);
    }

    #[test]
    fn damage_is_named_with_its_offset_and_ends_the_records() {
        let error = |bytes: &[u8]| {
            let mut records = Records::<u8>::new(bytes);
            let error = records.find_map(Result::err).unwrap().to_string();
            assert!(records.next().is_none());
            error
        };
        assert_eq!(
            error(&[1, 4, 0, 0, 9, 4, 0, 0]),
            "<memory>, offset 0x4: attribute record of unknown format 9, code 0x4"
        );
        assert_eq!(
            error(&[4, 4, 8, 0, 1, 2]),
            "<memory>, offset 0x0: payload of an attribute record ends at 0xc, past the 0x6 bytes there are"
        );
        assert_eq!(
            error(&[1, 4]),
            "<memory>, offset 0x0: attribute record ends at 0x4, past the 0x2 bytes there are"
        );
    }
}
