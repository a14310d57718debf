//! The `rustnvlink` program: nvlink's command line over the library.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use cudalink_memory::LargePages;

#[global_allocator]
static MEMORY: LargePages = LargePages;

fn main() -> ExitCode {
    rustnvlink::temporary::remove_on_signals();
    rustnvlink::output::outlive_size_limits();
    ExitCode::from(rustnvlink::cli::run(std::env::args_os().skip(1)).code())
}
