//! PostgreSQL and S3: each exchange fails, once and from then on, while a run is opened, restored, compared
//! and stored.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use afterrun::checkpoint::{CheckpointRef, CheckpointStore};
use serde_json::Value;

use crate::common::{Place, names, sha256, tree};
use crate::layer::{Call, Count, EXCHANGES, Ended, Fault, Layer, When};
use crate::scene::{Scene, run_id};
use crate::stores::{Kind, Stores, place};

/// Most of the time is spent waiting for another attempt.
const AT_A_TIME: usize = 6;

struct Case {
    name: String,
    words: Vec<String>,
    makes: Option<&'static str>,
    /// Where it puts an object, when it does.
    puts: Option<Kind>,
}

/// What it did without a fault.
struct Whole {
    out: Vec<u8>,
    made: Option<Vec<String>>,
    counts: Vec<(Call, Count)>,
}

fn made(case: &Case, place: &Place) -> Option<Vec<String>> {
    let path = place.path(case.makes?);
    let entry = std::fs::symlink_metadata(&path).ok()?;
    Some(match entry.is_dir() {
        true => tree(&path),
        false => vec![sha256(&std::fs::read(&path).expect("read"))],
    })
}

#[test]
fn every_exchange_is_whole_or_refused() {
    let Some(layer) = Layer::get() else { return };
    let scene = Scene::new(1);
    let stores = Stores::of(scene);
    let at = |name: &str| {
        stores
            .scene
            .place
            .path(name)
            .to_str()
            .expect("UTF-8")
            .to_owned()
    };
    // What is put is not there yet.
    stores.scene.file("new.txt", b"a new file\n");
    let run = run_id(0);
    let mut cases = Vec::new();
    for kind in [Kind::Postgres, Kind::S3] {
        let url = stores.url(kind, None);
        let case = |words: &[&str], makes| Case {
            name: format!("{kind:?} {}", words[1]),
            words: stores.words(&url, words),
            makes,
            puts: None,
        };
        cases.push(case(&["--json", "tree", &run], None));
        cases.push(case(&["--json", "restore", &run, "out"], Some("out")));
        cases.push(case(
            &["--json", "patch", &run, "--base", "head", "-o", "out"],
            Some("out"),
        ));
        let words = [
            "--json",
            "capture",
            "--workspace",
            &at("workspace"),
            "--native",
            &at("native"),
            "--store",
            &url,
        ];
        cases.push(Case {
            name: format!("{kind:?} put"),
            words: words.map(str::to_owned).to_vec(),
            makes: None,
            puts: Some(kind),
        });
    }
    let wrong = Mutex::new(Vec::new());
    for case in &cases {
        let begun = std::time::Instant::now();
        let whole = whole(layer, &stores, case);
        let mut faults = Vec::new();
        for (call, count) in &whole.counts {
            faults.extend(count.every().into_iter().map(|when| (*call, *count, when)));
        }
        let next = AtomicUsize::new(0);
        // Objects that are put have one name: one at a time there.
        let threads = if case.puts.is_some() { 1 } else { AT_A_TIME };
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while let Some((call, count, when)) =
                        faults.get(next.fetch_add(1, Ordering::SeqCst))
                    {
                        let place = place();
                        let fault = Fault {
                            call: *call,
                            error: call.error,
                            count: *count,
                            when: *when,
                            path: None,
                        };
                        let ended = layer.fail(&place, &case.words, &fault);
                        if let Err(why) = judge(&stores, case, &whole, &place, &ended) {
                            let told = said(&case.name, *call, *when, &why, &ended);
                            wrong.lock().expect("whole").push(told);
                        }
                    }
                });
            }
        });
        let counts: Vec<String> = whole
            .counts
            .iter()
            .map(|(call, count)| format!("{} {}", call.name, count.every().len()))
            .collect();
        println!(
            "{}: {} in {:?}",
            case.name,
            counts.join(", "),
            begun.elapsed()
        );
    }
    let wrong = wrong.into_inner().expect("whole");
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

fn said(case: &str, call: Call, when: When, why: &str, ended: &Ended) -> String {
    let out = String::from_utf8_lossy(&ended.out);
    format!(
        "{case}: {} {when:?}: {why}: {:?} {} {out}",
        call.name, ended.code, ended.err
    )
}

fn whole(layer: &Layer, stores: &Stores, case: &Case) -> Whole {
    let first = place();
    let ran = first.run(&case.words).ok();
    let made = made(case, &first);
    let out = ran.out;
    assert!(
        case.puts.is_none_or(|kind| forget(stores, kind, &out)),
        "{}: it was stored",
        case.name
    );
    let counted = layer.count(&place(), &case.words, &EXCHANGES, None);
    case.puts.map(|kind| forget(stores, kind, &out));
    let counts = EXCHANGES
        .iter()
        .filter_map(|call| Some((*call, *counted.get(call.name)?)));
    Whole {
        counts: counts.collect(),
        made,
        out,
    }
}

/// Removes the object that a put told of; whether it was there, and then it was whole.
fn forget(stores: &Stores, kind: Kind, told: &[u8]) -> bool {
    let told: Value = serde_json::from_slice(told).expect("JSON");
    let (digest, size) = (
        told["sha256"].as_str().expect("a digest"),
        told["size"].as_u64().expect("a size"),
    );
    let reference = CheckpointRef::new(digest, size).expect("a reference");
    if kind == Kind::S3 {
        assert_eq!(stores.server.parts(), 0, "parts of an upload are left");
        let path = stores.key(digest);
        let Ok(bytes) = std::fs::read(&path) else {
            return false;
        };
        assert_eq!(sha256(&bytes), digest, "a part of an object is there");
        std::fs::remove_file(path).expect("removed");
        return true;
    }
    let store = stores.postgres();
    stores.runtime.block_on(async {
        let there = store.contains(&reference).await.expect("asked");
        if there {
            let opened = store
                .open_archive(&reference, &afterrun::progress::Watch::default())
                .await;
            opened.expect("whole");
        }
        store.delete(&reference).await.expect("removed");
        there
    })
}

fn judge(
    stores: &Stores,
    case: &Case,
    whole: &Whole,
    place: &Place,
    ended: &Ended,
) -> Result<(), String> {
    let stored = case.puts.map(|kind| forget(stores, kind, &whole.out));
    if ended.hung || ended.err.contains("panicked") {
        return Err("it hangs or panics".into());
    }
    let left = names(&place.tmp());
    let mut there = names(&place.path(""));
    there.retain(|name| Some(&name[..]) != case.makes);
    if !left.is_empty() || !there.is_empty() {
        return Err(format!("left: {left:?} {there:?}"));
    }
    let made = made(case, place);
    let document = serde_json::from_slice::<Value>(&ended.out).unwrap_or_default();
    let kind = document["error"]["kind"].as_str();
    let lines: Vec<&str> = ended.err.lines().collect();
    let one_line = matches!(lines[..], [one] | [one, _] if one.starts_with("afterrun: "));
    match ended.code {
        Some(0) if ended.out != whole.out || made != whole.made => {
            Err("it answers something else".into())
        }
        Some(0) if stored == Some(false) => Err("it stored nothing".into()),
        Some(0) => Ok(()),
        _ if made.is_some() => Err("it left something".into()),
        Some(1) if one_line && matches!(kind, Some("store" | "timeout" | "io")) => Ok(()),
        _ => Err("another end".into()),
    }
}
