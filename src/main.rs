//! The `afterrun` command: nothing but the way into the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    // First: this same executable is started again as the review worker.
    afterrun::review::init();
    afterrun::cli::main()
}
