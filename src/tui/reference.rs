//! The keys as a page to read, for the documentation and the manual: from the same table that the
//! interface looks keys up in.

use std::fmt::Write as _;

use super::action::{Action, Scope, TABLE};
use super::signs::SIGNS;

/// Where the keys of a scope count, for a heading.
fn place(scope: Scope) -> &'static str {
    match scope {
        Scope::Everywhere => "Everywhere",
        Scope::Runs => "In Runs",
        Scope::Files => "In Files",
        Scope::Content => "In the content",
        Scope::Prompt => "In prompts and the palette",
    }
}

fn of(scope: Scope) -> impl Iterator<Item = &'static Action> {
    TABLE.iter().filter(move |action| action.scope == scope)
}

/// What it does, and whether it does it yet.
fn doc(action: &Action) -> String {
    match action.later {
        true => format!("{} (not there yet: it says so)", action.doc),
        false => action.doc.to_owned(),
    }
}

/// `assets/keys.md`.
#[must_use]
pub fn markdown() -> String {
    let mut page = String::from(
        "# Keys\n\nMade from the table in `src/tui/action.rs` by `cargo run --example keys`; do not edit it.\n\n\
         `?` shows the keys that are bound, with the reason beside each that cannot act now. An action is bound to\n\
         other keys by its name in the section of its scope:\n\n\
         ```toml\n# ~/.config/afterrun/config.toml\n[keys.content]\nnext-hunk = [\"]\", \"ctrl-n\"]\n\n\
         [keys.everywhere]\nsuspend = [] # unbound\n```\n\n\
         A key is a character, or `enter`, `esc`, `tab`, `backtab`, `space`, `backspace`, `delete`, `insert`, `up`,\n\
         `down`, `left`, `right`, `home`, `end`, `pageup`, `pagedown`, `f1` to `f12`, with `ctrl-` or `alt-` before it.\n",
    );
    for scope in Scope::ALL {
        let (heading, section) = (place(scope), scope.key());
        let _ = write!(
            page,
            "\n## {heading}\n\n`[keys.{section}]`\n\n| key | action | what it does |\n| --- | --- | --- |\n"
        );
        for action in of(scope) {
            let keys = action.keys.iter().map(|key| match *key {
                // A bar would end the table's cell.
                "|" => "`\\|`".to_owned(),
                key => format!("`{key}`"),
            });
            let keys: Vec<String> = keys.collect();
            let _ = writeln!(
                page,
                "| {} | `{}` | {} |",
                keys.join(" "),
                action.key(),
                doc(action)
            );
        }
    }
    page.push_str("\n## Signs\n\n`?` lists them too, below the keys.\n\n| sign | what it says |\n| --- | --- |\n");
    for (sign, says) in SIGNS {
        let _ = writeln!(page, "| `{sign}` | {says} |");
    }
    page
}

/// The manual's sections on keys and configuration.
#[must_use]
pub fn roff() -> String {
    let mut page = String::from(
        ".SH KEYS\nIn the interface, ? shows these with the reason beside each that cannot act now.\n",
    );
    for scope in Scope::ALL {
        let _ = writeln!(page, ".SS {} [keys.{}]", place(scope), scope.key());
        for action in of(scope) {
            let _ = write!(
                page,
                ".TP\n\\fB{}\\fR  {}\n{}\n",
                escaped(&action.keys.join(" ")),
                escaped(&action.key()),
                escaped(&doc(action))
            );
        }
    }
    page.push_str(
        ".SH CONFIGURATION\n\
         $XDG_CONFIG_HOME/afterrun/config.toml, else ~/.config/afterrun/config.toml, or what \\-\\-config or\n\
         AFTERRUN_CONFIG names. It may hold theme, editor (else $VISUAL, $EDITOR), mouse = true or false, and the\n\
         sections [keys.SCOPE] with lines such as next\\-hunk = [\"]\", \"ctrl\\-n\"]; an empty list unbinds. What is not\n\
         known there ends the start with exit code 2.\n",
    );
    page
}

/// `text` for roff: a line that begins with a dot would be a request.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('-', "\\-");
    match text.starts_with(['.', '\'']) {
        true => format!("\\&{text}"),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_keys_is_fresh() {
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/keys.md");
        let there = std::fs::read_to_string(file).unwrap_or_default();
        assert!(
            there == markdown(),
            "assets/keys.md is not what the table says; renew it: cargo run --example keys"
        );
    }

    #[test]
    fn every_action_stands_on_both_pages() {
        let (markdown, roff) = (markdown(), roff());
        for action in TABLE {
            assert!(markdown.contains(&format!("| `{}` |", action.key())));
            assert!(roff.contains(&escaped(&action.key())));
        }
        assert!(!roff.contains("\n.\n") && roff.lines().all(|line| line.len() < 300));
    }
}
