//! Options of a link, drawn from bytes.

use rustnvlink::arch::Sm;
use rustnvlink::options::{
    Behaviour, DebugLevel, EarlyAddresses, ImageKind, KernelFilter, Names, NullAddress, Odr,
    Options, RelocationForms, Reservation, ReservedNumbers, ResolvedRelocations, SharedLimit,
    UndefinedGlobals,
};

use crate::Bytes;
use crate::programs::Program;

/// The processors that a program is linked for besides its own.
const TARGETS: [&str; 10] = [
    "sm_75", "sm_80", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_103", "sm_120", "sm_121",
];

/// Takes eight bytes.
pub fn options(bytes: &mut Bytes<'_>, program: &Program) -> Options {
    let targets = TARGETS.map(|name| name.parse::<Sm>().expect("the name of a processor"));
    let mut targets: Vec<Sm> = targets.into();
    targets.retain(|&target| program.sm.links_into(target));
    let names = ["k", "f", "_Z", "callee", "*"].map(str::to_owned);
    let one = |byte: u8| match byte % 8 {
        0 => KernelFilter::Containing(Vec::new()),
        1..=5 => KernelFilter::Containing(vec![names[usize::from(byte % 8 - 1)].clone()]),
        _ => KernelFilter::All,
    };
    let [image, debug, flags, more, reports, kernels, target, name] = bytes.take();
    let is = |bit: u8| flags & 1 << bit != 0;
    let has = |bit: u8| more & 1 << bit != 0;
    let target = match usize::from(target) {
        at @ ..128 => targets.get(at % (targets.len() + 1)),
        _ => None,
    };
    let mut options = Options::new(*target.unwrap_or(&program.sm));
    if is(0) {
        options.behaviour = Behaviour::Nvlink;
    }
    options.kernels = one(kernels & 0xf);
    options.constants = one(kernels >> 4);
    options.warnings_are_errors = reports & 0x80 != 0;
    let settings = &mut options.settings;
    settings.image = match image % 5 {
        0..3 => ImageKind::Executable,
        3 => ImageKind::Relocatable(EarlyAddresses::Leave),
        _ => ImageKind::Relocatable(EarlyAddresses::Fill),
    };
    settings.debug = match debug % 3 {
        0 => DebugLevel::None,
        1 => DebugLevel::Code,
        _ => DebugLevel::Symbols,
    };
    settings.odr = match debug / 3 % 4 {
        0 => Odr::Data,
        1 => Odr::Off,
        2 => Odr::Warn,
        _ => Odr::Error,
    };
    if is(1) {
        settings.resolved_relocations = ResolvedRelocations::Recorded;
    }
    if is(2) {
        settings.relocation_forms = RelocationForms::WithAddends;
    }
    if is(3) {
        settings.shared_memory.reservation = Reservation::Disabled;
    }
    if is(4) {
        settings.shared_memory.limit = SharedLimit::Processor;
    }
    if is(5) {
        settings.shared_memory.null = NullAddress::Reserved;
    }
    if is(6) {
        settings.undefined_globals = UndefinedGlobals::Allowed;
    }
    if is(7) {
        settings.reserved_numbers = ReservedNumbers::Bare;
    }
    settings.verbose = has(0);
    settings.call_graph = match (has(1), has(2)) {
        (true, true) => Some(Names::Readable),
        (true, false) => Some(Names::Mangled),
        (false, _) => None,
    };
    if !has(3) {
        settings.unified_index = program.index.clone();
    }
    settings.reports.map = reports & 1 != 0;
    settings.reports.call_graph = reports & 2 != 0;
    settings.reports.cross_references = reports & 4 != 0;
    settings.reports.uncalled = reports & 8 != 0;
    if reports & 16 != 0 {
        let at = usize::from(name) % names.len();
        settings.reports.why_live = vec![names[at].clone()];
    }
    options
}
