//! What may be meant by an option that this program does not have.

use super::flags::{FLAGS, Group, Spelling};
use crate::codes;
use crate::diagnostic::{Diagnostic, Severity};
use crate::explain::ALIKE;

/// Options of nvcc that have a counterpart here, and what to say instead.
const COUNTERPARTS: &[(&[&str], &str)] = &[
    (
        &[
            "gencode",
            "generate-code",
            "gpu-architecture",
            "gpu-code",
            "code",
        ],
        "-arch names the processors, as in -arch=sm_80,sm_90",
    ),
    (&["G", "device-debug"], "-g keeps what debuggers need"),
    (
        &["Xnvlink", "nvlink-options"],
        "what nvcc passes on behind it stands alone here",
    ),
];

/// Options that only nvcc has a use for.
const OF_NVCC: &[&str] = &[
    "Xcompiler",
    "c",
    "ccbin",
    "compile",
    "compiler-bindir",
    "compiler-options",
    "cudart",
    "dc",
    "device-c",
    "device-link",
    "dlink",
    "dw",
    "ewp",
    "fatbin",
    "gen-opt-lto",
    "extended-lambda",
    "expt-extended-lambda",
    "expt-relaxed-constexpr",
    "libdevice-directory",
    "ptx",
    "rdc",
    "relocatable-device-code",
    "restrict",
    "std",
    "use_fast_math",
    "x",
];

/// Beginnings of options for compilers, whose values stand right behind them.
const OF_COMPILERS: &[char] = &['D', 'I', 'O', 'W', 'f', 'm'];

/// Options of nvcc that look like a library, and what there is to say of them.
const LIKE_LIBRARIES: &[(&str, &str)] = &[
    (
        "lineinfo",
        "the lines of sources stay that the objects have (nvcc -dc -lineinfo)",
    ),
    ("lib", OF_NVCC_ALONE),
    ("link", OF_NVCC_ALONE),
    ("ltoir", OF_NVCC_ALONE),
];

const OF_NVCC_ALONE: &str =
    "it is an option of nvcc; a library of this name is named by -l, a blank and the rest";

/// What there is to say of an option that nvlink takes for a library which nobody has.
pub(super) fn like_library(typed: &str) -> Option<Diagnostic> {
    let (name, advice) = LIKE_LIBRARIES.iter().find(|(name, _)| *name == typed)?;
    let text = format!("option '-{name}' has no effect in a device link");
    Some(Diagnostic::new(Severity::Warning, codes::UNUSED_OPTION, text).with_detail(advice))
}

/// Whether an option is one of compilers, as `-march=native`, although it begins like one of ours with a number behind it.
pub(super) fn is_of_compilers(typed: &str) -> bool {
    let known = FLAGS
        .iter()
        .any(|spelling| spelling.short == typed.split('=').next());
    let rest = typed.strip_prefix('m').filter(|_| !known);
    rest.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_alphabetic()))
}

/// Says which option may be meant: nvlink's long names need two dashes and its
/// short ones one.
pub(super) fn unknown_option(name: &str) -> Diagnostic {
    let problem = Diagnostic::fatal(codes::UNKNOWN_OPTION, format!("Unknown option '{name}'"));
    let bare = name.trim_start_matches('-');
    if let Some(meant) = spelled_otherwise(bare) {
        return problem.with_detail(format_args!("did you mean '{meant}'?"));
    }
    if let Some((_, advice)) = COUNTERPARTS.iter().find(|(names, _)| names.contains(&bare)) {
        return problem.with_detail(advice);
    }
    let is_of_nvcc = OF_NVCC.contains(&bare);
    if !is_of_nvcc && let Some(meant) = alike(bare) {
        return problem.with_detail(format_args!("did you mean '--{meant}'?"));
    }
    if bare.starts_with("Wl,") {
        return problem.with_detail("it is for the host linker");
    }
    if is_of_nvcc {
        return problem.with_detail(
            "it is an option of nvcc; `cargo cudalink nvcc-dlink` takes a command line for nvcc -dlink",
        );
    }
    match bare.starts_with(OF_COMPILERS) && !name.starts_with("--") {
        true => problem.with_detail(
            "--help lists all options; those of compilers are for nvcc, whose command line \
             `cargo cudalink nvcc-dlink` takes",
        ),
        false => problem.with_detail("--help lists all options"),
    }
}

/// An option of this name with another number of dashes, or with other capitals where that leaves no doubt.
fn spelled_otherwise(bare: &str) -> Option<String> {
    let find = |is_same: fn(&str, &str) -> bool| {
        FLAGS.iter().find_map(|spelling| match spelling.short {
            _ if is_same(spelling.long, bare) => Some(format!("--{}", spelling.long)),
            Some(short) if is_same(short, bare) => Some(format!("-{short}")),
            _ => None,
        })
    };
    find(|ours, typed| ours == typed).or_else(|| {
        let is_word = bare.len() > 1;
        find(str::eq_ignore_ascii_case).filter(|_| is_word)
    })
}

/// The option whose name is most alike, if it is much alike.
fn alike(bare: &str) -> Option<&'static str> {
    // Whoever knows how an option begins may not know its end.
    let alike = |spelling: &&Spelling| {
        let beginning = spelling.long.split('-').next().unwrap_or_default();
        strsim::jaro_winkler(spelling.long, bare).max(strsim::jaro_winkler(beginning, bare))
    };
    let shown = FLAGS
        .iter()
        .filter(|spelling| spelling.group != Group::Hidden);
    let best = shown.max_by(|a, b| alike(a).total_cmp(&alike(b)))?;
    (alike(&best) > ALIKE).then_some(best.long)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, advice: &str) {
        let detail = unknown_option(name).detail.unwrap();
        assert!(detail.contains(advice), "{name}: {detail}");
    }

    #[test]
    fn options_of_other_programs_are_known() {
        for name in ["gencode", "-generate-code", "-gpu-architecture", "code"] {
            check(name, "-arch=sm_80,sm_90");
        }
        check("G", "-g keeps");
        check("Xnvlink", "stands alone here");
        for name in [
            "rdc",
            "-relocatable-device-code",
            "dlink",
            "-device-link",
            "O3",
            "Ifolder",
            "std",
            "fPIC",
        ] {
            check(name, "nvcc-dlink");
        }
        check("march", "'--arch'");
        check("mavx2", "nvcc-dlink");
        check("Wl,--start-group", "host linker");
    }

    #[test]
    fn options_of_ours_are_preferred() {
        check("-output", "'--output-file'");
        check("verbose", "'--verbose'");
        check("-kernel-used", "'--kernels-used'");
        check("-zzz", "--help");
        check("Map", "'--map'");
        check("-XPTXAS", "'--Xptxas'");
    }

    #[test]
    fn options_that_look_like_libraries_are_known() {
        let warning = like_library("lineinfo").unwrap();
        assert_eq!(warning.code, codes::UNUSED_OPTION);
        for (name, _) in LIKE_LIBRARIES {
            assert!(
                FLAGS.iter().all(|spelling| spelling.short != Some(name)),
                "{name}"
            );
        }
        assert!(like_library("lineinfo2").is_none() && like_library("l").is_none());
    }

    #[test]
    fn machines_of_compilers_are_no_numbers() {
        assert!(is_of_compilers("march=native") && is_of_compilers("mavx2"));
        for ours in [
            "m64",
            "m=64",
            "m",
            "map=x",
            "message-format=json",
            "maxrregcount=32",
        ] {
            assert!(!is_of_compilers(ours), "{ours}");
        }
    }

    #[test]
    fn no_option_of_ours_is_one_of_theirs() {
        let theirs = COUNTERPARTS.iter().flat_map(|(names, _)| *names);
        for name in theirs.chain(OF_NVCC) {
            assert_eq!(spelled_otherwise(name), None, "{name}");
        }
    }
}
