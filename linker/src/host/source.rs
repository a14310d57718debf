//! The same in C, for hosts that no object is written for, and what NVIDIA's own source of the kind includes.

use std::fmt::Write as _;

use super::{
    FATBIN_SECTION, HostError, HostObject, REGISTER_PREFIX, WRAPPER_MAGIC, WRAPPER_PREFIX,
    WRAPPER_SECTION, WRAPPER_VERSION,
};

/// Before the images and the modules.
const BEGINNING: &str = include_str!("source/beginning.c");
/// Behind them.
const END: &str = include_str!("source/end.c");

pub(super) fn write(host: &HostObject<'_>) -> Result<String, HostError> {
    for module in host.modules {
        // The prefix comes first, so that a digit may.
        if !module
            .bytes()
            .all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
        {
            return Err(HostError::NoIdentifier(module.clone()));
        }
    }
    let mut text = String::with_capacity(BEGINNING.len() + END.len() + 3 * host.fatbin.len());
    text.push_str(BEGINNING);
    let _ = writeln!(text, "\n#define MODULES {}\n", host.modules.len());
    text.push_str("FATBIN_SECTION static const unsigned long long fatbin[] = {\n");
    write_words(&mut text, host.fatbin);
    text.push_str("};\n\n");
    if host.modules.is_empty() {
        return Ok(text);
    }
    text.push_str("MODULE_ID_SECTION static const char module_ids[] =");
    for module in host.modules {
        let _ = write!(text, "\n    \"def {module}\\0\"");
    }
    text.push_str(";\n");
    text.push_str(END);
    for module in host.modules {
        let _ = writeln!(
            text,
            "\nHIDDEN extern const struct wrapper {WRAPPER_PREFIX}{module};\n\
             HIDDEN void {REGISTER_PREFIX}{module}(callback *call, const struct wrapper *from,\n    \
             const void *name, void (*keep)(void *))\n{{\n    \
             (void)from; (void)name; (void)keep;\n    \
             cudalink_register(call, &{WRAPPER_PREFIX}{module});\n}}"
        );
    }
    Ok(text)
}

/// What `link.stub` of a CUDA toolkit includes as `FATBINFILE`, in the place of what `fatbinary --embedded-fatbin` writes:
/// a fatbin, and the wrapper of which it takes the address.
pub fn embedded(fatbin: &[u8]) -> String {
    let mut text = String::with_capacity(0x200 + 3 * fatbin.len());
    let _ = writeln!(
        text,
        "#include \"fatbinary_section.h\"\n\n\
         static const unsigned long long fatbin[]\n    \
         __attribute__((section(\"{FATBIN_SECTION}\"), aligned(8))) = {{"
    );
    write_words(&mut text, fatbin);
    let _ = writeln!(
        text,
        "}};\n\n\
         static const __fatBinC_Wrapper_t __fatDeviceText\n    \
         __attribute__((section(\"{WRAPPER_SECTION}\"), aligned(8))) =\n    \
         {{{WRAPPER_MAGIC:#x}, {WRAPPER_VERSION}, fatbin, (void **)__cudaPrelinkedFatbins}};"
    );
    text
}

/// Writes the elements of a C array that holds the bytes, filled up with zeros. They are of eight bytes, of type
/// `unsigned long long`, because an array of single bytes takes a compiler a hundred times longer.
pub fn write_words(text: &mut String, bytes: &[u8]) {
    for line in bytes.chunks(64) {
        for word in line.chunks(8) {
            let mut bytes = [0; 8];
            bytes[..word.len()].copy_from_slice(word);
            let _ = write!(text, "{:#x},", u64::from_le_bytes(bytes));
        }
        text.push('\n');
    }
}
