//! The `R_MERCURY_*` relocations: the second world of Blackwell objects.
//!
//! Offsets against `.nv.capmerc.text.*` count bytes of the expanded code, so
//! the fields below describe values, not places in the stored bytes.

use super::row::{Row, field};
use super::{RelocationType, rows};

rows! {
    ROWS from 0x10000;
    65536 R_MERCURY_NONE => Row::REFUSED;
    65537 R_MERCURY_G64 => Row::KEPT_FOR_DRIVER;
    65538 R_MERCURY_ABS64 => Row::patch(&[field(0, 0, 64)]);
    65539 R_MERCURY_ABS32 => Row::patch(&[field(0, 0, 32)]);
    65540 R_MERCURY_ABS16 => Row::patch(&[field(0, 0, 16)]);
    65541 R_MERCURY_ABS32_LO => Row::KEPT_FOR_DRIVER;
    65542 R_MERCURY_ABS32_HI => Row::KEPT_FOR_DRIVER;
    65543 R_MERCURY_PROG_REL64 => Row::PC_RELATIVE;
    65544 R_MERCURY_PROG_REL32 => Row::PC_RELATIVE;
    65545 R_MERCURY_PROG_REL32_LO => Row::PC_RELATIVE;
    65546 R_MERCURY_PROG_REL32_HI => Row::PC_RELATIVE;
    65547 R_MERCURY_TEX_HEADER_INDEX => Row::KEPT_FOR_DRIVER;
    65548 R_MERCURY_SAMP_HEADER_INDEX => Row::KEPT_FOR_DRIVER;
    65549 R_MERCURY_SURF_HEADER_INDEX => Row::KEPT_FOR_DRIVER;
    65550 R_MERCURY_UNUSED_CLEAR64 => Row::unused_clear(&[field(0, 0, 64)]);
    65551 R_MERCURY_FUNC_DESC_64 => Row::FUNCTION_DESCRIPTOR;
    65552 R_MERCURY_8_0 => Row::patch(&[field(0, 0, 8)]);
    65553 R_MERCURY_8_8 => Row::patch(&[field(0, 8, 8)]);
    65554 R_MERCURY_8_16 => Row::patch(&[field(0, 16, 8)]);
    65555 R_MERCURY_8_24 => Row::patch(&[field(0, 24, 8)]);
    65556 R_MERCURY_8_32 => Row::patch(&[field(0, 32, 8)]);
    65557 R_MERCURY_8_40 => Row::patch(&[field(0, 40, 8)]);
    65558 R_MERCURY_8_48 => Row::patch(&[field(0, 48, 8)]);
    65559 R_MERCURY_8_56 => Row::patch(&[field(0, 56, 8)]);
    65560 R_MERCURY_G8_0 => Row::KEPT_FOR_DRIVER;
    65561 R_MERCURY_G8_8 => Row::KEPT_FOR_DRIVER;
    65562 R_MERCURY_G8_16 => Row::KEPT_FOR_DRIVER;
    65563 R_MERCURY_G8_24 => Row::KEPT_FOR_DRIVER;
    65564 R_MERCURY_G8_32 => Row::KEPT_FOR_DRIVER;
    65565 R_MERCURY_G8_40 => Row::KEPT_FOR_DRIVER;
    65566 R_MERCURY_G8_48 => Row::KEPT_FOR_DRIVER;
    65567 R_MERCURY_G8_56 => Row::KEPT_FOR_DRIVER;
    65568 R_MERCURY_FUNC_DESC_8_0 => Row::KEPT_FOR_DRIVER;
    65569 R_MERCURY_FUNC_DESC_8_8 => Row::KEPT_FOR_DRIVER;
    65570 R_MERCURY_FUNC_DESC_8_16 => Row::KEPT_FOR_DRIVER;
    65571 R_MERCURY_FUNC_DESC_8_24 => Row::KEPT_FOR_DRIVER;
    65572 R_MERCURY_FUNC_DESC_8_32 => Row::KEPT_FOR_DRIVER;
    65573 R_MERCURY_FUNC_DESC_8_40 => Row::KEPT_FOR_DRIVER;
    65574 R_MERCURY_FUNC_DESC_8_48 => Row::KEPT_FOR_DRIVER;
    65575 R_MERCURY_FUNC_DESC_8_56 => Row::KEPT_FOR_DRIVER;
    65576 R_MERCURY_ABS_PROG_REL32_LO => Row::KEPT_FOR_DRIVER;
    65577 R_MERCURY_ABS_PROG_REL32_HI => Row::KEPT_FOR_DRIVER;
    65578 R_MERCURY_PROG_REL8_0 => Row::PC_RELATIVE;
    65579 R_MERCURY_PROG_REL8_8 => Row::PC_RELATIVE;
    65580 R_MERCURY_PROG_REL8_16 => Row::PC_RELATIVE;
    65581 R_MERCURY_PROG_REL8_24 => Row::PC_RELATIVE;
    65582 R_MERCURY_PROG_REL8_32 => Row::PC_RELATIVE;
    65583 R_MERCURY_PROG_REL8_40 => Row::PC_RELATIVE;
    65584 R_MERCURY_PROG_REL8_48 => Row::PC_RELATIVE;
    65585 R_MERCURY_PROG_REL8_56 => Row::PC_RELATIVE;
    65586 R_MERCURY_UNIFIED => Row::unified(&[field(0, 0, 64)], RelocationType::R_MERCURY_ABS64);
    65587 R_MERCURY_UNIFIED_32 => Row::unified(&[field(0, 0, 32)], RelocationType::R_MERCURY_ABS32);
    65588 R_MERCURY_UNIFIED_8_0 => Row::unified(&[field(0, 0, 8)], RelocationType::R_MERCURY_8_0);
    65589 R_MERCURY_UNIFIED_8_8 => Row::unified(&[field(0, 8, 8)], RelocationType::R_MERCURY_8_8);
    65590 R_MERCURY_UNIFIED_8_16 => Row::unified(&[field(0, 16, 8)], RelocationType::R_MERCURY_8_16);
    65591 R_MERCURY_UNIFIED_8_24 => Row::unified(&[field(0, 24, 8)], RelocationType::R_MERCURY_8_24);
    65592 R_MERCURY_UNIFIED_8_32 => Row::unified(&[field(0, 32, 8)], RelocationType::R_MERCURY_8_32);
    65593 R_MERCURY_UNIFIED_8_40 => Row::unified(&[field(0, 40, 8)], RelocationType::R_MERCURY_8_40);
    65594 R_MERCURY_UNIFIED_8_48 => Row::unified(&[field(0, 48, 8)], RelocationType::R_MERCURY_8_48);
    65595 R_MERCURY_UNIFIED_8_56 => Row::unified(&[field(0, 56, 8)], RelocationType::R_MERCURY_8_56);
    65596 R_MERCURY_ABS_PROG_REL32 => Row::KEPT_FOR_DRIVER;
    65597 R_MERCURY_ABS_PROG_REL64 => Row::KEPT_FOR_DRIVER;
    65598 R_MERCURY_UNIFIED32_LO => Row::unified(&[], RelocationType::R_MERCURY_ABS32_LO);
    65599 R_MERCURY_UNIFIED32_HI => Row::unified(&[], RelocationType::R_MERCURY_ABS32_HI);
}
