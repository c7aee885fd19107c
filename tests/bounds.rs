//! Archives that are made to cost: whatever they say, memory and disk stay within the limits, and the
//! answer comes.

mod common;

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use common::Place;
use common::tar::{Member, archive, extension, file, folder, link, pax, record};
use flate2::Compression;
use flate2::write::GzEncoder;

/// What the process may hold for an archive of ordinary size, in bytes.
const LITTLE: u64 = 60_000_000;
/// Nothing here takes nearly as long, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(120);

struct Outcome {
    code: Option<i32>,
    /// The error's kind and message.
    told: (String, String),
    peak: u64,
}

/// `afterrun verify --archive FILE`, and the most that it had in memory.
fn verify(place: &Place, what: &str, options: &[&str]) -> Outcome {
    let begun = Instant::now();
    let args = [&["verify", "--archive", "archive", "--json"], options].concat();
    let mut command = place.afterrun(&args);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    let mut out = child.stdout.take().expect("a pipe");
    let reader = std::thread::spawn(move || {
        let mut said = Vec::new();
        out.read_to_end(&mut said).map(|_| said)
    });
    let mut peak = 0;
    let status = format!("/proc/{}/status", child.id());
    let ended = loop {
        peak = peak.max(high_water_mark(&status).unwrap_or(0));
        if let Some(ended) = child.try_wait().expect("waited for") {
            break ended;
        }
        assert!(begun.elapsed() < PATIENCE, "{what}: no answer");
        std::thread::sleep(Duration::from_millis(2));
    };
    let said = reader.join().expect("joined").expect("read");
    let answer: serde_json::Value = serde_json::from_slice(&said).expect("JSON");
    let told = |key: &str| {
        answer["results"][0]["error"][key]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    place.assert_clean(what);
    eprintln!(
        "{what}: {:?}, {} MB at most, {}",
        begun.elapsed(),
        peak / 1_000_000,
        told("message")
    );
    Outcome {
        code: ended.code(),
        told: (told("kind"), told("message")),
        peak,
    }
}

fn high_water_mark(status: &str) -> Option<u64> {
    let text = std::fs::read_to_string(status).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1024)
}

#[track_caller]
fn refused(what: &str, write: impl FnOnce(&Path), says: &str, most: u64) {
    let place = Place::new();
    write(&place.path("archive"));
    let outcome = verify(&place, what, &[]);
    assert_eq!(
        (outcome.code, &*outcome.told.0),
        (Some(5), "invalid_archive"),
        "{what}"
    );
    assert!(outcome.told.1.contains(says), "{what}: {}", outcome.told.1);
    assert!(
        0 < outcome.peak && outcome.peak < most,
        "{what}: {} bytes",
        outcome.peak
    );
}

#[track_caller]
fn opens(what: &str, write: impl FnOnce(&Path), most: u64) {
    let place = Place::new();
    write(&place.path("archive"));
    let outcome = verify(&place, what, &[]);
    assert_eq!(outcome.code, Some(0), "{what}: {:?}", outcome.told);
    assert!(
        0 < outcome.peak && outcome.peak < most,
        "{what}: {} bytes",
        outcome.peak
    );
}

fn gzip(path: &Path, pieces: &mut dyn Read) {
    let out = std::fs::File::create(path).expect("made");
    let mut gzip = GzEncoder::new(io::BufWriter::new(out), Compression::fast());
    io::copy(pieces, &mut gzip).expect("written");
    gzip.finish().expect("written").flush().expect("written");
}

#[test]
fn a_bomb_of_four_gib() {
    let head = archive(&[file(b"manifest.json", br#"{"version": 1, "state": {}}"#)]);
    let bomb = |path: &Path| {
        gzip(
            path,
            &mut (&head[..1024]).chain(io::repeat(0).take(4 << 30)),
        );
    };
    refused("a bomb", bomb, "exceeds", LITTLE);
}

#[test]
fn as_many_entries_as_there_may_be_and_one_more() {
    let members = |count: usize| -> Vec<Member> {
        (0..count)
            .map(|n| file(format!("workspace/{n:0>80}").as_bytes(), b""))
            .collect()
    };
    // The two roots count, the manifest too.
    let most = |path: &Path| common::tar::write(path, &members(100_000 - 3));
    opens("100,000 entries", most, 150_000_000);
    let more = |path: &Path| common::tar::write(path, &members(100_000 - 2));
    refused("100,001 entries", more, "exceeds", 150_000_000);
    let links = |path: &Path| {
        let all = (0..20_000).map(|n| {
            link(
                format!("workspace/{n}").as_bytes(),
                format!("{}", n + 1).as_bytes(),
            )
        });
        common::tar::write(path, &all.collect::<Vec<_>>());
    };
    refused("a chain of 20,000 links", links, "link", 200_000_000);
}

#[test]
fn extensions_of_any_size_and_number() {
    let large = vec![b'x'; 16 << 20];
    let one = |path: &Path| {
        common::tar::write(
            path,
            &[
                extension(b'x', &record("comment", &large)),
                file(b"workspace/f", b""),
            ],
        );
    };
    refused("a pax header of 16 MiB", one, "exceeds", LITTLE);
    let name = |path: &Path| {
        common::tar::write(path, &[extension(b'L', &large), file(b"workspace/f", b"")]);
    };
    refused("a long name of 16 MiB", name, "exceeds", LITTLE);
    let many = |path: &Path| {
        let each = vec![b'x'; 9_000];
        let all = (0..30_000).flat_map(|n| {
            [
                pax(&[("comment", &each)]),
                file(format!("workspace/{n}").as_bytes(), b""),
            ]
        });
        let bytes = common::tar::checkpoint(&all.collect::<Vec<_>>());
        gzip(path, &mut &bytes[..]);
    };
    refused("30,000 pax headers of 9 kB", many, "exceeds", LITTLE);
    // One target for every link, and one name for what has its own: nothing is copied for each.
    let target = [b"a/../".repeat(20_000), b"f".to_vec()].concat();
    let global = |path: &Path| {
        let mut members = vec![
            extension(b'g', &record("linkpath", &target)),
            folder(b"workspace/a"),
        ];
        members.extend((0..90_000).map(|n| link(format!("workspace/{n}").as_bytes(), b"x")));
        common::tar::write(path, &members);
    };
    refused(
        "a target of 100 kB for 90,000 links",
        global,
        "exceeds its limit",
        200_000_000,
    );
    let few = |path: &Path| {
        let mut members = vec![
            extension(b'g', &record("linkpath", &target)),
            folder(b"workspace/a"),
        ];
        members.extend((0..60).map(|n| link(format!("workspace/{n}").as_bytes(), b"x")));
        common::tar::write(path, &members);
    };
    opens("a target of 100 kB for 60 links", few, 200_000_000);
    let chained = |path: &Path| {
        let hop = |n: usize| [b"a/../".repeat(2_000), format!("{}", n + 1).into_bytes()].concat();
        let mut members = vec![folder(b"workspace/a")];
        members.extend((0..39).flat_map(|n| {
            [
                pax(&[("linkpath", &hop(n))]),
                link(format!("workspace/{n}").as_bytes(), b"x"),
            ]
        }));
        common::tar::write(path, &members);
    };
    opens("39 links with 4,000 parts each", chained, LITTLE);
    let endless = |path: &Path| {
        let hop = |n: usize| [b"a/../".repeat(80_000), format!("{}", n + 1).into_bytes()].concat();
        let mut members = vec![folder(b"workspace/a")];
        members.extend((0..39).flat_map(|n| {
            [
                pax(&[("linkpath", &hop(n))]),
                link(format!("workspace/{n}").as_bytes(), b"x"),
            ]
        }));
        common::tar::write(path, &members);
    };
    refused(
        "39 links with 160,000 parts each",
        endless,
        "excessive indirection",
        200_000_000,
    );
    let slashes = |path: &Path| {
        let target = [&b"a/l"[..], &b"/".repeat(1_000_000)].concat();
        let mut members = vec![
            extension(b'g', &record("linkpath", &target)),
            folder(b"workspace/a"),
        ];
        for depth in 1..=41 {
            let folders = format!("workspace{}", "/a".repeat(depth));
            members.push(pax(&[("path", format!("{folders}/a").as_bytes())]));
            members.push(folder(b"x"));
            members.push(pax(&[("path", format!("{folders}/l").as_bytes())]));
            members.push(link(b"x", b"x"));
        }
        common::tar::write(path, &members);
    };
    refused(
        "41 targets with 1,000,000 slashes",
        slashes,
        "excessive indirection",
        200_000_000,
    );
    let comments = |path: &Path| {
        let many: Vec<u8> = (0..60_000)
            .flat_map(|n| record(&format!("k{n}"), b"v"))
            .collect();
        let mut members = vec![extension(b'g', &many)];
        for n in 0..20_000 {
            members.push(pax(&[("comment", b"x")]));
            members.push(file(format!("workspace/{n}").as_bytes(), b""));
        }
        common::tar::write(path, &members);
    };
    opens("60,000 global records for 20,000 members", comments, LITTLE);
    let deep = |path: &Path| {
        let mut members = Vec::new();
        for depth in 1..2_000 {
            members.push(pax(&[(
                "path",
                format!("workspace{}", "/d".repeat(depth)).as_bytes(),
            )]));
            members.push(folder(b"d"));
        }
        common::tar::write(path, &members);
    };
    opens("a folder 2,000 deep", deep, LITTLE);
}

#[test]
fn a_manifest_that_is_made_to_cost() {
    let manifest = |state: Vec<u8>| {
        move |path: &Path| {
            let text = [&br#"{"version": 1, "state": {"a": "#[..], &state, b"}}"].concat();
            let members = [
                file(b"manifest.json", &text),
                folder(b"native"),
                folder(b"workspace"),
            ];
            std::fs::write(path, archive(&members)).expect("written");
        }
    };
    let brackets = [b"[".repeat(500_000), b"]".repeat(500_000)].concat();
    refused("500,000 brackets", manifest(brackets), "", LITTLE);
    let open = b"[".repeat(1_000_000);
    refused(
        "1,000,000 brackets that stay open",
        manifest(open),
        "",
        LITTLE,
    );
    let zeros = [b"[", &b"0,".repeat(500_000)[..], b"0]"].concat();
    opens("500,000 numbers", manifest(zeros), 300_000_000);
    let keys = (0..100_000)
        .map(|n| format!("\"{n}\":0,"))
        .collect::<String>();
    let keys = format!("{{{keys}\"z\":0}}").into_bytes();
    opens("100,000 keys", manifest(keys), 150_000_000);
    let digits = b"9".repeat(1_000_000);
    refused("a number of 1,000,000 digits", manifest(digits), "", LITTLE);
}
