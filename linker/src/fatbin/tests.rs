//! Real fatbins, the same ones with one field changed, and with any byte
//! changed.

use proptest::prelude::*;

use super::*;
use crate::arch::Sm;
use crate::error::ParseError;

const RAW: &[u8] = include_bytes!("../../tests/data/fatbin/raw.fatbin");
const LZ4: &[u8] = include_bytes!("../../tests/data/fatbin/lz4.fatbin");
const ZSTD: &[u8] = include_bytes!("../../tests/data/fatbin/zstd.fatbin");
const PTX: &[u8] = include_bytes!("../../tests/data/fatbin/scale.ptx");

/// Reads everything there is to read.
fn read_all(data: &[u8], limit: Limit) -> Result<Vec<Vec<u8>>, ParseError> {
    let mut images = Vec::new();
    for fatbin in fatbins(data) {
        for entry in fatbin?.entries() {
            images.push(entry?.image(limit)?.into_owned());
        }
    }
    Ok(images)
}

fn with(data: &[u8], offset: usize, bytes: &[u8]) -> Vec<u8> {
    let mut changed = data.to_vec();
    changed[offset..offset + bytes.len()].copy_from_slice(bytes);
    changed
}

/// The message of the first error, when `bytes` stand at `offset`.
fn check(data: &[u8], offset: usize, bytes: &[u8], expected: &str) {
    let error = read_all(&with(data, offset, bytes), Limit::default()).expect_err(expected);
    assert_eq!(error.to_string(), format!("<memory>, {expected}"));
}

#[test]
fn every_compression_gives_the_same_images() {
    let raw = read_all(RAW, Limit::default()).unwrap();
    assert_eq!(raw.len(), 2);
    assert!(raw[0].starts_with(b"\x7fELF"));
    assert_eq!(raw[1], PTX);
    assert_eq!(read_all(LZ4, Limit::default()).unwrap(), raw);
    assert_eq!(read_all(ZSTD, Limit::default()).unwrap(), raw);
}

#[test]
fn entries_say_what_they_are() {
    for (data, compression) in [
        (RAW, Compression::None),
        (LZ4, Compression::Lz4),
        (ZSTD, Compression::Zstd),
    ] {
        let entries = Fatbin::parse(data).unwrap().entries();
        let [elf, ptx] = &entries.collect::<Result<Vec<_>, _>>().unwrap()[..] else {
            panic!("two entries");
        };
        assert_eq!((elf.kind, ptx.kind), (Kind::ELF, Kind::PTX));
        assert_eq!(elf.code_version.to_string(), "1.8");
        assert_eq!(ptx.code_version.to_string(), "9.0");
        assert_eq!(elf.compiler_options(), None);
        assert_eq!(ptx.compiler_options(), Some(&b"-O1"[..]));
        for entry in [elf, ptx] {
            assert_eq!(entry.sm.to_string(), "sm_90");
            assert_eq!(entry.identifier, b"scale.cu");
            assert_eq!(entry.compression(), compression);
            assert!(entry.flags.has(Flags::WIDE | Flags::LINUX));
            assert!(!entry.flags.has(Flags::DEBUG));
            assert_eq!(entry.compat_record(), None);
        }
    }
}

#[test]
fn fatbins_may_follow_each_other() {
    let mut data = vec![0; 8];
    data.extend_from_slice(ZSTD);
    data.extend_from_slice(&[0; 24]);
    data.extend_from_slice(RAW);
    data.extend_from_slice(&[0; 8]);
    let found: Vec<_> = fatbins(&data).map(|f| f.unwrap()).collect();
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].offset, 8);
    assert_eq!(found[0].size, ZSTD.len() as u64);
    assert_eq!(found[1].offset, 32 + ZSTD.len() as u64);
    let raw = read_all(RAW, Limit::default()).unwrap();
    assert_eq!(
        read_all(&data, Limit::default()).unwrap(),
        [&raw[..], &raw[..]].concat()
    );
    assert!(read_all(&[0; 64], Limit::default()).unwrap().is_empty());
}

#[test]
fn unknown_kinds_are_kept() {
    let data = with(RAW, 16, &[77, 0]);
    let first = Fatbin::parse(&data).unwrap().entries().next().unwrap();
    assert_eq!(first.unwrap().kind.to_string(), "kind-77");
    assert_eq!(read_all(&data, Limit::default()).unwrap().len(), 2);
}

#[test]
fn suffixes_are_flags() {
    for (flag, expected) in [(0x10, "sm_90a"), (0x20, "sm_90f"), (0x00, "sm_90")] {
        let data = with(RAW, 16 + 0x2a, &[flag]);
        let first = Fatbin::parse(&data).unwrap().entries().next().unwrap();
        assert_eq!(first.unwrap().sm.to_string(), expected);
    }
}

#[test]
fn damaged_headers_are_errors() {
    check(
        RAW,
        0,
        b"PK",
        "offset 0x0: a fatbin starts with 0xba55ed50, not 0xba554b50",
    );
    check(
        RAW,
        4,
        &[2],
        "offset 0x4: fatbin version 2 is unknown; only version 1 is",
    );
    for size in [0, 8, 24] {
        check(
            RAW,
            6,
            &[size],
            &format!("offset 0x6: fatbin header size {size} instead of 16"),
        );
    }
    check(
        RAW,
        8,
        &[0xff; 8],
        "offset 0x10: fatbin ends at 0xffffffffffffffff, past the 0x1170 bytes there are",
    );
    for size in [0_u32, 0x38, 0x4c] {
        check(
            RAW,
            0x14,
            &size.to_le_bytes(),
            &format!(
                "offset 0x14: entry header size {size:#x} is not a multiple of 8 from 0x40 on"
            ),
        );
    }
    check(
        RAW,
        0x18,
        &[0xff; 8],
        "offset 0x60: fatbin entry payload ends at 0xffffffffffffffff, past the 0x1170 bytes there are",
    );
    check(
        RAW,
        0x2e,
        &[1],
        "offset 0x2c: processor number 65626 is beyond every processor",
    );
    check(
        RAW,
        0x20,
        &[1],
        "offset 0x20: compressed size 0x1 of an entry that is not compressed",
    );
    check(
        RAW,
        0x34,
        &[0, 1],
        "offset 0x50: fatbin entry identifier ends at 0x150, past the 0x60 bytes there are",
    );
    check(
        RAW,
        0x24,
        &[0x56],
        "offset 0x60: fatbin entry options ends at 0x6a, past the 0x60 bytes there are",
    );
    for end in 1..RAW.len() {
        assert!(read_all(&RAW[..end], Limit::default()).is_err(), "{end}");
    }
}

#[test]
fn lying_sizes_are_errors() {
    let promised = 16 + 0x38;
    check(
        ZSTD,
        promised,
        &[0xff; 8],
        "offset 0x60: the payload would take 0xffffffffffffffff bytes decompressed; the limit is 0x40000000",
    );
    check(
        LZ4,
        promised,
        &[0, 0, 0x20],
        "offset 0x60: 0x5a7 bytes of lz4 cannot hold the 0x200000 bytes that the entry promises",
    );
    check(
        ZSTD,
        promised,
        &[0, 0, 0, 0x30],
        "offset 0x60: 0x423 bytes of zstd cannot hold the 0x30000000 bytes that the entry promises",
    );
    let error = read_all(ZSTD, Limit(64)).unwrap_err().to_string();
    assert!(error.ends_with("the limit is 0x40"), "{error}");
}

#[test]
fn payloads_hold_what_their_entry_promises() {
    let size = Fatbin::parse(RAW)
        .unwrap()
        .entries()
        .next()
        .unwrap()
        .unwrap()
        .size;
    for (data, name) in [(LZ4, "lz4"), (ZSTD, "zstd")] {
        for promised in [size - 1, size + 1] {
            let changed = with(data, 16 + 0x38, &promised.to_le_bytes());
            let error = read_all(&changed, Limit::default())
                .unwrap_err()
                .to_string();
            assert!(error.contains(&format!("{name} payload")), "{error}");
        }
    }
}

#[test]
fn what_cannot_be_read_says_why() {
    let flags = 16 + 0x29;
    check(
        ZSTD,
        flags,
        &[0x10],
        "offset 0x60: the payload is compressed by an unknown method (flags 0x1000); \
         make the fatbin again with a toolkit of CUDA 12 or 13",
    );
    check(
        ZSTD,
        flags,
        &[0x80, 0x01],
        "offset 0x60: the elf payload is scrambled and cannot be read; \
         LTO-IR is readable when its fatbin is made without compression",
    );
}

proptest! {
    #[test]
    fn no_bytes_break_the_reader(
        which in 0..3_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        end in any::<prop::sample::Index>(),
    ) {
        let mut data = [RAW, LZ4, ZSTD][which].to_vec();
        for (at, byte) in &changes {
            let at = at.index(data.len());
            data[at] = *byte;
        }
        let _ = read_all(&data, Limit(1 << 20));
        data.truncate(end.index(data.len()));
        let _ = read_all(&data, Limit(1 << 20));
    }

    /// Changes in headers alone reach deeper than changes anywhere.
    #[test]
    fn no_header_breaks_the_reader(
        which in 0..3_usize,
        field in 0..0x58_usize,
        value in any::<u32>(),
    ) {
        let data = with([RAW, LZ4, ZSTD][which], field, &value.to_le_bytes());
        let _ = read_all(&data, Limit(1 << 20));
    }
}

/// The first entry of the raw fatbin, an image for sm_90.
fn image() -> Vec<u8> {
    let fatbin = Fatbin::parse(RAW).unwrap();
    let entry = fatbin.entries().next().unwrap().unwrap();
    entry.image(Limit::default()).unwrap().into_owned()
}

#[test]
fn written_fatbins_are_read_back() {
    let data = image();
    let names = ["sm_80", "sm_90a"];
    let images = names.map(|name| LinkedImage::new(name.parse::<Sm>().unwrap(), &data));
    for mode in ["none", "speed", "balance", "size", "zstd:1", "zstd:22"] {
        let options = FatbinOptions {
            identifier: "scale.o ".to_owned(),
            debug: true,
            compression: mode.parse().unwrap(),
        };
        let bytes = write(&images, &options).unwrap();
        assert_eq!(read_all(&bytes, Limit::default()).unwrap(), [&data[..]; 2]);
        for (entry, name) in Fatbin::parse(&bytes).unwrap().entries().zip(names) {
            let entry = entry.unwrap();
            assert_eq!(entry.sm.to_string(), name);
            assert_eq!(entry.identifier, b"scale.o ");
            assert!(entry.flags.has(Flags::WIDE | Flags::LINUX | Flags::DEBUG));
        }
    }
}

#[test]
fn images_with_compat_records_have_to_be_elf_files() {
    let image = LinkedImage::new(Sm::new(100), b"no image");
    let error = write(&[image], &FatbinOptions::default()).unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("the image for sm_100 cannot be put into a fatbin: "),
        "{text}"
    );
}

#[test]
fn ways_to_compress_have_names() {
    let check = |text: &str, expected: Option<CompressionMode>| {
        assert_eq!(text.parse().ok(), expected, "{text}");
    };
    check("large", Some(CompressionMode::Large));
    check("none", Some(CompressionMode::None));
    check("lz4", Some(CompressionMode::Lz4));
    check("balance", Some(CompressionMode::Zstd(5)));
    check("zstd:22", Some(CompressionMode::Zstd(22)));
    check("zstd:0", None);
    for word in CompressionMode::WORDS {
        assert!(word.parse::<CompressionMode>().is_ok(), "{word}");
    }
    check("zstd:23", None);
    check("best", None);
    for mode in [
        CompressionMode::Large,
        CompressionMode::LargeLz4,
        CompressionMode::None,
        CompressionMode::Lz4,
        CompressionMode::SIZE,
    ] {
        check(&mode.to_string(), Some(mode));
    }
}

#[test]
fn large_images_are_compressed_unless_it_is_told_otherwise() {
    let written = |size: usize, compression: CompressionMode| {
        let data = vec![0; size];
        let image = LinkedImage::new("sm_80".parse().unwrap(), &data);
        let options = FatbinOptions {
            compression,
            ..FatbinOptions::default()
        };
        write(&[image], &options).unwrap()
    };
    let compressed = |size, compression| written(size, compression).len() < size;
    assert!(!compressed(10_000_000, CompressionMode::default()));
    assert!(compressed(10_000_001, CompressionMode::default()));
    assert!(!compressed(10_000_001, CompressionMode::None));
    let (fast, large) = (CompressionMode::LargeLz4, 10_000_001);
    assert!(!compressed(10_000_000, fast));
    assert_eq!(written(large, fast), written(large, CompressionMode::Lz4));
}
