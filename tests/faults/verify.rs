//! What `verify` makes of stored bytes: intact, damaged, unreachable and unverified are four answers, in text
//! and in JSON, for every store, and also when the line breaks in the middle of a batch.

use serde_json::Value;

use crate::common::proxy::{Proxy, Way};
use crate::scene::{Scene, run_id};
use crate::stores::{Damage, KINDS, Kind, Stores, add_no_archive, add_without, place};

/// Kind of failure and integrity of each run, and the exit code.
fn verified(
    stores: &Stores,
    url: &str,
    options: &[&str],
    runs: &[String],
) -> (Vec<(String, String)>, Option<i32>) {
    let mut words = vec!["--json"];
    words.extend(options);
    words.push("verify");
    words.extend(runs.iter().map(String::as_str));
    let place = place();
    let ran = place.run(&stores.words(url, &words));
    let document = ran.json();
    let results = document["results"].as_array().expect("a list");
    let answer = |result: &Value| {
        let kind = result["error"]["kind"].as_str().unwrap_or("ok").to_owned();
        (
            kind,
            result["integrity"].as_str().expect("a word").to_owned(),
        )
    };
    let ids: Vec<&str> = results
        .iter()
        .map(|result| result["run_id"].as_str().expect("an id"))
        .collect();
    assert_eq!(ids, runs, "{document}");
    // The text says the same of each.
    let at = words
        .iter()
        .position(|word| *word == "--json")
        .expect("there");
    words.remove(at);
    let text = place.run(&stores.words(url, &words));
    assert_eq!(text.code, ran.code);
    let lines: Vec<&str> = text
        .text()
        .lines()
        .filter(|line| !line.starts_with("  hint: "))
        .collect();
    assert_eq!(lines.len(), results.len(), "{}", text.text());
    for (line, (kind, word)) in lines.iter().zip(results.iter().map(answer)) {
        let said = line.split("  ").nth(1).unwrap_or_default();
        let ends = if word == "intact" && kind != "ok" {
            ", but no valid archive: "
        } else {
            ": "
        };
        assert!(said.starts_with(&format!("{word}{ends}")), "{word}: {line}");
    }
    (results.iter().map(answer).collect(), ran.code)
}

fn pairs(answers: &[(String, String)]) -> Vec<(&str, &str)> {
    answers
        .iter()
        .map(|(kind, word)| (&kind[..], &word[..]))
        .collect()
}

#[test]
fn four_answers_are_told_apart_for_every_store() {
    let scene = Scene::new(4);
    add_no_archive(&scene, 4);
    add_without(&scene, 5);
    scene.file("noise", &noise(3_000_000));
    scene.another_run(6);
    let stores = Stores::of(scene);
    let ids = |runs: &[usize]| runs.iter().map(|run| run_id(*run)).collect::<Vec<_>>();
    for kind in [Kind::Postgres, Kind::S3] {
        broken_line(&stores, kind);
    }
    for kind in KINDS {
        let url = stores.url(kind, None);
        let all = ids(&[0, 1, 2, 3, 6]);
        let sound = verified(&stores, &url, &[], &all);
        assert_eq!(
            (pairs(&sound.0), sound.1),
            (vec![("ok", "intact"); 5], Some(0)),
            "{kind:?}"
        );
        // A folder for private files that is full says nothing of the objects.
        let full = verified(&stores, &url, &["--spool-size", "1000"], &all[..2]);
        assert_eq!(
            (pairs(&full.0), full.1),
            (vec![("io", "unverified"); 2], Some(1)),
            "{kind:?}"
        );
        for (run, damage) in [
            (1, Damage::Flipped),
            (2, Damage::Shorter),
            (3, Damage::Gone),
        ] {
            stores.damage(kind, run, damage);
        }
        let mut all = ids(&[0, 1, 2, 3, 4, 5, 6, 1, 0]);
        all.push("nobody".into());
        let mixed = verified(&stores, &url, &[], &all);
        let wanted = [
            ("ok", "intact"),
            ("checksum_mismatch", "damaged"),
            ("size_mismatch", "damaged"),
            ("object_missing", "unreachable"),
            ("invalid_archive", "intact"),
            ("no_checkpoint", "unverified"),
            ("ok", "intact"),
            ("checksum_mismatch", "damaged"),
            ("ok", "intact"),
            ("not_found", "unverified"),
        ];
        assert_eq!(
            (pairs(&mixed.0), mixed.1),
            (wanted.to_vec(), Some(5)),
            "{kind:?}"
        );
    }
}

/// After the line has broken nothing is called damaged, and what came before it stays intact.
fn broken_line(stores: &Stores, kind: Kind) {
    let runs: Vec<String> = [0, 1, 5, 6, 2, 5, 3]
        .iter()
        .map(|run| run_id(*run))
        .collect();
    let own = match kind {
        Kind::Postgres => stores.cluster.port(),
        _ => stores.server.port(),
    };
    let proxy = Proxy::to(own);
    let url = stores.url(kind, Some(proxy.port()));
    proxy.set(Way::BrokenAfter(1_500_000));
    let mut words = vec!["--json", "verify"];
    words.extend(runs.iter().map(String::as_str));
    let ran = place().run(&stores.words(&url, &words)).exits(3);
    let document = ran.json();
    let results = document["results"].as_array().expect("a list").iter();
    let words: Vec<_> = results
        .map(|result| result["integrity"].as_str().expect("a word"))
        .collect();
    let wanted = [
        "intact",
        "intact",
        "unverified",
        "unreachable",
        "unreachable",
        "unverified",
        "unreachable",
    ];
    assert_eq!(words, wanted, "{kind:?}: {document}");
    assert!(proxy.passed() >= 1_500_000);
}

fn noise(length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    fastrand::Rng::with_seed(7).fill(&mut bytes);
    bytes
}
