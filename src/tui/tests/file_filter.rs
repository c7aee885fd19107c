//! The filter of the Files pane: where the cursor goes, and what the title counts.

use super::world::App;

fn filtered(text: &str) -> App {
    let mut app = App::opened(160, 45);
    app.keys("2 g /");
    app.text(text);
    app
}

fn path(app: &App) -> String {
    let tree = app.state.tree().expect("a tree");
    let node = app.state.files.selected().expect("a row");
    String::from_utf8_lossy(&tree.nodes[node].path).into_owned()
}

#[test]
fn the_cursor_goes_to_a_file_that_matches() {
    let mut app = filtered("t");
    // Not the folder that it stood on, nor the first row, and a changed file before another.
    assert!(path(&app).ends_with("was.txt"), "{}", path(&app));
    assert!(app.screen().contains(" of 8 files"), "{}", app.screen());
    app.text("ex");
    assert!(!path(&app).ends_with("was.txt"), "{}", path(&app));
    // A file that still matches keeps the cursor.
    let mut app = filtered("");
    app.text("n");
    app.text("otes");
    assert!(path(&app).ends_with("notes.txt"), "{}", path(&app));
    // What is gone to by hand stays, a folder too.
    app.keys("enter g");
    app.keys("x x x");
    assert_eq!(path(&app), "workspace");
    app.keys("esc esc");
    assert!(
        app.screen().contains("3 changed · 1 ignored"),
        "{}",
        app.screen()
    );
}

#[test]
fn the_title_counts_files_that_match_of_all() {
    let app = filtered("notes");
    assert!(app.screen().contains("1 of 8 files"), "{}", app.screen());
    let app = filtered("wsntx");
    assert!(app.screen().contains("0 of 8 files"), "{}", app.screen());
}
