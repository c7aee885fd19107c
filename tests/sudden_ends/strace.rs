//! Runs below `strace`, which sees each call of each thread, and can send a signal at one of them or
//! have it fail. (With its `--seccomp-bpf` it would be faster, and miss most of them.)

use std::collections::BTreeMap;
use std::process::{Command, Output};
use std::sync::OnceLock;

use crate::scene::Scene;

/// Calls that make, change or remove something. `?` for those that not every processor has.
const CALLS: &str = "openat,?mkdir,mkdirat,write,pwrite64,?link,linkat,?rename,?renameat,renameat2,\
                     symlinkat,fchmod,?chmod,fchmodat,utimensat,?unlink,unlinkat,?rmdir,fsync,flock";

/// Of each call that changes something, which of a thread's calls do: its first, its second…
pub type Steps = BTreeMap<String, Vec<usize>>;

/// A run that was traced.
pub struct Traced {
    pub output: Output,
    log: String,
}

/// Whether processes can be traced here.
pub fn can_trace() -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    *CAN.get_or_init(|| {
        let words = ["-f", "-qq", "-o", "/dev/null", "-e", "trace=write", "true"];
        let traced = Command::new("strace").args(words).status();
        let can = traced.is_ok_and(|status| status.success());
        if !can {
            println!("skipped: no strace, or nothing may be traced here");
        }
        can
    })
}

/// The command with these injections, each `CALL:WHAT:when=N`.
pub fn run(scene: &Scene, injections: &[&str]) -> Traced {
    let log = scene.place.path("../log");
    let called = |injection: &&str| injection.split(':').next().map(str::to_owned);
    let calls: Vec<String> = injections.iter().filter_map(called).collect();
    let trace = match &calls[..] {
        [] => CALLS.to_owned(),
        calls => calls.join(","),
    };
    let mut words: Vec<String> = ["20", "strace", "-f", "-qq"].map(str::to_owned).into();
    words.extend(["-o".into(), log.to_str().expect("UTF-8").into()]);
    words.extend(["-e".into(), format!("trace={trace}")]);
    for injection in injections {
        words.extend(["-e".into(), format!("inject={injection}")]);
    }
    words.push("--".into());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let output = scene.below("timeout", &words).output().expect("started");
    assert_ne!(
        output.status.code(),
        Some(124),
        "it does not end: {injections:?}"
    );
    let log = std::fs::read_to_string(log).expect("read");
    Traced { output, log }
}

impl Traced {
    /// Whether it was killed.
    pub fn killed(&self) -> bool {
        self.output.status.code().is_none()
    }

    /// How often `signal` was sent.
    pub fn sent(&self, signal: &str) -> usize {
        self.log.matches(&format!("--- SIG{signal} ")).count()
    }

    /// What the run did, step by step.
    pub fn steps(&self) -> Steps {
        let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        let mut steps = Steps::new();
        for line in self.log.lines() {
            let (thread, rest) = line.split_once(' ').unwrap_or_default();
            let (call, rest) = rest.trim_start().split_once('(').unwrap_or_default();
            if call.is_empty() || call.contains(' ') {
                continue;
            }
            let count = counts.entry((thread, call)).or_default();
            *count += 1;
            // What is opened for reading changes nothing.
            if call != "openat" || rest.contains("O_CREAT") || rest.contains("O_TMPFILE") {
                steps.entry(call.to_owned()).or_default().push(*count);
            }
        }
        for of_call in steps.values_mut() {
            of_call.sort_unstable();
            of_call.dedup();
        }
        steps
    }
}

/// At most `most` of `steps`, the first and the last among them.
pub fn spread(steps: &[usize], most: usize) -> Vec<usize> {
    let count = steps.len().min(most);
    let at = |index: usize| steps[index * (steps.len() - 1) / (count - 1)];
    match count {
        0 | 1 => steps.to_vec(),
        _ => (0..count).map(at).collect(),
    }
}
