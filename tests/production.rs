//! What goes wrong where agents run for real: the binary on Agno's rows in a real PostgreSQL, with
//! checkpoints in each store. Every fault is one line of the right kind and code, tells no secret, and
//! leaves nothing behind; the interface stays usable and comes back by itself.

mod common;

#[path = "production/copies.rs"]
mod copies;
#[path = "production/interface.rs"]
mod interface;
#[path = "production/killed.rs"]
mod killed;
#[path = "production/lines.rs"]
mod lines;
#[path = "production/scene.rs"]
mod scene;

use std::panic::{AssertUnwindSafe, catch_unwind};

use common::s3::{Answer, Server};
use common::{Place, names, world};
use scene::{Fault, LIST, On, RESTORE, RUN, Scene, WRONG, assert_no_secret};

type Part = fn(&Scene);

/// Each on copies of its own.
const FAULTS: &[(&str, Part)] = &[
    ("without a fault", without_a_fault),
    ("wrong passwords", wrong_passwords),
    ("unknown hosts", unknown_hosts),
    ("refused TLS", refused_tls),
    ("a missing schema", missing_schema),
    ("rights missing on one table", missing_rights),
    ("a lock", lock),
    ("deleted between list and open", deleted_in_between),
    ("a chunk missing", chunk_missing),
    ("wrong labels", wrong_labels),
    ("403 and 404", forbidden_and_missing),
    ("a slow line", lines::slow),
    ("a slow line left by ctrl-c", lines::slow_and_left),
    (
        "a download that ends",
        killed::while_downloading_from_a_bucket,
    ),
    ("private copies count", copies::count),
    ("captures count", copies::captured),
    ("a cache that is configured", copies::cached),
    ("the interface on a slow line", interface::slow),
    ("the interface and what is refused", interface::refused),
];

/// A part's name, and the part.
type Ending = (&'static str, fn(&mut Scene));

/// These end the server, so that they come last.
const ENDS: &[Ending] = &[
    ("killed while listing", killed::while_listing),
    ("killed while downloading", killed::while_downloading),
    ("the interface while it is killed", interface::killed),
    (
        "the interface before the server is there",
        interface::before,
    ),
];

#[test]
fn every_fault_is_one_line_and_leaves_nothing() {
    let mut scene = Scene::new();
    // They take half a minute, so that the others go on meanwhile.
    let stalled = lines::stalled(&scene);
    let mut broken = Vec::new();
    for (what, part) in FAULTS {
        let begun = std::time::Instant::now();
        if catch_unwind(AssertUnwindSafe(|| part(&scene))).is_err() {
            broken.push(*what);
        }
        println!("--- {what}: {:?}", begun.elapsed());
    }
    for (what, stalled) in stalled {
        if stalled.join().is_err() {
            broken.push(what);
        }
    }
    for (what, part) in ENDS {
        let begun = std::time::Instant::now();
        if catch_unwind(AssertUnwindSafe(|| part(&mut scene))).is_err() {
            broken.push(*what);
        }
        println!("--- {what}: {:?}", begun.elapsed());
    }
    assert_eq!(broken, [""; 0]);
}

fn without_a_fault(scene: &Scene) {
    let (_, on) = scene.tables();
    let directory = world().store.to_str().expect("UTF-8");
    for store in ["postgres", &scene.prefix().1, directory] {
        let on = on.stored(store);
        let place = Place::new();
        let listed = place.finish(on.command(&place, &["runs", "--json"])).ok();
        assert_no_secret("a list", &listed);
        assert_eq!(listed.json()["runs"].as_array().map(Vec::len), Some(23));
        place.finish(on.command(&place, RESTORE)).ok();
        let other = Place::new();
        other.world(RESTORE).ok();
        common::assert_same(&place.path("out"), &other.path("out"));
        let log = [RESTORE, &["-vvv"]].concat();
        let place = Place::new();
        assert_no_secret("a log", &place.finish(on.command(&place, &log)).ok());
    }
}

fn wrong_passwords(scene: &Scene) {
    let (_, right) = scene.tables();
    let wrong = right.database.replace(common::postgres::PASSWORD, WRONG);
    let fault = |what, kind, says| Fault {
        what,
        code: 1,
        kind,
        says,
    };
    let says = "the password for afterrun is wrong";
    fault("wrong password, listing", "database", says).shows(&right.at(&*wrong), LIST);
    fault("wrong password, tables", "store", says).shows(&right.stored(&*wrong), RESTORE);
    let mut bucket = right.stored(scene.prefix().1);
    bucket.variables.push(("AWS_SECRET_ACCESS_KEY", WRONG));
    let says = "the secret access key is not this key's";
    fault("wrong secret, bucket", "store", says).shows(&bucket, RESTORE);
}

fn unknown_hosts(scene: &Scene) {
    let (_, right) = scene.tables();
    let nowhere = right.database.replace("127.0.0.1", "nowhere.invalid");
    let fault = |what, kind| Fault {
        what,
        code: 1,
        kind,
        says: "nowhere.invalid",
    };
    fault("unknown host, listing", "database").shows(&right.at(&*nowhere), LIST);
    fault("unknown host, tables", "store").shows(&right.stored(&*nowhere), RESTORE);
    let bucket = scene.prefix().1.replace("127.0.0.1", "nowhere.invalid");
    fault("unknown host, bucket", "store").shows(&right.stored(bucket), RESTORE);
}

fn refused_tls(scene: &Scene) {
    let (_, right) = scene.tables();
    let encrypted = format!("{}?sslmode=require", right.database);
    let fault = |what, kind, says| Fault {
        what,
        code: 1,
        kind,
        says,
    };
    fault("refused TLS, listing", "database", "TLS").shows(&right.at(&*encrypted), LIST);
    fault("refused TLS, tables", "store", "TLS").shows(&right.stored(&*encrypted), RESTORE);
    let (server, _) = Server::start_tls();
    let says = "is not trusted";
    fault("refused TLS, bucket", "store", says).shows(&right.stored(server.url("x")), RESTORE);
    let spoken_to = server.url("x").replace("https:", "http:");
    fault("no TLS, bucket", "store", "").shows(&right.stored(spoken_to), RESTORE);
}

fn missing_schema(scene: &Scene) {
    let (name, right) = scene.tables();
    let nowhere = On {
        schema: "nowhere",
        ..right.clone()
    };
    let fault = |what, kind, says| Fault {
        what,
        code: 1,
        kind,
        says,
    };
    fault("missing schema, listing", "database", "nowhere").shows(&nowhere, LIST);
    let store = format!("{}?schema=nowhere", right.database);
    fault("missing schema, tables", "store", "nowhere").shows(&right.stored(store), RESTORE);
    scene.cluster.sql(&name, "DROP TABLE ai.agno_runs");
    fault("missing table, listing", "database", "agno_runs").shows(&right, LIST);
}

/// A user who may read everything but `table`.
fn may_not_read(scene: &Scene, table: &str) -> On {
    let (name, on) = scene.tables();
    let user = format!("reader_{name}");
    let password = common::postgres::PASSWORD;
    scene.cluster.sql(
        &name,
        &format!(
            "CREATE ROLE {user} LOGIN PASSWORD '{password}'; GRANT USAGE ON SCHEMA ai TO {user};
             GRANT SELECT ON ALL TABLES IN SCHEMA ai TO {user}; REVOKE ALL ON {table} FROM {user};"
        ),
    );
    Scene::as_user(&on, &user)
}

fn missing_rights(scene: &Scene) {
    let (headers, chunks) = (scene.headers(), scene.chunks());
    for (table, kind, words) in [
        ("ai.agno_runs", "database", LIST),
        ("ai.agno_sessions", "database", LIST),
        (&headers, "store", RESTORE),
        (&chunks, "store", RESTORE),
    ] {
        let on = may_not_read(scene, table);
        let name = table.trim_start_matches("ai.");
        let fault = Fault {
            what: &format!("no rights on {table}"),
            code: 1,
            kind,
            says: name,
        };
        fault.shows(&on, words);
        let place = Place::new();
        let ran = place.finish(on.command(&place, words));
        for part in ["SELECT ", name] {
            assert!(ran.hint().contains(part), "{}", ran.err);
        }
    }
    // Bindings are told of where they can be read, and needed for nothing.
    let on = may_not_read(scene, "ai.agno_sessions_sandbox_bindings");
    for words in [LIST, &["show", RUN], RESTORE] {
        let place = Place::new();
        let ran = place.finish(on.command(&place, words)).ok();
        println!("no rights on bindings, {words:?}: {}", ran.err.trim_end());
        assert_no_secret("no rights on bindings", &ran);
    }
}

fn lock(scene: &Scene) {
    let (name, on) = scene.tables();
    let held = scene.held(&name, "LOCK TABLE ai.agno_runs IN ACCESS EXCLUSIVE MODE");
    let fault = Fault {
        what: "a lock that is held",
        code: 1,
        kind: "timeout",
        says: "a lock that somebody else holds was not given up in time",
    };
    let place = Place::new();
    let ran = place.finish(on.command(&place, &["runs", "--json"]));
    fault.is(&place, ran);
    drop(held);
    let place = Place::new();
    place.finish(on.command(&place, LIST)).ok();
}

fn deleted_in_between(scene: &Scene) {
    let (name, tables) = scene.tables();
    let (key, bucket) = scene.prefix();
    let place = Place::new();
    let folder = place.path("objects");
    std::fs::create_dir(&folder).expect("made");
    let file = folder.join(scene.object.sha256());
    std::fs::copy(world().object(RUN), &file).expect("copied");
    for (what, store) in [
        ("tables", "postgres"),
        ("bucket", &*bucket),
        ("directory", folder.to_str().expect("UTF-8")),
    ] {
        let on = tables.stored(store);
        let place = Place::new();
        let listed = place.finish(on.command(&place, &["runs", "--json"])).ok();
        assert!(listed.text().contains(RUN));
        match what {
            "tables" => drop(
                scene
                    .cluster
                    .sql(&name, &format!("DELETE FROM {}", scene.headers())),
            ),
            "bucket" => std::fs::remove_file(scene.bucket.object(&key)).expect("removed"),
            _ => std::fs::remove_file(&file).expect("removed"),
        }
        let fault = Fault {
            what: &format!("deleted between list and open, {what}"),
            code: 4,
            kind: "object_missing",
            says: "Checkpoint object is missing",
        };
        fault.shows(&on, RESTORE);
    }
    assert_eq!(names(&folder), [""; 0]);
}

fn chunk_missing(scene: &Scene) {
    for (what, sql, says) in [
        ("in the middle", "DELETE FROM # WHERE seq = 3", ""),
        ("at the end", "DELETE FROM # WHERE seq = 6", ""),
        ("all of them", "DELETE FROM #", ""),
    ] {
        let (name, on) = scene.tables();
        scene.cluster.sql(&name, &sql.replace('#', &scene.chunks()));
        let fault = Fault {
            what: &format!("chunks missing, {what}"),
            code: 5,
            kind: "size_mismatch",
            says,
        };
        fault.shows(&on, RESTORE);
    }
    let (name, on) = scene.tables();
    let swapped = "UPDATE # SET data = set_byte(data, 9, get_byte(data, 9) # 1) WHERE seq = 3";
    let swapped = swapped.replacen('#', &scene.chunks(), 1);
    scene.cluster.sql(&name, &swapped);
    let fault = Fault {
        what: "a chunk with another byte",
        code: 5,
        kind: "checksum_mismatch",
        says: "Checkpoint checksum mismatch",
    };
    fault.shows(&on, RESTORE);
}

fn wrong_labels(scene: &Scene) {
    let (_, on) = scene.tables();
    let (right, size) = (scene.object.sha256(), scene.object.size().to_string());
    let other = "0".repeat(64);
    let digest = ("checksum_mismatch", "Checkpoint checksum mismatch");
    let length = ("size_mismatch", "Checkpoint size mismatch");
    for (what, labels, bytes, (kind, says)) in [
        (
            "another digest",
            &[("sha256", &*other), ("size", &*size)][..],
            0,
            digest,
        ),
        ("no digest", &[("size", &*size)], 0, digest),
        ("none", &[], 0, digest),
        (
            "right, of fewer bytes",
            &[("sha256", right), ("size", &*size)],
            1,
            length,
        ),
    ] {
        let (key, url) = scene.prefix();
        scene.label(&key, labels, bytes);
        let fault = Fault {
            what: &format!("labels of the object: {what}"),
            code: 5,
            kind,
            says,
        };
        let before = scene.bucket.count("GET");
        fault.shows(&on.stored(url), RESTORE);
        let after = scene.bucket.count("GET");
        assert_eq!(after, before, "{what}: nothing was downloaded");
    }
}

fn forbidden_and_missing(scene: &Scene) {
    let (_, on) = scene.tables();
    let (key, url) = scene.prefix();
    let answered = |status, code, more: &str| {
        // A HEAD's answer has no body, so that the code is in its GET's alone.
        let server = Server::start();
        for method in ["HEAD", "GET"] {
            server.says(Answer::error(method, status, code, more));
        }
        let on = on.stored(server.url("team"));
        (server, on)
    };
    let message = "<Message>no\nway\u{1b}[31m</Message>";
    let (_forbids, forbidden) = answered(403, "AccessDenied", "");
    let fault = Fault {
        what: "403",
        code: 1,
        kind: "store",
        says: "",
    };
    fault.shows(&forbidden, RESTORE);
    let (_broken, broken) = answered(418, "Teapot", message);
    let fault = Fault {
        what: "a status that nobody expects",
        ..fault
    };
    fault.shows(&broken, RESTORE);
    std::fs::remove_file(scene.bucket.object(&key)).expect("removed");
    let fault = Fault {
        what: "404",
        code: 4,
        kind: "object_missing",
        says: "Checkpoint object is missing",
    };
    fault.shows(&on.stored(url), RESTORE);
}
