//! Phase 2: many objects become one set of sections, symbols and functions.
//!
//! What comes out has no addresses and owns no section bytes: a section is a
//! list of contributions that borrow the inputs. Everything stands in the
//! order in which it was created, because that order is visible in the output.
//! Names are looked up here and nowhere later.

mod clashes;
mod compat;
mod constants;
mod contributions;
mod current;
mod functions;
mod graph;
mod index;
mod info;
mod mended;
mod merged;
mod merger;
mod native;
mod notes;
mod objects;
mod placed;
mod relocations;
mod rows;
mod same_named;
mod section;
mod shared;
mod stale;
mod symbols;
mod tables;
mod unified;

pub(crate) use compat::Compat;
pub(crate) use constants::{BANK_LIMIT, RECORDED};
pub(crate) use contributions::Contribution;
pub(crate) use info::FIRST_MERCURY_VERSION;
pub(crate) use merged::Merged;
pub(crate) use notes::{Notes, Share};
pub(crate) use objects::merge;
pub(crate) use rows::{
    Definition, Function, InfoRecord, ListedShared, Listing, ParameterBank, Payload, SharedHome,
    Strays, Symbol, TableBranch,
};
pub(crate) use section::{
    Content, Form, NativeContent, NewSection, Relocation, Section, SectionKind,
};
pub(crate) use shared::PLACED_ALIGN;
pub(crate) use unified::{NativeSlot, Slot, Unified, UnifiedMember, missing_in_slot};

/// Size of the slot of a unified function.
pub(crate) const STUB_SIZE: u64 = 128;

/// Size of a slot in expanded Mercury code, to which nvlink adds two instructions.
pub(crate) const MERCURY_STUB_SIZE: u64 = 160;
