//! Kernels of random instructions: the code of one or a few blocks, and stores of all that it computed. They show how
//! single instructions are selected, scheduled and encoded, where other programs show symbols and calls.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::OnceLock;

use crate::build::Build;
use crate::feature::Feature;
use crate::on::On;
use crate::program::{Item, Language, Piece, Unit};
use crate::ptx::VERSION;
use crate::target::Target;
use rustnvlink_tests::random::Random;

const LIST: &str = include_str!("../kernel.txt");

/// How many programs in a hundred have such a kernel beside what else they contain.
const PROGRAMS: usize = 10;

/// Keeps this source apart from the one of the program.
const SALT: u64 = 0x6b65_726e;

/// The registers of each letter of the list, and how PTX declares them.
const REGISTERS: &[(char, &str, usize)] = &[
    ('r', ".b32", 10),
    ('d', ".b64", 5),
    ('h', ".b16", 5),
    ('q', ".b128", 2),
    ('f', ".f32", 8),
    ('e', ".f64", 5),
    ('p', ".pred", 4),
];

/// What every kernel can use besides its registers.
const VARIABLES: &str = ".visible .global .align 16 .b8 global_v[512];
.visible .const .align 16 .b8 const_v[256] = {1, 2, 3, 4, 5, 6, 7, 8};";

const PARAMETERS: &str = ".param .u64 p0, .param .u64 p1, .param .b32 p2, .param .b32 p3, \
    .param .f32 p4, .param .f64 p5, .param .align 16 .b8 p6[64]";

/// Declarations of a kernel, and the addresses that nothing overwrites.
const START: &str = "	.shared .align 128 .b8 shared_v[1024];
	.shared .align 8 .b64 barrier_v[4];
	.local .align 16 .b8 local_v[128];
	.reg .b64 %g<2>;
	.reg .b32 %s<3>;
	.reg .b64 %l;
	ld.param.u64 %g0, [p0];
	ld.param.u64 %g1, [p1];
	mov.u32 %s1, %tid.x;
	shl.b32 %s1, %s1, 4;
	mov.u32 %s0, shared_v;
	add.u32 %s0, %s0, %s1;
	and.b32 %s1, %s1, 63;
	mov.u64 %l, local_v;
	mad.wide.u32 %l, %s1, 1, %l;
	mad.wide.u32 %g1, %s1, 16, %g1;
	mov.u32 %s2, 0;";

const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "7",
    "-1",
    "100",
    "255",
    "65535",
    "0x12345678",
    "-2147483648",
];
const FLOATS: &[&str] = &[
    "0f00000000",
    "0f3F800000",
    "0fBF800000",
    "0f3DCCCCCD",
    "0f40490FDB",
];
const MASKS: &[&str] = &["-1", "-1", "-1", "0xffff", "%r0"];

/// An instruction of the list.
#[derive(Debug)]
struct Template {
    on: On,
    /// It can stand behind a predicate.
    predicable: bool,
    text: &'static str,
}

/// The instructions, or the line of the list that is wrong.
fn parse(list: &'static str) -> Result<Vec<Template>, &'static str> {
    let lines = list
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (on, text) = line.split_once(' ').ok_or(line)?;
            let processors = on.trim_start_matches('!');
            Ok(Template {
                on: On::parse(processors).ok_or(line)?,
                predicable: on == processors && !text.trim_end_matches(';').contains(';'),
                text,
            })
        })
        .collect()
}

fn templates() -> &'static [Template] {
    static TEMPLATES: OnceLock<Vec<Template>> = OnceLock::new();
    TEMPLATES.get_or_init(|| parse(LIST).expect("a test reads the list"))
}

/// What can be allowed beside kernels that are alone.
const BESIDE: &[Feature] = &[
    Feature::Base,
    Feature::Level,
    Feature::Debug,
    Feature::LineInfo,
    Feature::Registers,
];

/// Options of the assembler.
const OPTIONS: &[(Feature, &str)] = &[
    (Feature::Level, "-O1"),
    (Feature::Level, "-O2"),
    (Feature::Level, "-O0"),
    (Feature::Debug, "-g"),
    (Feature::LineInfo, "-lineinfo"),
    (Feature::Registers, "-maxrregcount 32"),
    (Feature::Registers, "-maxrregcount 48"),
];

/// Whether the program of a seed has such a kernel beside other things.
pub(crate) fn is_used(seed: u64) -> bool {
    Random::new(seed ^ SALT).chance(PROGRAMS)
}

/// Whether such kernels are all that programs may contain.
pub(crate) fn is_alone(allowed: &BTreeSet<Feature>) -> bool {
    let is_beside = |feature: &Feature| BESIDE.contains(feature) || feature.is_drawn_elsewhere();
    allowed.contains(&Feature::Kernel) && allowed.iter().all(is_beside)
}

/// The unit of a seed: one kernel and what it needs.
pub(crate) fn unit(seed: u64, target: &Target, allowed: &BTreeSet<Feature>) -> Unit {
    let mut random = Random::new(seed.wrapping_mul(2) ^ SALT);
    let fitting: Vec<&Template> = templates()
        .iter()
        .filter(|template| template.on.has(target))
        .collect();
    let mut writer = Writer {
        random: &mut random,
        pieces: Vec::new(),
        labels: 0,
    };
    writer.begin();
    writer.body(&fitting);
    writer.end();
    let pieces = writer.pieces;
    let mut head = format!(".visible .entry instructions_k({PARAMETERS})");
    if random.chance(15) {
        let bounds = [
            ".maxntid 128",
            ".maxntid 1024",
            ".reqntid 32",
            ".maxntid 64 .minnctapersm 2",
        ];
        let _ = write!(head, " {}", random.pick(&bounds));
    }
    let (feature, option) = *random.pick(OPTIONS);
    let options = match allowed.contains(&feature) && random.chance(30) {
        true => vec![Piece::new(feature, option)],
        false => Vec::new(),
    };
    let mut registers = String::new();
    for (letter, kind, count) in REGISTERS {
        let _ = writeln!(registers, "\t.reg {kind} %{letter}<{count}>;");
    }
    Unit {
        name: "instructions".to_owned(),
        language: Language::Ptx,
        target: target.clone(),
        head: format!("{VERSION}.target {target}\n.address_size 64\n"),
        options,
        build: Build::default(),
        items: vec![
            Item::new(Feature::Kernel, VARIABLES),
            Item {
                feature: Feature::Kernel,
                head: format!("{head}\n{{\n{registers}{START}"),
                pieces: pieces
                    .into_iter()
                    .map(|text| Piece::new(Feature::Kernel, text))
                    .collect(),
                tail: "\tret;\n}".to_owned(),
            },
        ],
    }
}

struct Writer<'a> {
    random: &'a mut Random,
    pieces: Vec<String>,
    labels: usize,
}

impl Writer<'_> {
    fn add(&mut self, text: impl Into<String>) {
        self.pieces.push(format!("\t{}", text.into()));
    }

    /// Gives registers values that compilers do not know.
    fn begin(&mut self) {
        for (letter, kind, count) in REGISTERS {
            for index in 0..*count {
                let own = self.random.below(6);
                let at = 16 * self.random.below(16);
                match (letter, own) {
                    ('p', _) => {
                        let number = self.random.below(10);
                        self.add(format!("setp.ne.u32 %p{index}, %r{number}, {index};"));
                    }
                    ('q', _) => self.add(format!("mov.b128 %q{index}, {{%d0, %d1}};")),
                    ('r', 0) => self.add(format!("mov.u32 %r{index}, %tid.x;")),
                    ('r', 1) => self.add(format!("mov.u32 %r{index}, %ctaid.x;")),
                    ('r', 2) => self.add(format!("ld.param.b32 %r{index}, [p2];")),
                    ('d', 1) => self.add(format!("ld.param.b64 %d{index}, [p0];")),
                    ('f', 1) => self.add(format!("ld.param.f32 %f{index}, [p4];")),
                    ('e', 1) => self.add(format!("ld.param.f64 %e{index}, [p5];")),
                    _ => self.add(format!("ld.global{kind} %{letter}{index}, [%g0+{at}];")),
                }
            }
        }
    }

    /// Some instructions with jumps among them.
    fn body(&mut self, fitting: &[&Template]) {
        let count = match self.random.below(4) {
            0 => self.random.within(3..=10),
            1 | 2 => self.random.within(10..=30),
            _ => self.random.within(30..=60),
        };
        // Half of the kernels have no blocks.
        let jumps = match self.random.chance(50) {
            true => 0,
            false => self.random.within(1..=3),
        };
        let mut ends: Vec<(usize, String)> = Vec::new();
        let mut starts: Vec<usize> = (0..jumps).map(|_| self.random.below(count)).collect();
        starts.sort_unstable();
        for at in 0..count {
            while starts.first() == Some(&at) {
                starts.remove(0);
                let end = (at + self.random.within(1..=12)).min(count);
                let text = self.jump();
                ends.push((end, text));
            }
            // What began last ends first.
            while let Some(index) = ends.iter().rposition(|(end, _)| *end <= at) {
                let (_, text) = ends.remove(index);
                self.add(text);
            }
            let template = *self.random.pick(fitting);
            let text = self.fill(template.text);
            let text = match template.predicable && self.random.chance(12) {
                true => self.fill(self.guard()) + &text,
                false => text,
            };
            self.add(text);
        }
        while let Some((_, text)) = ends.pop() {
            self.add(text);
        }
    }

    fn guard(&self) -> &'static str {
        match self.pieces.len() % 2 {
            0 => "@$p ",
            _ => "@!$p ",
        }
    }

    /// Begins a loop, or a part that some threads leave out; returns its end.
    fn jump(&mut self) -> String {
        self.labels += 1;
        let label = self.labels;
        if self.random.chance(50) {
            let text = format!(
                "bra{} J{label};",
                if self.random.chance(25) { ".uni" } else { "" }
            );
            let text = self.fill(self.guard()) + &text;
            self.add(text);
            return format!("J{label}:");
        }
        let bound = self.fill("$i");
        let unroll = match self.random.below(3) {
            0 => ".pragma \"nounroll\"; ",
            _ => "",
        };
        self.add(format!("J{label}: {unroll}"));
        let after = self.fill("@$p bra");
        format!(
            "add.u32 %s2, %s2, 1; setp.lt.u32 {}, %s2, {bound}; {after} J{label};",
            self.fill("$p")
        )
    }

    /// Stores everything.
    fn end(&mut self) {
        for (letter, kind, count) in REGISTERS {
            for index in 0..*count {
                match letter {
                    'p' => self.add(format!(
                        "selp.b32 %r0, %r0, %r1, %p{index}; st.global.b32 [%g0+{}], %r0;",
                        1024 + 16 * index
                    )),
                    _ => {
                        let place = 256 * (usize::from(*letter as u8) % 8) + 16 * index;
                        self.add(format!("st.global{kind} [%g0+{place}], %{letter}{index};"));
                    }
                }
            }
        }
    }

    /// Fills in choices, registers, numbers and addresses.
    fn fill(&mut self, template: &str) -> String {
        let mut chosen = String::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('<') {
            chosen.push_str(before);
            let (choices, after) = after.split_once('>').expect("a test reads the list");
            let choices: Vec<&str> = choices.split('|').collect();
            chosen.push_str(self.random.pick::<&str>(&choices));
            rest = after;
        }
        chosen.push_str(rest);
        if chosen.contains('#') {
            self.labels += 1;
            chosen = chosen.replace('#', &self.labels.to_string());
        }
        let mut text = String::new();
        let mut letters = chosen.chars();
        while let Some(letter) = letters.next() {
            if letter != '$' {
                text.push(letter);
                continue;
            }
            let letter = letters.next().unwrap_or_default();
            match letter.to_digit(10) {
                Some(count) => {
                    let letter = letters.next().unwrap_or_default();
                    text.push_str(&self.several(letter, count as usize));
                }
                None => text.push_str(&self.operand(letter)),
            }
        }
        text
    }

    /// Different registers: a pair of predicates, or a vector of others.
    fn several(&mut self, letter: char, count: usize) -> String {
        let mut all: Vec<usize> = (0..count_of(letter)).collect();
        self.random.shuffle(&mut all);
        let names: Vec<String> = all
            .iter()
            .take(count)
            .map(|index| format!("%{letter}{index}"))
            .collect();
        match letter {
            'p' => names.join("|"),
            _ => format!("{{{}}}", names.join(", ")),
        }
    }

    fn operand(&mut self, letter: char) -> String {
        let is_number = self.random.chance(40);
        let at = 16 * self.random.below(4);
        match letter {
            'i' if is_number => (*self.random.pick(NUMBERS)).to_owned(),
            'w' if is_number => (*self.random.pick(NUMBERS)).to_owned(),
            'j' if is_number => (*self.random.pick(FLOATS)).to_owned(),
            'i' => self.operand('r'),
            'w' => self.operand('d'),
            'j' => self.operand('f'),
            'n' => self.random.below(32).to_string(),
            'm' => (*self.random.pick(MASKS)).to_owned(),
            'G' => match self.random.below(8) {
                0 => "[%d0]".to_owned(),
                1 => format!("[global_v+{at}]"),
                2..=4 => format!("[%g1+{at}]"),
                _ => format!("[%g0+{at}]"),
            },
            'A' => match self.random.below(3) {
                0 => "[%d1]".to_owned(),
                _ => format!("[%g0+{at}]"),
            },
            'S' => match self.random.chance(50) {
                true => format!("[shared_v+{at}]"),
                false => format!("[%s0+{at}]"),
            },
            'O' => format!("[barrier_v+{}]", at / 2),
            'L' => match self.random.chance(50) {
                true => format!("[local_v+{at}]"),
                false => format!("[%l+{at}]"),
            },
            'C' => format!("[const_v+{at}]"),
            'P' => format!("[p6+{at}]"),
            _ => format!("%{letter}{}", self.random.below(count_of(letter))),
        }
    }
}

fn count_of(letter: char) -> usize {
    let found = REGISTERS.iter().find(|(of, ..)| *of == letter);
    found.map_or(1, |(.., count)| *count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_can_be_read() {
        let all = parse(LIST).unwrap();
        for template in &all {
            assert!(template.text.ends_with(';'), "{}", template.text);
            assert_eq!(
                template.text.matches('<').count(),
                template.text.matches('>').count(),
                "{}",
                template.text
            );
        }
        assert!(parse("75+").is_err());
        assert!(parse("x75 add;").is_err());
    }

    #[test]
    fn every_placeholder_is_filled() {
        let target = "120a".parse().unwrap();
        for seed in 0..300 {
            let source = unit(seed, &target, &BTreeSet::new()).source();
            assert!(!source.contains(['$', '#']), "{source}");
            assert_eq!(source, unit(seed, &target, &BTreeSet::new()).source());
        }
    }
}
