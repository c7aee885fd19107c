//! What `-v` adds on stderr, and that it adds it nowhere else.

mod common;

use common::{Place, id};

#[test]
fn v_logs_to_stderr_alone() {
    let place = Place::new();
    let quiet = place.world(&["verify", id::STORY2]).ok();
    assert_eq!(quiet.err, "");
    let told = place.world(&["-v", "verify", id::STORY2]).exits(0);
    assert_eq!(told.text(), quiet.text());
    for part in [
        "the database ",
        "the store ",
        "the gate lets it pass",
        "B read, hashed",
        "entries",
    ] {
        assert!(told.err.contains(part), "{part}: {}", told.err);
    }
    assert!(!told.err.contains("DEBUG"), "{}", told.err);
    let more = place.world(&["-vv", "verify", id::STORY2]).exits(0);
    assert!(more.err.contains("its row was read"), "{}", more.err);
    let json = place
        .world(&["-v", "verify", id::STORY2, "--json"])
        .exits(0);
    assert_eq!(json.json()["results"][0]["ok"], true);
    assert!(json.err.contains("INFO"), "{}", json.err);
}

#[test]
fn v_tells_of_workers_bases_and_refusals() {
    let place = Place::new();
    let diff = place.world(&["-v", "diff", id::STORY2]).exits(0);
    for part in [
        "review worker ",
        " is started",
        " has ended",
        "compared with pin ",
    ] {
        assert!(diff.err.contains(part), "{part}: {}", diff.err);
    }
    let refused = place.world(&["-v", "verify", id::RUNNING]).exits(3);
    assert!(
        refused.err.contains("the gate refuses: Run "),
        "{}",
        refused.err
    );
    let listed = place.world(&["-vv", "runs"]).exits(0);
    assert!(listed.err.contains("a page of 24 runs"), "{}", listed.err);
}
