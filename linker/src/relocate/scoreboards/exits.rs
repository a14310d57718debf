//! How long kernels wait that report errors where threads end of which two predicates tell.
//!
//! Before `@P0 EXIT P1` a compiler lets pass what both predicates take. What a link adds
//! before it asks for the first alone, and so starts as early as that one allows; what
//! is then missing to the second passes right before the `EXIT`. Where a later link takes
//! it out again, all of that passes before (case `recode_besides`).

use super::control::Control;
use super::instruction::{BOARDS, Chip, INSTRUCTION, NO_BOARD, cycles, leads_on};
use super::registers::Accesses;
use super::retiming::filling;
use super::stalls::{planned, set_stall};
use super::timing::{Unit, at_end, forwarding, is_slow_double, slow_part};

/// No predicate takes longer.
const LONGEST_DECISION: u32 = 16;
/// Nothing takes longer that does not take a scoreboard: products of matrices, up to the end of their block.
const LONGEST_RESULT: u32 = 29;

/// Lets a report that was not there start when the predicate is there that it asks for:
/// from its first instruction to the `EXIT` behind it.
pub(in crate::relocate) fn report_early(code: &mut [u8], first: usize, exit: usize, chip: Chip) {
    let (code, _) = code.as_chunks_mut::<INSTRUCTION>();
    // A memory barrier does not wait for its predicate, what comes behind it does.
    let Some(asking) = exit.checked_sub(2).filter(|&asking| asking >= first) else {
        return;
    };
    let Some(before) = first.checked_sub(1) else {
        return;
    };
    let Some(needed) = needed_before(code, first, asking, chip) else {
        return;
    };
    // One that is waited for takes longer, once scoreboards are chosen.
    let stall = needed.max(1);
    let was = planned(&code[before]);
    if stall >= was {
        return;
    }
    set_stall(&mut code[before], stall);
    let missing = was - stall - cycles(&code[asking]).min(was - stall);
    if missing > cycles(&code[exit - 1]) {
        set_stall(&mut code[exit - 1], missing);
    }
}

/// What asks for the predicates of an `EXIT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::relocate) enum Asking {
    /// The report before it, too.
    Report,
    /// The `EXIT` alone, whose report is gone.
    Exit,
}

/// Lets a double tell a report for itself whether that is asked for, where the `EXIT` waited for one behind it in its turn
/// and so for both; or no longer, where the report is gone. `at` is the place of what asks (case `recode_besides_doubles`).
pub(in crate::relocate) fn decide_apart(code: &mut [u8], at: usize, asking: Asking, chip: Chip) {
    let (code, _) = code.as_chunks_mut::<INSTRUCTION>();
    let Some(asked) = Accesses::of(&code[at]) else {
        return;
    };
    // The last of those that take a scoreboard is what the `EXIT` waits for.
    let mut board = None;
    for at in (0..at).rev() {
        if leads_on(&code[at]) {
            return;
        }
        let accesses = Accesses::of(&code[at]);
        let decides = accesses.as_ref().is_some_and(|a| a.guards(&asked));
        let asks_too = accesses.is_some_and(|a| a.asks_as(&asked));
        let control = Control::of(&code[at]);
        match is_slow_double(&code[at], chip) {
            true if decides => {
                if let Some(board) = board {
                    let board = match asking {
                        Asking::Report => board,
                        Asking::Exit => NO_BOARD,
                    };
                    Control::set(&mut code[at], board, control.read(), control.waits());
                }
                return;
            }
            true if board.is_none() && control.write() < BOARDS => board = Some(control.write()),
            true => {}
            false if decides || asks_too => return,
            false => {}
        }
    }
}

/// Lets an `EXIT` that has no report any more wait for its predicates.
pub(in crate::relocate) fn exit_late(code: &mut [u8], exit: usize, chip: Chip) {
    let (code, _) = code.as_chunks_mut::<INSTRUCTION>();
    let Some(before) = exit.checked_sub(1) else {
        return;
    };
    let needed = needed_before(code, exit, exit, chip).unwrap_or(0);
    if needed > planned(&code[before]) {
        set_stall(&mut code[before], needed);
    }
}

/// Lets what stands behind an `EXIT` that has no report any more wait for those before it:
/// what uses their results as long as that takes, and the rest as behind the end of a block. Returns what has to pass
/// before the `EXIT`, where it is more than fits into that (case `recode_exit`).
pub(in crate::relocate) fn go_on_late(
    code: &mut [u8],
    exit: usize,
    least: u32,
    chip: Chip,
) -> Vec<[u8; INSTRUCTION]> {
    let (code, _) = code.as_chunks_mut::<INSTRUCTION>();
    let mut needed = least;
    let mut passed = 0;
    for earlier in (0..exit).rev().take_while(|&at| !leads_on(&code[at])) {
        passed += planned(&code[earlier]);
        if passed >= LONGEST_RESULT {
            break;
        }
        let unit = Unit::of(&code[earlier], chip);
        let Some(accesses) = Accesses::of(&code[earlier]) else {
            continue;
        };
        // What is slow takes a scoreboard.
        if slow_part(&code[earlier], chip).is_some() {
            continue;
        }
        let at_end = at_end(&code[earlier], unit, &accesses, chip);
        let mut behind = 0;
        let users = code[exit + 1..].iter().map_while(|user| {
            let start = behind;
            behind += planned(user);
            let distance = Accesses::of(user).and_then(|accesses_of_user| {
                let user = (Unit::of(user, chip), &accesses_of_user);
                forwarding((unit, &accesses), user, chip)
            });
            let is_near = start < LONGEST_RESULT && !leads_on(user);
            is_near.then(|| distance.unwrap_or(0).saturating_sub(start))
        });
        let distance = users.fold(at_end, u32::max);
        needed = needed.max(distance.saturating_sub(passed));
    }
    if needed > planned(&code[exit]) {
        set_stall(&mut code[exit], needed);
    }
    filling(needed.saturating_sub(Control::LONGEST_STALL.into()))
}

/// Whether what passes behind the instruction before a pause is too short for what decides about an `EXIT`.
pub(in crate::relocate) fn is_decided_in(
    code: &[&[u8; INSTRUCTION]],
    pause: usize,
    exit: usize,
    chip: Chip,
) -> bool {
    let needed = needed_before(code, pause, exit, chip).unwrap_or(0);
    let before = pause.checked_sub(1);
    before.is_some_and(|before| needed > planned(code[before]))
}

/// The cycles that have to pass behind the instruction before a place, where another one
/// starts at once that needs what those before make. `None` if it is not known what it needs.
fn needed_before<I: AsRef<[u8]>>(code: &[I], place: usize, user: usize, chip: Chip) -> Option<u32> {
    let accesses = Accesses::of(code[user].as_ref())?;
    let user = (Unit::of(code[user].as_ref(), chip), &accesses);
    let mut needed = 0;
    let mut passed = 0;
    for earlier in (0..place).rev() {
        if earlier + 1 != place {
            passed += planned(code[earlier].as_ref());
        }
        if passed >= LONGEST_DECISION {
            break;
        }
        // What takes a scoreboard is waited for.
        if Control::of(code[earlier].as_ref()).write() < BOARDS {
            continue;
        }
        let Some(maker) = Accesses::of(code[earlier].as_ref()) else {
            continue;
        };
        let maker = (Unit::of(code[earlier].as_ref(), chip), &maker);
        let distance = forwarding(maker, user, chip).unwrap_or(0);
        needed = needed.max(distance.saturating_sub(passed));
    }
    Some(needed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_predicate_takes_the_pause_behind_what_makes_it() {
        // ISETP.GT.AND P0, PT, R0, UR5, PT for 11 cycles, a pause of 2, @P0 EXIT and @P1 EXIT.
        let comparison = 0x004f_f600_03f0_4270_0000_0006_0500_720c_u128.to_le_bytes();
        let pause = 0x000f_e400_0fff_e0ff_0000_00ff_ffff_f290_u128.to_le_bytes();
        let exit = 0x001f_ea00_0380_0000_0000_0000_0000_094d_u128.to_le_bytes();
        let mut other = exit;
        other[1] = 0x19;
        let is_decided = |comparison: &_, exit: &_| {
            is_decided_in(&[comparison, &pause, exit], 1, 2, Chip::Graphics)
        };
        assert!(is_decided(&comparison, &exit));
        assert!(!is_decided(&comparison, &other));
        let mut longer = comparison;
        set_stall(&mut longer, 13);
        assert!(!is_decided(&longer, &exit));
    }
}
