//! The same checkouts in the interface: opened from a row, every changed file looked at.

use std::path::Path;
use std::sync::Arc;

use afterrun::checkpoint::FileCheckpointStore;
use afterrun::runs::{Runs, SqliteRuns, Tables};
use afterrun::tui::state::Labels;

use crate::common::headless::with;
use crate::common::{Place, id, world};

/// Opens what `reference` names, from a row without a pin, and walks through all that is shown of it;
/// every frame on the way.
pub fn walk(place: &Place, reference: &str) -> Vec<String> {
    afterrun::review::use_worker(env!("CARGO_BIN_EXE_afterrun"));
    let (database, store) = (place.path("agno.sqlite"), place.path("store"));
    row(&database, reference);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let mut seen = Vec::new();
    runtime.block_on(async {
        let database = SqliteRuns::open(&database, Tables::default()).expect("a database");
        let store = FileCheckpointStore::open(&store).expect("a store");
        let runs = Runs::new(Arc::new(database), Some(Arc::new(store)), None);
        let frames = &mut seen;
        with(
            runs,
            Labels::default(),
            (160, 45),
            async move |mut person| {
                person.wait_for("COMPLETED").await;
                person.keys("enter");
                person.wait_for("✔ archive").await;
                frames.push(person.settled().await.text);
                for keys in [
                    "2 g", "j", "j", "j", "j", "j", "j", "G", "k", "f", "i", "G", "1",
                ] {
                    person.keys(keys);
                    person.next_frame().await;
                    frames.push(person.settled().await.text);
                }
            },
        )
        .await;
    });
    seen
}

/// The demo's database with one run, which committed to `reference` and names no repository.
fn row(path: &Path, reference: &str) {
    std::fs::copy(&world().database, path).expect("copied");
    let database = rusqlite::Connection::open(path).expect("opened");
    let changed = database.execute(
        "UPDATE agno_runs SET run_data = json_remove(json_set(run_data, \
         '$.metadata.sandbox.checkpoint', json(?)), '$.metadata.sandbox.repository') WHERE run_id = ?",
        [reference, id::STORY2],
    );
    assert_eq!(changed.expect("updated"), 1);
    let others = database.execute("DELETE FROM agno_runs WHERE run_id <> ?", [id::STORY2]);
    others.expect("deleted");
}
