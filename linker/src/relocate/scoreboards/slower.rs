//! Code whose doubles take longer than its compiler knew.
//!
//! Where doubles are slow, they take scoreboards, and the one part of the processor that works on
//! them is left idle for some time before it is asked again ([`slow_part`]). Powers of two take less
//! time there than the compiler knew (case `doubles_slower`).

use super::control::Control;
use super::flow::Flow;
use super::instruction::{BOARDS, Chip, INSTRUCTION, NO_BOARD};
use super::registers::Accesses;
use super::retiming::{Retiming, Timed};
use super::stages::Stages;
use super::timing::{Unit, is_power_of_two, slow_part};
use super::turns::{self, Turn};
use super::uses::Uses;
use super::{Event, Setting, Until, bit, events, in_order};

/// Code for slow doubles.
#[derive(PartialEq, Eq)]
pub(in crate::relocate) struct Slowed {
    /// As many instructions as before. Which scoreboards they take is to be chosen.
    pub(in crate::relocate) code: Vec<u8>,
    /// Idle instructions that go, by their numbers, in order.
    pub(in crate::relocate) gone: Vec<usize>,
    /// Those that come, in order.
    pub(in crate::relocate) pauses: Vec<Pauses>,
}

/// Idle instructions that come before another one, and the number of that.
pub(in crate::relocate) type Pauses = (usize, Vec<[u8; INSTRUCTION]>);

/// Hands `make` the code of a function for a processor with slow doubles; `None` where nothing takes another time there,
/// or where it is not known where control goes. `setting` is that of the compiler. The code is timed for instructions that the next one waited for and does no
/// more, given by their numbers in order: none are known before scoreboards are chosen.
pub(in crate::relocate) fn slowed<R>(
    code: &[u8],
    setting: Setting<'_>,
    chip: Chip,
    make: impl FnOnce(&dyn Fn(Option<&[usize]>) -> Slowed) -> R,
) -> Option<R> {
    let (old, _) = code.as_chunks::<INSTRUCTION>();
    if !old.iter().any(|i| differs(i, chip)) {
        return None;
    }
    let has_powers = old.iter().any(|i| is_power_of_two(i, chip));
    let turns = old.iter().map(|instruction| {
        let turn = Turn::of(instruction, chip);
        turn.filter(|turn| has_powers || *turn != Turn::Function)
    });
    let turns: Vec<Option<Turn>> = turns.collect();
    let mut new = taking(old, &turns)?;
    let events = events(new.as_flattened());
    let setting = Setting { chip, ..setting };
    let flow = Flow::new(new.as_flattened(), &events, &setting)?;
    let accesses = new.iter().map(|i| Accesses::of(i)).collect();
    let mut uses = Uses::new(new.as_flattened(), &flow, accesses);
    let mut is_needed = turns::needed(&new, &events, &flow, &uses, &turns);
    for (event, is_needed) in events.iter().zip(&mut is_needed) {
        let at = event.instruction;
        match turns[at] {
            Some(_) if !*is_needed => {
                leave(&mut new[at], event);
                uses.take(at, &new[at]);
            }
            Some(_) => {}
            None => *is_needed = true,
        }
    }
    let awaits = |first: usize, second: usize| {
        let mut own = flow.own(first).filter(|&event| is_needed[event]);
        own.any(|event| uses.is_needed(&events[event], second))
    };
    let stages = Stages::of(setting.capsule);
    let [old, new] = [(old, Chip::FastDoubles), (&new, chip)]
        .map(|(code, chip)| Timed::new(code, &uses.accesses, chip));
    let timed = |awaited: Option<&[usize]>| {
        Retiming::new(&old, &new, &turns, awaits, awaited).of_blocks(&flow, &stages)
    };
    Some(make(&timed))
}

/// Whether an instruction takes another time than for the fastest processor, or another part of it.
fn differs(instruction: &[u8], chip: Chip) -> bool {
    Turn::of(instruction, chip).is_some()
        || Unit::of(instruction, chip).differs(Unit::of(instruction, Chip::FastDoubles))
}

/// Whether code has what takes longer where doubles are slow.
pub(in crate::relocate) fn has_slow(code: &[u8]) -> bool {
    let mut instructions = code.chunks_exact(INSTRUCTION);
    instructions.any(|instruction| slow_part(instruction, Chip::SlowDoubles).is_some())
}

/// Code as that of compilers that do not optimize, in which all waits; `None` if nothing changes.
pub(in crate::relocate) fn slowed_unoptimized(code: &[u8], chip: Chip) -> Option<Vec<u8>> {
    const RESULT: u8 = 0;
    const OPERANDS: u8 = 1;
    let mut new = code.to_vec();
    let (instructions, _) = new.as_chunks_mut::<INSTRUCTION>();
    for instruction in instructions.iter_mut() {
        if slow_part(instruction, chip).is_some() {
            let waits = Control::of(instruction).waits();
            Control::set(instruction, RESULT, OPERANDS, waits);
        }
    }
    (new != code).then_some(new)
}

/// The code in which instructions that have their turn take scoreboards for all that others may need.
fn taking(old: &[[u8; INSTRUCTION]], turns: &[Option<Turn>]) -> Option<Vec<[u8; INSTRUCTION]>> {
    // Which one is chosen later, but what is kept for others is never chosen, nor is it left.
    let kept = in_order(old.as_flattened());
    let is_kept = |board: u8| kept & bit(board) != 0;
    let any = (0..BOARDS).find(|&board| !is_kept(board))?;
    let mut new = old.to_vec();
    for (instruction, _) in new.iter_mut().zip(turns).filter(|(_, turn)| turn.is_some()) {
        let control = Control::of(instruction);
        let any = match is_kept(control.write()) {
            true => control.write(),
            false => any,
        };
        let board = |is_taken: bool| if is_taken { any } else { NO_BOARD };
        // What takes one for its result keeps other operands.
        Control::set(instruction, any, NO_BOARD, control.waits());
        let accesses = Accesses::of(instruction)?;
        let (write, read) = (accesses.writes_something(), accesses.keeps_operands());
        Control::set(instruction, board(write), board(read), control.waits());
    }
    Some(new)
}

/// An instruction takes no scoreboard for something.
fn leave(instruction: &mut [u8; INSTRUCTION], event: &Event) {
    let control = Control::of(instruction);
    let (write, read) = match event.until {
        Until::Written => (NO_BOARD, control.read()),
        Until::Read => (control.write(), NO_BOARD),
    };
    Control::set(instruction, write, read, control.waits());
}

#[cfg(test)]
mod tests {
    use super::super::instruction::{BOARDS, EXIT as END};
    use super::super::tests::{EXIT, instruction, setting};
    use super::*;

    /// DADD of two pairs of registers, for a processor with fast doubles.
    fn double(target: u8, first: u8, second: u8) -> [u8; INSTRUCTION] {
        let mut sum = instruction(0x7229, target, NO_BOARD, 0);
        (sum[3], sum[8]) = (first, second);
        Control::set_stall(&mut sum, 8);
        sum
    }

    #[test]
    fn doubles_keep_their_part_busy_and_take_scoreboards() {
        let code = [
            double(4, 6, 8),
            double(10, 4, 8),
            double(12, 6, 8),
            instruction(EXIT, 0, NO_BOARD, 0),
        ];
        let code = code.concat();
        let slowed = slowed(
            &code,
            setting(Chip::FastDoubles),
            Chip::SlowDoubles,
            |timed| timed(None),
        )
        .unwrap();
        let (new, _) = slowed.code.as_chunks::<INSTRUCTION>();
        // Only the first one is needed, and by the second.
        let takes = new.iter().map(|i| Control::of(i).write() < BOARDS);
        assert_eq!(takes.collect::<Vec<_>>(), [true, false, false, false]);
        let paused = slowed.pauses.iter().map(|(at, pauses)| {
            let stalls = pauses.iter().map(|pause| Control::of(pause).stall());
            (*at, stalls.collect::<Vec<_>>())
        });
        let expected = vec![15, 15, 15, 4];
        assert_eq!(
            paused.collect::<Vec<_>>(),
            [(1, expected.clone()), (2, expected)]
        );
        assert!(slowed.gone.is_empty());
        assert_eq!(super::super::instruction::operation(&new[3]), END);
        assert!(has_slow(&code));
        assert!(!has_slow(&code[3 * INSTRUCTION..]));
    }

    #[test]
    fn unoptimized_code_waits_for_all() {
        let code = [double(4, 6, 8), instruction(EXIT, 0, NO_BOARD, 0b11)].concat();
        let new = slowed_unoptimized(&code, Chip::SlowDoubles).unwrap();
        let control = Control::of(&new[..INSTRUCTION]);
        assert_eq!((control.write(), control.read()), (0, 1));
        assert_eq!(slowed_unoptimized(&code, Chip::FastDoubles), None);
    }

    #[test]
    fn what_takes_the_same_time_stays_as_it_is() {
        const POPC: u16 = 0x7309;
        let slowed = |first: [u8; INSTRUCTION]| {
            let code = [first, instruction(EXIT, 0, NO_BOARD, 0)].concat();
            let setting = setting(Chip::FastDoubles);
            slowed(&code, setting, Chip::SlowDoubles, |_| ()).is_some()
        };
        assert!(!slowed(super::super::tests::sum(41, 2, 0)));
        // It has a part of its own.
        assert!(slowed(instruction(POPC, 4, 0, 0)));
        assert!(slowed(double(4, 6, 8)));
    }
}
