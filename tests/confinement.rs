//! What the review worker is held to, tried from inside it.

mod common;

use common::Place;

#[test]
fn the_worker_cannot_open_connect_or_execute() {
    let answer = Place::new().run(&["doctor", "--json"]);
    let told = answer.json();
    let checks = told["checks"].as_array().expect("checks");
    let worker = checks
        .iter()
        .find(|check| check["name"] == "review worker")
        .expect("the worker");
    assert_eq!(worker["ok"], true, "{worker}");
    let message = &worker["notes"].to_string();
    // A kernel without Landlock is told apart; this one is asked directly.
    let lsm = std::fs::read_to_string("/sys/kernel/security/lsm").unwrap_or_default();
    if lsm.contains("landlock") || message.contains("confined by Landlock") {
        assert!(
            message.contains(
                "tried from inside, it could not open a file or a socket, or start a program"
            ),
            "{message}"
        );
    } else {
        assert!(message.contains("Landlock"), "{message}");
    }
}
