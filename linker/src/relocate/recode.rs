//! Machine code of kernels as nvlink makes it anew from Mercury code.
//!
//! An instruction of Mercury code can stand for several of machine code, and
//! nvlink chooses anew which ones. It sees the whole program where the
//! compiler saw a file (case `recode`):
//!
//! - A kernel that calls nothing outside of it needs no loads of shared memory
//!   before its memory barriers unless it copies to shared memory, and only one
//!   barrier where the compiler wrote a narrow one before a wide one, unless it
//!   has barriers in shared memory (case `recode_shared`).
//! - Code of CUDA 12 has an idle instruction behind `WARPSYNC.ALL`, which code of
//!   today has not, waits in another order where nothing is to be done, and waits less
//!   at the ends of collectives and behind memory barriers of block scope (case
//!   `older_objects`), and reads registers of the environment in another way ([`environment`]).
//!   That changes in all functions.
//! - Where code for debuggers is linked, all kernels report errors before they
//!   end, also in device functions. There, and in those that call functions, a memory
//!   barrier comes before that. So do they where the compiler of one file was asked for that (case
//!   `errors_visible`). Elsewhere what a relocatable link added goes (case `recode_exit`).
//!
//! The first leaves out what the compiler found necessary, so that this is only
//! for links that keep what nvlink keeps. Scoreboards are numbered anew in all
//! links ([`scoreboards`]). What is not known is left as it is.

mod alone;
mod aside;
mod choice;
mod control;
mod debug;
mod environment;
mod exits;
mod moves;
mod older;
mod recoded;
mod slower;
mod stored;
mod yields;

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::cubin::InfoCode;
use crate::diagnostic::Diagnostic;
use crate::id::{FunctionId, SectionId};
use crate::merge::{FIRST_MERCURY_VERSION, Function, Merged, Payload, TableBranch};
use crate::options::{Behaviour, DebugLevel};
use crate::parallel;
use crate::prune::Pruned;

use super::scoreboards::instruction::{INSTRUCTION, with_stack_pointer};
use super::scoreboards::{Compiled, Origin, Setting};
use super::{Relocated, debug_registers, place_inside, scoreboards};

pub(crate) use moves::Moves;
pub(crate) use older::renewed;
use recoded::Recoded;
pub(super) use stored::{Group, groups};

/// Recodes the native code of all kernels. Returns warnings about functions whose double-precision instructions are slower
/// on the target than their code waits for, and that cannot be recoded.
pub(crate) fn recode(
    relocated: &mut Relocated<'_>,
    behaviour: Behaviour,
    debug: DebugLevel,
) -> Vec<Diagnostic> {
    let merged = relocated.merged();
    if !merged.target.has_mercury() {
        return Vec::new();
    }
    let is_executable = merged.is_executable();
    let changing = changing(relocated, behaviour, debug);
    let effort = |changing: &Changing| {
        let size = merged.sections[changing.section].content.size;
        (size as usize).saturating_mul(CHOOSING)
    };
    let made = parallel::map_longest_first(&changing, effort, |changing| {
        Anew::new(relocated, changing, behaviour)
    });
    let warnings = match behaviour {
        Behaviour::Nvlink => Vec::new(),
        Behaviour::Own => warnings(relocated, &changing, &made),
    };
    let moves = replace(relocated, &changing, made);
    if !moves.is_empty() {
        debug::follow_tables(relocated, &moves);
        debug::follow_pointers(relocated, &moves);
        debug::follow(relocated, &moves);
    }
    if behaviour == Behaviour::Nvlink && (debug == DebugLevel::Symbols || !is_executable) {
        debug::forget_common(relocated);
    }
    relocated.moves = moves;
    yields::settle(relocated);
    warnings
}

/// A function that may be recoded.
struct Changing {
    function: FunctionId,
    section: SectionId,
    wanted: Wanted,
}

/// The functions that may be recoded, in creation order.
fn changing(relocated: &Relocated<'_>, behaviour: Behaviour, debug: DebugLevel) -> Vec<Changing> {
    let Pruned { merged, live, .. } = relocated.pruned();
    let kernels = Wanted::of_kernels(relocated, debug);
    let wanted_of = |function: &Function<'_>, section| {
        let is_older = behaviour == Behaviour::Nvlink && is_of_first_version(function);
        match merged.is_kernel(function) {
            true => Some(Wanted {
                is_older,
                is_whole: behaviour == Behaviour::Nvlink
                    && function.is_laid_out
                    && !kernels.is_lone,
                ..kernels
            }),
            // Other functions are recoded as nvlink does if CUDA 12 compiled them or they end a kernel, and always if they
            // were compiled for another processor.
            false => (behaviour == Behaviour::Nvlink || !is_for_target(merged, section)).then_some(
                Wanted {
                    is_lone: false,
                    is_older,
                    ..kernels
                },
            ),
        }
    };
    let functions = merged.functions.enumerate();
    let functions = functions.filter(|&(id, _)| live.functions[id]);
    let changing = functions.filter_map(|(id, row)| {
        let section = row.text?;
        Some(Changing {
            function: id,
            section,
            wanted: wanted_of(row, section)?,
        })
    });
    changing.collect()
}

/// Whether the code in a section was compiled for the target, or for a processor with the same timing.
fn is_for_target(merged: &Merged<'_>, section: SectionId) -> bool {
    slower::compiled_for(merged, section) == scoreboards::Chip::of(merged.target)
}

/// Warns of functions whose doubles are slower on the target than their code waits for.
fn warnings(
    relocated: &Relocated<'_>,
    changing: &[Changing],
    made: &[Option<Anew>],
) -> Vec<Diagnostic> {
    let merged = relocated.merged();
    let is_left = |section: SectionId, made: &Option<Anew>| {
        let native = relocated.native[section].as_ref();
        made.as_ref().is_none_or(|made| !made.is_for_target)
            && !is_for_target(merged, section)
            && native.is_some_and(|native| scoreboards::slower::has_slow(&native.bytes))
    };
    let left = changing.iter().zip(made);
    let left = left.filter(|(changing, made)| is_left(changing.section, made));
    let warnings = left.map(|(changing, _)| {
        let symbol = merged.functions[changing.function].symbol;
        Diagnostic::faster_doubles(merged.symbols[symbol].name, merged.target)
    });
    warnings.collect()
}

/// Replaces old code by new. Returns how instructions moved, for the functions in which they did.
fn replace(
    relocated: &mut Relocated<'_>,
    changing: &[Changing],
    made: Vec<Option<Anew>>,
) -> FxHashMap<FunctionId, Moves> {
    let mut moves = FxHashMap::default();
    for (changing, made) in changing.iter().zip(made) {
        let section = changing.section;
        let (Some(made), Some(native)) = (made, &mut relocated.native[section]) else {
            continue;
        };
        native.bytes = Cow::Owned(made.code);
        if let Some((capsule, moved)) = made.moved {
            relocated.sections[section].bytes = Cow::Owned(capsule);
            for relocation in native.kept.iter_mut().chain(&mut native.resolved) {
                relocation.offset = moved.of(relocation.offset);
            }
            moves.insert(changing.function, moved);
        }
    }
    moves
}

/// The work of recoding a byte of code, in bytes as [`parallel`] counts it.
const CHOOSING: usize = 16;

/// A function's recoded machine code.
struct Anew {
    code: Vec<u8>,
    /// If instructions moved: the new Mercury code, and how they moved.
    moved: Option<(Vec<u8>, Moves)>,
    /// Whether its timing is that of the target.
    is_for_target: bool,
}

impl Anew {
    /// Recodes a function. `None` if nothing changes.
    fn new(relocated: &Relocated<'_>, changing: &Changing, behaviour: Behaviour) -> Option<Self> {
        let merged = relocated.merged();
        let section = changing.section;
        let capsule = &relocated.sections[section].bytes;
        let tables = merged.functions[changing.function].native_branches();
        let native = &relocated.native[section].as_ref()?.bytes;
        let setting = Setting {
            tables: &tables,
            chip: slower::compiled_for(merged, section),
            capsule,
            is_lone: changing.wanted.is_lone,
        };
        let prepared = Prepared::new(native, &setting, changing.wanted);
        let recoding = Recoding {
            code: &prepared.code,
            compiled: Compiled::new(&prepared.code, setting),
            lone: (prepared.lone.as_ref()).map(|lone| Compiled::new(lone, setting)),
            is_scheduled: prepared.is_scheduled,
            setting,
            target: scoreboards::Chip::of(merged.target),
            wanted: changing.wanted,
        };
        let mut made = recoding.made(behaviour);
        if let Some(Self {
            code,
            moved: Some((_, moves)),
            ..
        }) = &mut made
        {
            moves.follow_returns(&super::returns(merged, section), code);
        }
        made
    }

    /// The same with stalls that fit, made of the code of an older compiler.
    fn closed_up(
        mut self,
        old: &Compiled<'_>,
        tables: &[TableBranch],
        chip: scoreboards::Chip,
    ) -> Self {
        self.code = match &self.moved {
            Some((_, moves)) => {
                let tables = moves.tables(tables);
                let origins = moves.origins(old.code(), &self.code);
                let origin = |place: usize| origins[place];
                scoreboards::stalls::closed_up(old, self.code, origin, &tables, chip)
            }
            None => scoreboards::stalls::closed_up(old, self.code, Some, tables, chip),
        };
        self
    }

    /// Code that is as long as before; `None` if it is the same.
    fn unmoved(code: Cow<'_, [u8]>) -> Option<Self> {
        match code {
            Cow::Owned(code) => Some(Self {
                code,
                moved: None,
                is_for_target: false,
            }),
            Cow::Borrowed(_) => None,
        }
    }
}

impl From<Recoded> for Anew {
    fn from(recoded: Recoded) -> Self {
        Self {
            code: recoded.code,
            moved: Some((recoded.capsule, recoded.moves)),
            is_for_target: false,
        }
    }
}

/// Machine code as today's compiler of a single file would have written it.
struct Prepared<'c> {
    code: Cow<'c, [u8]>,
    /// The code before it took a stack pointer, which it now does: the compiler of a whole program knew that the kernel
    /// calls nothing outside (case `whole_program_barriers`).
    lone: Option<Cow<'c, [u8]>>,
    /// Whether it is optimized code of CUDA 12, whose waits are all chosen anew.
    is_scheduled: bool,
}

impl<'c> Prepared<'c> {
    fn new(native: &'c [u8], setting: &Setting<'_>, wanted: Wanted) -> Self {
        let mut code = Cow::Borrowed(native);
        // Code that is not optimized waits everywhere, whether CUDA 12 or 13 compiled it (case `older_slow`).
        let is_slow = code.first_chunk().is_some_and(control::is_slow);
        if wanted.is_older
            && let Some(waiting) = older::with_waits_of_today(&code, setting.capsule)
        {
            code = Cow::Owned(waiting);
        }
        if wanted.is_older
            && let Some(awaited) = scoreboards::with_awaited_fences(&code, setting)
        {
            code = Cow::Owned(awaited);
        }
        let lone = match wanted.is_whole {
            true => with_stack_pointer(&code)
                .map(|taking| std::mem::replace(&mut code, Cow::Owned(taking))),
            false => None,
        };
        Self {
            code,
            lone,
            is_scheduled: wanted.is_older && !is_slow,
        }
    }
}

/// What a function is recoded from, and for what.
struct Recoding<'c> {
    /// Owned if it was changed for that.
    code: &'c Cow<'c, [u8]>,
    compiled: Compiled<'c>,
    lone: Option<Compiled<'c>>,
    is_scheduled: bool,
    setting: Setting<'c>,
    target: scoreboards::Chip,
    wanted: Wanted,
}

impl Recoding<'_> {
    /// The new code; `None` if nothing changes.
    fn made(&self, behaviour: Behaviour) -> Option<Anew> {
        let tables = self.setting.tables;
        let recoded = match behaviour {
            Behaviour::Nvlink => {
                let capsule = self.setting.capsule;
                Recoded::new(self.code, capsule, tables, &self.wanted, self.target)
            }
            Behaviour::Own => None,
        };
        let made = match recoded {
            Some(recoded) => Some(self.with_scoreboards(recoded)),
            None => self.rescheduled(),
        };
        let made = match self.is_scheduled {
            true => made.map(|made| made.closed_up(&self.compiled, tables, self.target)),
            false => made,
        };
        let made = match self.setting.chip == self.target {
            true => made,
            false => self.slower(made.as_ref()).or(made),
        };
        let without_stack_pointer = || scoreboards::without_stack_pointer(&self.compiled);
        made.or_else(|| Anew::unmoved(without_stack_pointer()?.into()))
            .or_else(|| Anew::unmoved(self.code.clone()))
    }

    fn with_scoreboards(&self, recoded: Recoded) -> Anew {
        let origin = self.lone.as_ref().unwrap_or(&self.compiled);
        let origin = (!self.is_scheduled).then_some(origin);
        recoded.with_scoreboards(self.setting, origin).into()
    }

    /// The same instructions, with other scoreboards and waits where they need them.
    fn rescheduled(&self) -> Option<Anew> {
        let code = self.code;
        if self.is_scheduled {
            let chosen = scoreboards::chosen_with_waits(code, self.setting);
            return Anew::unmoved(chosen.map_or_else(|| code.clone(), Cow::Owned));
        }
        let lone = self.lone.as_ref()?;
        let places: Vec<_> = (0..code.len() / INSTRUCTION).map(Some).collect();
        let origin = Origin {
            compiled: lone,
            places: Some(&places),
            is_timed: false,
        };
        let chosen = scoreboards::chosen(code, self.setting, Some(origin))?;
        Anew::unmoved(chosen.into())
    }

    /// What was made, or the code itself, for the slow doubles of the target.
    fn slower(&self, made: Option<&Anew>) -> Option<Anew> {
        let origin = (!self.is_scheduled).then_some(&self.compiled);
        slower::slower(made, self.code, self.setting, self.target, origin)
    }
}

/// Whether the code is that of CUDA 12.
pub(super) fn is_of_first_version(function: &Function<'_>) -> bool {
    function.records.iter().any(|record| {
        record.code == InfoCode::MERCURY_ISA_VERSION
            && matches!(record.payload, Payload::Head(FIRST_MERCURY_VERSION))
    })
}

/// What a link wants of the code of a function.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    /// Whether kernels report errors before they end, here or in what they call.
    for_debuggers: bool,
    /// Whether a kernel that calls nothing counts as one. A link for debuggers
    /// takes none for that, nor does a relocatable one.
    is_lone: bool,
    /// Whether the code is that of CUDA 12, and becomes that of today.
    is_older: bool,
    /// Whether the compiler knew that the kernel calls nothing outside, and the link takes no kernel for that.
    is_whole: bool,
}

impl Wanted {
    /// What it wants of kernels of today that were compiled apart from others.
    fn of_kernels(relocated: &Relocated<'_>, debug: DebugLevel) -> Self {
        let merged = relocated.merged();
        let has_variables = merged.sections.enumerate().any(|(id, section)| {
            let twin = relocated.native[id].as_ref();
            debug_registers::is_table(section.name) && twin.is_some_and(|t| !t.bytes.is_empty())
        });
        // What one file asks of its compiler, holds for all (case `errors_visible`).
        let records = &mut merged.records.iter();
        let is_asked = records.any(|record| record.code == InfoCode::GEN_ERRBAR_AT_EXIT);
        Self {
            for_debuggers: debug == DebugLevel::Symbols || has_variables || is_asked,
            is_lone: debug != DebugLevel::Symbols && merged.is_executable(),
            is_older: false,
            is_whole: false,
        }
    }
}
