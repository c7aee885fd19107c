//! Files: opening, restoring, comparing and storing on a file store.

use std::path::Path;

use serde_json::Value;

use crate::common::{Place, names, tree};
use crate::layer::{Ended, Fault, Layer, calls};
use crate::scene::{Scene, run_id};

/// A command under test.
struct Command {
    words: Vec<String>,
    /// What it makes, below the working directory.
    makes: Option<&'static str>,
    /// Whether it puts an object into a store.
    puts: bool,
    /// Whether the review worker has a part in it.
    compares: bool,
}

/// What it did without a fault.
struct Whole {
    out: Vec<u8>,
    made: Option<Vec<String>>,
    store: Vec<String>,
}

impl Command {
    fn made(&self, place: &Place) -> Option<Vec<String>> {
        let path = place.path(self.makes?);
        let entry = std::fs::symlink_metadata(&path).ok()?;
        Some(match entry.is_dir() {
            true => tree(&path),
            false => vec![crate::common::sha256(&std::fs::read(&path).expect("read"))],
        })
    }

    fn whole(&self) -> Whole {
        let place = self.place();
        let ran = place.run(&self.words).ok();
        Whole {
            made: self.made(&place),
            store: stored(&place),
            out: ran.out,
        }
    }

    /// A place for one run of it, with the store that it puts into.
    fn place(&self) -> Place {
        let place = Place::new();
        if self.puts {
            std::fs::create_dir(place.path("into")).expect("made");
            std::fs::write(place.path("into/other"), "another object").expect("written");
        }
        place
    }

    /// Every call, every number, both ways; what went wrong, in lines.
    fn every(&self, layer: &Layer) -> Vec<String> {
        let whole = self.whole();
        let counts = layer.count(&self.place(), &self.words, &calls(), None);
        let mut wrong = Vec::new();
        let mut told = Vec::new();
        for call in calls() {
            let Some(count) = counts.get(call.name).copied() else {
                continue;
            };
            let begun = std::time::Instant::now();
            let all = count.every();
            for when in &all {
                let error = call.error;
                wrong.extend(self.fails(
                    layer,
                    &whole,
                    Fault {
                        call,
                        error,
                        count,
                        when: *when,
                        path: None,
                    },
                ));
            }
            if INTERRUPTED.contains(&call.name) && !self.compares {
                for when in all.iter().filter(|when| !when.lasts()) {
                    let error = "EINTR";
                    wrong.extend(self.fails(
                        layer,
                        &whole,
                        Fault {
                            call,
                            error,
                            count,
                            when: *when,
                            path: None,
                        },
                    ));
                }
            }
            told.push(format!("{} {} {:?}", call.name, all.len(), begun.elapsed()));
        }
        println!("{}: {}", self.words.join(" "), told.join(", "));
        wrong
    }

    /// What is wrong with how it ends with this fault.
    fn fails(&self, layer: &Layer, whole: &Whole, fault: Fault<'_>) -> Option<String> {
        let place = self.place();
        let ended = layer.fail(&place, &self.words, &fault);
        let why = match self.judge(whole, &place, &fault, &ended) {
            Ok(()) if fault.error == "EINTR" && ended.code != Some(0) && !ended.runtime => {
                "it is not tried again".into()
            }
            Ok(()) => return None,
            Err(why) => why,
        };
        let (name, error, when) = (fault.call.name, fault.error, fault.when);
        let out = String::from_utf8_lossy(&ended.out);
        Some(format!(
            "{name} {error} {when:?}: {why}: {:?} {} {out}",
            ended.code, ended.err
        ))
    }

    /// What is wrong with how it ended.
    fn judge(
        &self,
        whole: &Whole,
        place: &Place,
        fault: &Fault<'_>,
        ended: &Ended,
    ) -> Result<(), String> {
        let wrong = |why: String| Err(why);
        if ended.runtime {
            return Ok(());
        }
        if ended.hung {
            return wrong("it hangs".into());
        }
        if ended.err.contains("panicked") {
            return wrong("it panics".into());
        }
        // Where the removal itself fails, what was to be removed stays.
        let removes = REMOVAL.contains(&fault.call.name)
            && (fault.when.lasts() || ended.code == Some(0) || fault.call.name.contains("unlink"));
        let left = names(&place.tmp());
        if !left.is_empty() && !removes {
            return wrong(format!("left in TMPDIR: {left:?}"));
        }
        let made = self.made(place);
        let mut there = names(&place.path(""));
        there.retain(|name| name != "into" && Some(&name[..]) != self.makes);
        if !there.is_empty() && !removes {
            return wrong(format!("left beside it: {there:?}"));
        }
        if made.is_some() && made != whole.made {
            return wrong("what it made is not whole".into());
        }
        let mut store = stored(place);
        store.retain(|line| !(removes && line.starts_with(".upload-")));
        if self.puts && store != whole.store && store != stored(&self.place()) {
            return wrong(format!("the store holds {store:?}"));
        }
        let lines: Vec<&str> = ended.err.lines().collect();
        let one_line = matches!(lines[..], [one] | [one, _] if one.starts_with("afterrun: "));
        // Nothing can be said where it cannot be written.
        let mute = fault.call.name == "write" && fault.when.lasts() && lines.is_empty();
        let kind = serde_json::from_slice::<Value>(&ended.out).ok();
        let kind = kind.and_then(|document| Some(document["error"]["kind"].as_str()?.to_owned()));
        match (ended.code, kind.as_deref()) {
            (Some(0), _) if made != whole.made => wrong("it made nothing".into()),
            (Some(0), _) if self.puts && store != whole.store => wrong("it stored nothing".into()),
            (Some(0), _) if ended.out == whole.out || self.is_told(whole, ended) => Ok(()),
            (Some(0), _) => wrong("it answers something else".into()),
            (Some(1), _) if one_line || mute => Ok(()),
            // What the configuration says cannot be known.
            (Some(2), Some("usage"))
                if one_line && ended.err.contains("config.toml cannot be read") =>
            {
                Ok(())
            }
            // The worker's own failures are the checkout's, as far as anybody can tell.
            (Some(5), Some("unsafe_content" | "limit")) if one_line && self.compares => Ok(()),
            _ => wrong("another end".into()),
        }
    }

    /// Whether a diff differs from the whole one only by what it says is not known.
    fn is_told(&self, whole: &Whole, ended: &Ended) -> bool {
        let (Ok(mut whole), Ok(mut told)) = (
            serde_json::from_slice::<Value>(&whole.out),
            serde_json::from_slice::<Value>(&ended.out),
        ) else {
            return false;
        };
        let tags = [
            "worker-stopped",
            "sandbox",
            "missing-object",
            "bad-object",
            "too-large",
        ];
        let notices = told["notices"].as_array().cloned().unwrap_or_default();
        let said = notices
            .iter()
            .any(|notice| tags.iter().any(|tag| notice["tag"] == *tag));
        let unknown = |document: &mut Value| {
            let object = document.as_object_mut().expect("an object");
            for key in ["additions", "deletions", "notices"] {
                object.remove(key);
            }
            for file in object["files"].as_array_mut().expect("a list") {
                let file = file.as_object_mut().expect("an object");
                file.remove("additions");
                file.remove("deletions");
            }
        };
        if !self.compares || !said || told["files"].is_null() {
            return false;
        }
        // A count is right, or not known.
        let counts = |document: &Value| -> Vec<Value> {
            let files = document["files"].as_array().expect("a list");
            let of_files = files
                .iter()
                .flat_map(|file| [file["additions"].clone(), file["deletions"].clone()]);
            of_files
                .chain([document["additions"].clone(), document["deletions"].clone()])
                .collect()
        };
        let (right, told_counts) = (counts(&whole), counts(&told));
        unknown(&mut whole);
        unknown(&mut told);
        whole == told
            && right
                .iter()
                .zip(&told_counts)
                .all(|(right, told)| told.is_null() || told == right)
    }
}

/// What a signal may interrupt, and then is tried again.
const INTERRUPTED: [&str; 5] = ["read", "pread64", "write", "fsync", "ftruncate"];

/// The calls that removing a folder and what is in it takes.
const REMOVAL: [&str; 10] = [
    "open",
    "openat",
    "getdents64",
    "unlink",
    "unlinkat",
    "rmdir",
    "newfstatat",
    "fstat",
    "statx",
    "fcntl",
];

/// What the store holds that a put goes to.
fn stored(place: &Place) -> Vec<String> {
    let into = place.path("into");
    if into.is_dir() {
        tree_without_times(&into)
    } else {
        Vec::new()
    }
}

fn tree_without_times(folder: &Path) -> Vec<String> {
    names(folder)
        .into_iter()
        .map(|name| {
            let bytes = std::fs::read(folder.join(&name)).unwrap_or_default();
            format!("{name} {}", crate::common::sha256(&bytes))
        })
        .collect()
}

fn check(command: &Command) {
    let Some(layer) = Layer::get() else { return };
    let wrong = command.every(layer);
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// `words` on a bare archive of a small world: what comes before it is a tree's and a fetch's business.
fn on_an_archive(words: &[&str], makes: Option<&'static str>, compares: bool) {
    let scene = Scene::new(2);
    let archive = scene.stored(1).to_str().expect("UTF-8").to_owned();
    let words = [&["--json", words[0], "--archive", &archive], &words[1..]].concat();
    let words = words.iter().map(|word| (*word).to_owned()).collect();
    check(&Command {
        words,
        makes,
        puts: false,
        compares,
    });
}

#[test]
fn a_tree_is_whole_or_refused() {
    let scene = Scene::new(2);
    let words = scene.words(&["--json", "tree", &run_id(1)]);
    check(&Command {
        words,
        makes: None,
        puts: false,
        compares: false,
    });
}

#[test]
fn a_fetch_is_whole_or_refused() {
    let scene = Scene::new(2);
    let words = scene.words(&["--json", "fetch", &run_id(1), "out"]);
    check(&Command {
        words,
        makes: Some("out"),
        puts: false,
        compares: false,
    });
}

#[test]
fn a_restore_is_whole_or_refused() {
    on_an_archive(&["restore", "out"], Some("out"), false);
}

#[test]
fn a_diff_is_whole_or_refused() {
    on_an_archive(&["diff", "--base", "head"], None, true);
}

#[test]
fn a_patch_is_whole_or_refused() {
    on_an_archive(&["patch", "--base", "head", "-o", "out"], Some("out"), true);
}

#[test]
fn a_put_is_whole_or_refused() {
    let scene = Scene::new(1);
    let at = |name: &str| scene.place.path(name).to_str().expect("UTF-8").to_owned();
    let words = [
        "--json",
        "capture",
        "--workspace",
        &at("workspace"),
        "--native",
        &at("native"),
        "--store",
        "into",
    ];
    let words = words.map(str::to_owned).to_vec();
    check(&Command {
        words,
        makes: None,
        puts: true,
        compares: false,
    });
}
