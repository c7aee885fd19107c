//! Keys from a configuration: what they do, where they show, and what is refused.

use super::world::App;
use crate::config::file::ConfigFile;
use crate::config::key::Key;
use crate::config::layer::{Layer, Source};
use crate::tui::action::Id;
use crate::tui::message::Effect;

fn read(text: &str) -> Result<ConfigFile, String> {
    ConfigFile::parse(text, "config.toml").map_err(|error| {
        assert_eq!(error.kind(), crate::ErrorKind::Usage);
        let hint = error.next_step().unwrap_or("nothing");
        assert!(!error.message().contains('\n') && !hint.contains('\n'));
        format!("{} → {hint}", error.message())
    })
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    match read(text) {
        Ok(_) => panic!("taken: {text}"),
        Err(message) => assert_eq!(message, expected),
    }
}

#[test]
fn an_empty_configuration_changes_nothing() {
    let config = read("").expect("read");
    assert_eq!(config.top.keymap.keys(Id::Quit), ["q"]);
    assert_eq!(config.top.layer, Layer::default());
}

#[test]
fn what_it_says_is_taken() {
    let text = "theme = \"dark\"\neditor = \"code --wait\"\nmouse = false\n\
        [keys.content]\nnext-hunk = [\"ctrl-n\", \"]\"]\nnote = []\n[keys.prompt]\nclear = \"ctrl-k\"\n";
    let config = read(text).expect("read");
    let said = &config.top.layer;
    assert_eq!(said.text(Key::Theme), Some("dark"));
    assert_eq!(said.source(Key::Theme), Source::File(1));
    let editor = ["code".to_owned(), "--wait".to_owned()];
    assert_eq!(said.words(Key::Editor), Some(&editor[..]));
    assert!(said.get(Key::Mouse).is_some() && !said.truth(Key::Mouse));
    assert_eq!(config.top.keymap.keys(Id::NextHunk), ["ctrl-n", "]"]);
    assert_eq!(config.top.keymap.keys(Id::Note), [""; 0]);
    assert_eq!(config.top.keymap.keys(Id::Clear), ["ctrl-k"]);
}

#[test]
fn what_is_not_known_is_named_with_its_line() {
    refused(
        "\nthem = \"dark\"",
        "config.toml, line 2: there is no key or section `them` → did you mean `theme`?",
    );
    refused(
        "[key.runs]\n",
        "config.toml, line 1: there is no key or section `key` → did you mean `keys`?",
    );
    refused(
        "[keys.contents]\nnext-hunk = []\n",
        "config.toml, line 1: there is no scope `contents` → did you mean `content`?",
    );
    refused(
        "[keys.content]\n\nnext-hnuk = [\"]\"]\n",
        "config.toml, line 3: there is no action of [keys.content] called `next-hnuk` → did you mean `next-hunk`?",
    );
    refused(
        "[keys.runs]\nrestore = [\"r\"]\n",
        "config.toml, line 2: `restore` is no action of [keys.runs] → it belongs in [keys.everywhere]",
    );
    refused(
        "[keys.runs]\nopen-run = [\n  \"enter\",\n  \"ctrl+o\",\n]\n",
        "config.toml, line 4: `ctrl+o` is no key → did you mean `ctrl-o`?",
    );
    refused(
        "[keys.everywhere]\nzoom = [\"ctrl-i\"]\n",
        "config.toml, line 2: terminals send `tab` for `ctrl-i` → write `tab`",
    );
    refused(
        "[keys.prompt]\ncomplete = [\"j\"]\n",
        "config.toml, line 2: `j` could not be typed in a prompt any more → keys of [keys.prompt] need ctrl- or alt-, or a name",
    );
    refused(
        "mouse = 1",
        "config.toml, line 1: `mouse` is true or false → nothing",
    );
    refused(
        "editor = \"vim 'x\"",
        "config.toml, line 1: `editor` has a quote that is not closed → nothing",
    );
    let broken = read("theme = \n").expect_err("refused");
    assert!(broken.starts_with("config.toml, line 1: "), "{broken}");
    let odd = read("\"a\\u202eb\" = 1").expect_err("refused");
    assert!(odd.contains("\\u{202e}"), "{odd}");
}

#[test]
fn a_clash_names_both() {
    refused(
        "[keys.runs]\norder = [\"ctrl-o\"]\nflat = [\"ctrl-o\"]\n",
        "config.toml, line 3: `ctrl-o` would be both `order` (line 2) and `flat` (line 3) → give one of them another key, or none: order = [] in [keys.runs]",
    );
    refused(
        "[keys.content]\nnext-hunk = [\"j\"]\n",
        "config.toml, line 2: `j` would be both `down` (its own key) and `next-hunk` (line 2) → give one of them another key, or none: down = [] in [keys.everywhere]",
    );
    refused(
        "[keys.everywhere]\nzoom = [\"s\"]\n",
        "config.toml, line 2: `s` would be both `status-filter` (its own key) and `zoom` (line 2) → give one of them another key, or none: status-filter = [] in [keys.runs]",
    );
    // One key of two panes is no clash, and one that was given up is free.
    read("[keys.runs]\norder = [\"ctrl-o\"]\n[keys.files]\nviewed = [\"ctrl-o\"]\n").expect("read");
    read("[keys.everywhere]\nquit = [\"Q\"]\nrestore = [\"q\"]\n").expect("read");
}

#[test]
fn there_is_always_a_way_out() {
    refused(
        "[keys.everywhere]\nquit = []\nstop = []\n",
        "config.toml, line 3: without a key for `quit` or `stop` there is no way to leave → leave one of them a key",
    );
    read("[keys.everywhere]\nquit = []\n").expect("ctrl-c is left");
    let prompts = read("[keys.prompt]\ncancel = []\n").expect_err("refused");
    assert!(prompts.contains("no way to leave a prompt"), "{prompts}");
}

#[test]
fn bound_keys_act_and_show_everywhere() {
    let text = "[keys.everywhere]\nrestore = [\"alt-r\", \"f5\"]\nhelp = [\"f1\"]\nquit = [\"Q\"]\nview-diff = []\n";
    let mut app = App::opened(160, 60);
    app.state.keymap = read(text).expect("read").top.keymap;
    let screen = app.screen();
    assert!(
        screen.contains("alt-r restore") && screen.contains("f1 keys"),
        "{screen}"
    );
    app.keys("r");
    assert!(app.state.overlay.is_none(), "not its key any more");
    app.keys("alt-r");
    assert!(app.screen().contains("Restore to a new directory"));
    app.keys("esc q");
    assert!(
        !app.effects
            .iter()
            .any(|effect| matches!(effect, Effect::Quit))
    );
    app.keys("esc esc esc esc");
    assert!(
        app.screen().contains("nothing to go back to; Q quits"),
        "{}",
        app.screen()
    );
    app.keys("f1");
    let screen = app.screen();
    assert!(screen.contains("alt-r f5"), "{screen}");
    assert!(screen.contains("unbound"), "{screen}");
    app.keys("esc : r e s t");
    let screen = app.screen();
    assert!(screen.contains("restore         alt-r f5"), "{screen}");
    app.keys("esc 3 i ]");
    assert!(
        app.screen().contains("only in the diff (:diff shows it)"),
        "{}",
        app.screen()
    );
    app.keys("Q");
    assert!(
        app.effects
            .iter()
            .any(|effect| matches!(effect, Effect::Quit))
    );
}

#[test]
fn a_theme_is_one_of_those_there_are() {
    refused(
        "\ntheme = \"drak\"",
        "config.toml, line 2: there is no theme `drak` → did you mean `dark`?",
    );
}
