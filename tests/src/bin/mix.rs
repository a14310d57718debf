//! Links random mixtures of the objects of all cases by nvlink and by ours, and shows what differs.
//!
//! Each case shows one behaviour; what two of them do to each other shows here.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use cudalink_toolkit::Tool;
use object::read::elf::ElfFile64;
use object::{Endianness, Object as _, ObjectSymbol as _};
use rustnvlink_tests::arch::Arch;
use rustnvlink_tests::case::{self, Case};
use rustnvlink_tests::directive::{Action, Link, Script};
use rustnvlink_tests::identity;
use rustnvlink_tests::process::{self, LINK_LIMIT};
use rustnvlink_tests::random::{Random, seeds};
use rustnvlink_tests::run::{self, Linked};
use rustnvlink_tests::store::{self, Entry, Files, Store, Stored};
use rustnvlink_tests::toolkit::Toolkit;
use tempfile::TempDir;

/// What every link writes.
const OUTPUT: &str = "out.cubin";
/// Options with how many links in a hundred have them.
const OPTIONS: [(&str, usize); 9] = [
    ("-g", 15),
    ("-r", 12),
    ("-v", 15),
    ("-preserve-relocs", 10),
    ("-dump-callgraph", 8),
    ("-use-host-info", 6),
    ("-suppress-debug-info", 6),
    ("-keep-system-libraries", 4),
    ("-kernels-used=k", 8),
];

/// Links random mixtures of the objects that all cases compile, by nvlink and by ours with `--compat`, and fails where any
/// differ; docs/identity.md says which differences are known
#[derive(Parser)]
struct Arguments {
    /// The seeds of the mixtures: `0..1000`, or one
    #[arg(long, value_parser = seeds, default_value = "0..1000")]
    seeds: Range<u64>,
    /// Only this architecture, as a number
    #[arg(long, value_name = "NUMBER")]
    arch: Option<u32>,
    /// Leaves the files of links that differ in folders of this one
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
}

/// An object, and which names it gives to others or needs of them.
struct Part {
    name: String,
    file: Stored,
    defines: BTreeSet<String>,
    needs: BTreeSet<String>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let toolkit = Toolkit::find()?;
    let store = Store::open()?;
    let linker = identity::linker()?;
    let parts = parts(&toolkit, &store, arguments.arch)?;
    let archs: Vec<(Arch, Vec<Part>)> = parts.into_iter().collect();
    ensure!(
        !archs.is_empty(),
        "no case has objects for that architecture"
    );
    let mut differing = 0;
    let links = arguments.seeds.end - arguments.seeds.start;
    for seed in arguments.seeds {
        let mut random = Random::new(seed);
        let (arch, parts) = random.pick(&archs);
        let (linked, _folder) = mixture(&mut random, *arch, parts, &toolkit, &store)?;
        let compared = identity::compare(&linker, &linked, &store)?;
        if compared.differences.is_empty() {
            continue;
        }
        differing += 1;
        println!("seed {seed}: nvlink {}", linked.arguments.join(" "));
        for difference in &compared.differences {
            println!("    {}", difference.text.replace('\n', "\n    "));
        }
        if let Some(folder) = &arguments.keep {
            compared.keep(&linked, &folder.join(seed.to_string()))?;
        }
    }
    ensure!(differing == 0, "{differing} of {links} links differ");
    println!("{links} links are the same");
    Ok(())
}

/// What all cases compile, by architecture.
fn parts(toolkit: &Toolkit, store: &Store, only: Option<u32>) -> Result<BTreeMap<Arch, Vec<Part>>> {
    let mut all: BTreeMap<Arch, Vec<Part>> = BTreeMap::new();
    let cases = case::all()?;
    let scripts = cases
        .iter()
        .flat_map(|case| case.scripts.iter().map(move |(arch, s)| (case, *arch, s)));
    for (case, arch, script) in scripts.filter(|(_, arch, _)| only.is_none_or(|n| n == arch.0)) {
        let of_arch = all.entry(arch).or_default();
        for (name, file) in compiled(case, arch, script, toolkit, store)? {
            of_arch.extend(part(format!("{}.{name}", case.name), file)?);
        }
    }
    all.retain(|_, parts| !parts.is_empty());
    Ok(all)
}

/// The device objects that the steps of a case compile.
fn compiled(
    case: &Case,
    arch: Arch,
    script: &Script,
    toolkit: &Toolkit,
    store: &Store,
) -> Result<Files> {
    let mut script = script.clone();
    script.steps.retain(
        |step| matches!(&step.action, Action::Compile { output, .. } if output.ends_with(".cubin")),
    );
    Ok(run::run(case, arch, &script, toolkit, store)?.files)
}

/// Reads which names an object has; nothing if it is no relocatable one.
fn part(name: String, file: Stored) -> Result<Option<Part>> {
    let bytes = file.read()?;
    let Ok(object) = ElfFile64::<Endianness>::parse(&*bytes) else {
        return Ok(None);
    };
    if object.kind() != object::ObjectKind::Relocatable {
        return Ok(None);
    }
    let (mut defines, mut needs) = (BTreeSet::new(), BTreeSet::new());
    for symbol in object.symbols().filter(|s| s.is_global() && !s.is_weak()) {
        let name = symbol.name().context("a name is nowhere")?.to_owned();
        match symbol.is_undefined() {
            true => needs.insert(name),
            false => defines.insert(name),
        };
    }
    Ok(Some(Part {
        name,
        file,
        defines,
        needs,
    }))
}

/// The objects of a mixture.
struct Chosen<'p> {
    parts: Vec<&'p Part>,
    defined: BTreeSet<&'p str>,
    /// Whether each name has one definition.
    is_sound: bool,
}

impl<'p> Chosen<'p> {
    /// Takes an object that is not there yet, if it fits.
    fn take(&mut self, part: &'p Part) {
        let is_new = self.parts.iter().all(|known| known.name != part.name);
        let mut names = part.defines.iter().map(String::as_str);
        let clashes = names.any(|name| self.defined.contains(name));
        if is_new && !(self.is_sound && clashes) {
            self.defined.extend(part.defines.iter().map(String::as_str));
            self.parts.push(part);
        }
    }
}

/// Links some objects by nvlink, in the folder that it returns. Most mixtures have one definition of each name, and definitions of what is missing.
fn mixture(
    random: &mut Random,
    arch: Arch,
    parts: &[Part],
    toolkit: &Toolkit,
    store: &Store,
) -> Result<(Linked, TempDir)> {
    let (is_sound, is_complete) = (random.chance(80), random.chance(60));
    let mut chosen = Chosen {
        parts: Vec::new(),
        defined: BTreeSet::new(),
        is_sound,
    };
    for _ in 0..[1, 2, 2, 3, 3, 4, 5, 8][random.below(8)] {
        chosen.take(random.pick(parts));
    }
    if is_complete {
        let needed = chosen.parts.iter().flat_map(|part| &part.needs);
        for name in needed.collect::<Vec<_>>() {
            let mut definers = parts.iter().filter(|part| part.defines.contains(name));
            if let Some(part) = definers.next() {
                chosen.take(part);
            }
        }
    }
    let mut chosen = chosen.parts;
    random.shuffle(&mut chosen);
    let options = OPTIONS.iter().filter(|(_, share)| random.chance(*share));
    let mut arguments = vec![format!("-arch={arch}")];
    arguments.extend(options.map(|(option, _)| (*option).to_owned()));
    arguments.extend(chosen.iter().map(|part| part.name.clone()));
    arguments.extend(["-o".to_owned(), OUTPUT.to_owned()]);
    let inputs = chosen
        .iter()
        .map(|part| (part.name.clone(), part.file.clone()));
    let inputs: Files = inputs.collect();
    let folder = store.scratch()?;
    store::place(&inputs, folder.path())?;
    let nvlink = toolkit.tool(Tool::Nvlink)?;
    let ended = process::run(&nvlink, &arguments, folder.path(), LINK_LIMIT)?;
    let files = store::collect(&inputs, folder.path())?;
    let link = Link {
        name: OUTPUT.to_owned(),
        output: Some(OUTPUT.to_owned()),
        arguments: arguments.clone(),
        expectations: Vec::new(),
        compare_text: true,
    };
    let linked = Linked {
        link,
        arguments,
        inputs,
        entry: Entry { ended, files },
    };
    Ok((linked, folder))
}
