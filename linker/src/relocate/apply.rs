//! Applies, keeps or drops a single relocation.

use crate::arch::relocation::{ApplyError, BitField, Class, RelocationType, Row, Target};
use crate::error::{NvlinkError, ParseError};
use crate::merge::{Form, Relocation};

use super::Patched;
use super::resolve::{NO_BANK, Resolver};

/// What becomes of a relocation of an executable, or of what a relocatable link
/// decides.
enum Fate {
    /// Nobody needs it.
    Dropped,
    /// Its field becomes 0.
    Cleared,
    /// Its field gets a value.
    Resolved(Target),
    /// This field gets the addend alone, as the code need not yield to other programs (case `older_virtual`).
    Idle(BitField),
    /// It stays for the driver or a later link, with this type.
    Kept(RelocationType),
}

/// Applies a relocation, keeps it, or drops it. `at` is where its field is; `None` if the
/// bytes have none.
pub(super) fn apply(
    resolver: &Resolver<'_, '_>,
    patched: &mut Patched<'_>,
    relocation: &Relocation,
    at: Option<u64>,
) -> Result<(), ParseError> {
    let place = Place(relocation);
    if resolver.is_of_other_generation(relocation) {
        let problem = place.fail("the type is not one of Mercury code");
        return Err(problem.as_nvlink(NvlinkError::UnexpectedRelocation));
    }
    // Up to sm_90 the types of Mercury code count as unknown (case `unknown_relocation`).
    let is_known = |_: &&Row| !place.kind().is_mercury() || resolver.has_mercury();
    let Some(row) = place.kind().row().filter(is_known) else {
        return match resolver.takes_unknown(relocation) {
            true => place.keep_unknown(resolver, patched),
            false => {
                let problem = place.fail("the type is not known");
                Err(problem.as_nvlink(NvlinkError::UnexpectedRelocationSymbol))
            }
        };
    };
    let beyond = |error: ApplyError| place.beyond(&error);
    let names_nothing = resolver.names_nothing(relocation);
    if resolver.leaves_addresses() && !names_nothing {
        return place.leave(resolver, row, patched);
    }
    match place.fate(resolver, row)? {
        Fate::Dropped => Ok(()),
        Fate::Cleared => {
            if resolver.is_recorded(relocation) {
                patched.resolved.push(*relocation);
            }
            let bytes = patched.bytes.to_mut();
            row.apply(bytes, relocation.offset, Target::plain(0))
                .map_err(beyond)
        }
        Fate::Resolved(target) => place.resolve(resolver, row, patched, target, at),
        Fate::Idle(field) => {
            if resolver.is_recorded(relocation) {
                patched.resolved.push(*relocation);
            }
            let bytes = patched.bytes.to_mut();
            let addend = relocation.addend as u64;
            Row::settle(&field, bytes, relocation.offset, addend).map_err(beyond)
        }
        Fate::Kept(kind) => place.keep(resolver, row, patched, kind),
    }
}

/// A relocation, for messages about it.
struct Place<'r>(&'r Relocation);

impl Place<'_> {
    fn kind(&self) -> RelocationType {
        RelocationType(self.0.kind)
    }

    fn fail(&self, text: &str) -> ParseError {
        let text = format!("relocation {}: {text}", self.kind());
        ParseError::malformed(text).at(self.0.offset)
    }

    fn outside(&self, end: u64) -> ParseError {
        self.fail(&format!("it lies outside of the {end:#x} bytes there are"))
    }

    /// nvlink has a message for a field outside of its section, but for no other field that cannot be patched.
    fn beyond(&self, error: &ApplyError) -> ParseError {
        let problem = self.fail(&error.to_string());
        match error {
            ApplyError::PastEnd { .. } => problem.as_nvlink(NvlinkError::NoRelocatedPlace),
            _ => problem,
        }
    }

    /// Leaves a relocation to a later link, as it is.
    fn leave(
        &self,
        resolver: &Resolver<'_, '_>,
        row: &Row,
        patched: &mut Patched<'_>,
    ) -> Result<(), ParseError> {
        let Self(relocation) = *self;
        if relocation.discarded {
            return Ok(());
        }
        let end = resolver.end_of_expanded_code();
        let end = end.unwrap_or(patched.bytes.len() as u64);
        if relocation.offset >= end {
            return Err(self.outside(end));
        }
        let needs_addend = relocation.addend != 0 || resolver.writes_addends();
        patched.kept.push(match needs_addend {
            true => self.with_addend(row, &patched.bytes, *relocation)?,
            false => *relocation,
        });
        Ok(())
    }

    /// What becomes of the relocation, by its type and target.
    fn fate(&self, resolver: &Resolver<'_, '_>, row: &Row) -> Result<Fate, ParseError> {
        let Self(relocation) = *self;
        let removed = resolver.is_removed(relocation);
        let is_function = resolver.is_function(relocation);
        let is_cleared = removed || resolver.is_shared_for_launch(relocation);
        if row.class == Class::UnusedClear && is_cleared && !relocation.discarded {
            return Ok(Fate::Cleared);
        }
        if resolver.names_nothing(relocation) {
            return Ok(match row.class {
                Class::Yield(field) if resolver.none_yields() => Fate::Idle(field),
                Class::Patch => Fate::Resolved(Target::in_bank(NO_BANK, 0)),
                Class::KeptForDriver => Fate::Kept(self.kind()),
                _ => Fate::Dropped,
            });
        }
        if removed || relocation.discarded || resolver.is_ignored(relocation) {
            return Ok(Fate::Dropped);
        }
        Ok(match (row.class, resolver.value(relocation)) {
            // The last link knows which addresses are unified (case
            // `every_relocation`).
            (Class::Unified { .. }, Some(_)) if !resolver.is_executable() => {
                Fate::Kept(self.kind())
            }
            (Class::Patch | Class::Slot | Class::Unified { .. }, Some(target)) => {
                Fate::Resolved(target)
            }
            (Class::Dropped | Class::Yield(_) | Class::UnusedClear, Some(_)) => Fate::Dropped,
            (Class::Dropped | Class::UnusedClear, None) if is_function => Fate::Dropped,
            (Class::Unified { plain }, None) if resolver.knows_no_unified() => Fate::Kept(plain),
            (Class::FunctionDescriptor, _) if !is_function => {
                return Err(self.fail("the target is not a function"));
            }
            (Class::PcRelative, Some(target)) if target.bank.is_some() => {
                let problem = self.fail("the target is not code");
                return Err(problem.as_nvlink(NvlinkError::BranchElsewhere));
            }
            (Class::KeptForDriver, Some(_)) if resolver.is_shared_without_name(relocation) => {
                let problem = self.fail("the driver knows no address of shared memory");
                return Err(problem.as_nvlink(NvlinkError::DeletedSymbol));
            }
            (Class::Refused, _) => {
                let problem = self.fail("the type is not for relocatable objects");
                return Err(problem.as_nvlink(match resolver.has_mercury() {
                    true => NvlinkError::UnexpectedRelocation,
                    false => NvlinkError::UnexpectedRelocationSymbol,
                }));
            }
            (Class::KeptForDriver | Class::FunctionDescriptor | Class::PcRelative, _)
            | (
                Class::Patch
                | Class::Slot
                | Class::Unified { .. }
                | Class::Dropped
                | Class::Yield(_)
                | Class::UnusedClear,
                None,
            ) => Fate::Kept(self.kind()),
        })
    }

    /// Writes the value of the target into the field at `at`, if the bytes have it.
    fn resolve(
        &self,
        resolver: &Resolver<'_, '_>,
        row: &Row,
        patched: &mut Patched<'_>,
        target: Target,
        at: Option<u64>,
    ) -> Result<(), ParseError> {
        let Self(relocation) = *self;
        if resolver.is_recorded(relocation) {
            let known = self.with_addend(row, &patched.bytes, *relocation);
            let kind = match row.class {
                Class::Unified { plain } if resolver.knows_no_unified() => plain.0,
                _ => relocation.kind,
            };
            patched.resolved.push(Relocation {
                kind,
                ..known.unwrap_or(*relocation)
            });
        }
        let end = resolver.end_of_expanded_code();
        if let Some(end) = end.filter(|&end| relocation.offset >= end) {
            return Err(self.outside(end).as_nvlink(NvlinkError::NoRelocatedPlace));
        }
        if resolver.is_in_moved_variables() {
            let problem = self.fail("the index has moved the unified variable that holds it");
            return Err(problem.as_nvlink(NvlinkError::NoRelocatedPlace));
        }
        let Some(at) = at else { return Ok(()) };
        let (value, addend) = match relocation.form {
            Form::Rela => (target.value, Some(relocation.addend)),
            Form::Rel | Form::Added => (target.value.wrapping_add(relocation.addend as u64), None),
        };
        let target = Target { value, ..target };
        row.resolve(patched.bytes.to_mut(), at, target, addend)
            .map_err(|error| self.beyond(&error))
    }

    /// Keeps a relocation for the driver or a later link.
    fn keep(
        &self,
        resolver: &Resolver<'_, '_>,
        row: &Row,
        patched: &mut Patched<'_>,
        kind: RelocationType,
    ) -> Result<(), ParseError> {
        let Self(relocation) = *self;
        let end = resolver.end_of_expanded_code();
        let end = end.unwrap_or(patched.bytes.len() as u64);
        if relocation.offset >= end {
            let problem = self.outside(end);
            return Err(problem.as_nvlink(NvlinkError::RelocationPastEnd));
        }
        if resolver.is_nameless(relocation.symbol) {
            let problem = self.fail("the compiler keeps the name of the target to itself");
            return Err(problem.as_nvlink(NvlinkError::DeletedSymbol));
        }
        if let Some(target) = resolver.expected_handle(relocation) {
            let (bytes, addend) = (patched.bytes.to_mut(), Some(relocation.addend));
            row.resolve(bytes, relocation.offset, target, addend)
                .map_err(|error| self.beyond(&error))?;
        }
        let kept = Relocation {
            kind: kind.0,
            symbol: resolver.first_name(relocation.symbol),
            ..*relocation
        };
        patched.kept.push(match resolver.writes_addends() {
            true => self.with_addend(row, &patched.bytes, kept)?,
            false => kept,
        });
        Ok(())
    }

    /// Keeps a relocation of a type that is not known.
    fn keep_unknown(
        &self,
        resolver: &Resolver<'_, '_>,
        patched: &mut Patched<'_>,
    ) -> Result<(), ParseError> {
        let Self(relocation) = *self;
        if relocation.discarded || resolver.is_removed(relocation) {
            return Ok(());
        }
        let end = patched.bytes.len() as u64;
        if relocation.offset >= end {
            let problem = self.outside(end);
            return Err(problem.as_nvlink(NvlinkError::RelocationPastEnd));
        }
        patched.kept.push(Relocation {
            symbol: resolver.first_name(relocation.symbol),
            ..*relocation
        });
        Ok(())
    }

    /// A relocation with the addend that its field holds.
    fn with_addend(
        &self,
        row: &Row,
        bytes: &[u8],
        relocation: Relocation,
    ) -> Result<Relocation, ParseError> {
        if relocation.form == Form::Rela {
            return Ok(relocation);
        }
        let field = match row.implicit_addend(bytes, relocation.offset) {
            // What the driver patches without bits that a link knows holds none.
            Err(ApplyError::NoField(_)) if relocation.addend == 0 => 0,
            field => field.map_err(|error| self.beyond(&error))?,
        };
        Ok(Relocation {
            addend: relocation.addend.wrapping_add(field as i64),
            form: Form::Rela,
            ..relocation
        })
    }
}
