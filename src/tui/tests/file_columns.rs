//! What stands at the right edge of the Files pane stands under each other, whatever the rows hold.

use unicode_width::UnicodeWidthStr;

use super::world::App;

/// Columns from the left of the pane at which `text` ends in the row of `name`.
#[track_caller]
fn end_of(app: &App, name: &str, text: &str) -> usize {
    let screen = app.screen();
    let rows = screen.lines().flat_map(|line| line.split('│'));
    let mut rows = rows.filter(|row| row.contains(name) && row.contains(text));
    let row = rows
        .next()
        .unwrap_or_else(|| panic!("no {name} with {text} in\n{screen}"));
    let at = row.rfind(text).map(|at| at + text.len());
    row[..at.unwrap_or_default()].width()
}

#[test]
fn numbers_stand_under_numbers() {
    for (width, height) in [(60, 16), (80, 24), (120, 35), (160, 45), (200, 60)] {
        let mut app = App::opened(width, height);
        app.keys("2");
        let added = end_of(&app, "notes.txt", "+11");
        assert_eq!(end_of(&app, "M README.md", "+1"), added, "{width}");
        let deleted = end_of(&app, "D was.txt", "−3");
        assert!(deleted > added, "{width}");
        if [60, 200].contains(&width) {
            let size = end_of(&app, "notes.txt", "120 B");
            assert_eq!(end_of(&app, "fixture-env.txt", "73 B"), size, "{width}");
            assert_eq!(end_of(&app, "M README.md", "36 B"), size, "{width}");
            assert_eq!(end_of(&app, "▾ workspace", "3 changed of 6 files"), size);
        } else {
            // Where there is room for counts only they are at the edge, and no size is in any row.
            let all = if width < 160 {
                "3 changed"
            } else {
                "3 changed of 6 files"
            };
            assert_eq!(end_of(&app, "▾ workspace", all), deleted, "{width}");
            assert!(!app.screen().contains("73 B"), "{}", app.screen());
        }
    }
}
