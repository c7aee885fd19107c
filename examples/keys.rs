//! Writes `assets/keys.md` from the table of keys.
//!
//! ```text
//! cargo run --example keys
//! ```

use std::path::Path;

fn main() -> std::io::Result<()> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/keys.md");
    std::fs::write(file, afterrun::tui::reference::markdown())
}
