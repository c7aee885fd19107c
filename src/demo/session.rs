//! One session from its script to its rows: each turn that Agno would checkpoint is carried out on
//! the computer and captured; the others only leave a row.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::files::Files;
use super::git::{Checkout, Origin};
use super::object::Object;
use super::rows::{RunRow, Runner, SessionRow, identifier, python, token};
use super::steps::Computer;
use super::transcript::{Exchange, Home};
use super::turn::{End, Turn};
use crate::error::Result;

/// Seconds from one turn of a session to the next.
const PACE: i64 = 900;
/// A session as it is told by a script.
pub(super) struct Script {
    /// Names the session in ids; nobody sees it.
    pub(super) key: &'static str,
    pub(super) runner: Runner,
    pub(super) user: Option<&'static str>,
    /// `session_data.session_name`, for a session that somebody named.
    pub(super) name: Option<&'static str>,
    /// When its first turn began.
    pub(super) began: i64,
    /// Agno's own little harness, which writes its effects into the workspace.
    pub(super) fixture: bool,
    pub(super) home: Option<Home>,
    pub(super) origin: Option<Origin>,
    /// Captured uncompressed, as the microVM provider does.
    pub(super) plain: bool,
    pub(super) turns: Vec<Turn>,
}

/// The rows of a session.
pub(super) struct Played {
    pub(super) session: SessionRow,
    pub(super) runs: Vec<RunRow>,
    /// What the runs committed, to be published.
    pub(super) objects: Vec<Object>,
}

impl Script {
    pub(super) fn session_id(&self) -> String {
        identifier(&["session", self.key])
    }

    /// The id of turn `number`, from 1.
    pub(super) fn run_id(&self, number: usize) -> String {
        identifier(&["run", self.key, &number.to_string()])
    }

    /// Plays all turns; `work` is a folder of this session's own.
    pub(super) fn play(&self, work: &Path) -> Result<Played> {
        let mut computer = Computer {
            files: Files::new(self.began),
            checkout: None,
        };
        if let Some(origin) = &self.origin {
            computer.checkout = Some(Checkout::clone(&mut computer.files, origin)?);
        }
        let mut played = Played {
            session: SessionRow {
                id: self.session_id(),
                runner: self.runner,
                user: self.user,
                data: json!({}),
                created_at: self.began,
                updated_at: self.began,
            },
            runs: Vec::new(),
            objects: Vec::new(),
        };
        let mut last: Option<String> = None;
        for (turn, number) in self.turns.iter().zip(1..) {
            let began = self.began + PACE * (number as i64 - 1);
            computer.files.set_clock(began);
            let run_id = self.run_id(number);
            let mut data = self.row(turn, number, began);
            if turn.end.commits() {
                let (sandbox, object) =
                    self.commit(&mut computer, turn, number, work, last.is_some())?;
                played.session.data["sandbox"] = json!({"native": self.native(), "run_id": run_id,
                    "epoch": number, "checkpoint": sandbox["checkpoint"]});
                data.insert("metadata".into(), json!({"sandbox": sandbox}));
                played.objects.push(object);
                last = Some(run_id.clone());
            } else if matches!(turn.end, End::Error | End::Cancelled) {
                let execution = token(&["execution", self.key, &number.to_string()]);
                let sandbox = json!({"epoch": number, "stop_reason": turn.answer,
                    "execution_id": execution, "native_metadata": {}, "recovery_run_id": last,
                    "workspace_rolled_back": true});
                let retryable = turn.end == End::Error;
                let metadata = json!({"sandbox": sandbox, "retryable": retryable});
                data.insert("metadata".into(), metadata);
                if turn.end == End::Cancelled {
                    data.insert("cancellation_stage".into(), "EXECUTING".into());
                }
            }
            let mut data = python(&Value::Object(data))?;
            if turn.end == End::Damaged {
                data.truncate(data.len() / 2);
            }
            let ended = computer.files.clock().max(began + 1);
            played.session.updated_at = ended;
            played.runs.push(RunRow {
                id: run_id,
                session_id: self.session_id(),
                runner: self.runner,
                user: self.user,
                status: turn.end.status(),
                index: number as i64 - 1,
                data,
                created_at: began,
                updated_at: ended,
            });
        }
        computer.files.unmake(work)?;
        if let Some(name) = self.name {
            played.session.data["session_name"] = name.into();
        }
        Ok(played)
    }

    fn native(&self) -> Value {
        let mut native = Map::new();
        if let Some(home) = self.home {
            let id = home.session_id(self.key);
            native.insert(home.session_key().into(), id.into());
        }
        if self.fixture {
            native.insert("fixture".into(), true.into());
            let id = token(&["fixture", self.key]);
            native.insert("fixture_session_id".into(), id.into());
        }
        Value::Object(native)
    }

    /// `run_data` without what a sandbox adds.
    fn row(&self, turn: &Turn, number: usize, began: i64) -> Map<String, Value> {
        let run_id = self.run_id(number);
        let message = |role: &str, text: &str, at: i64| {
            json!({"id": identifier(&["message", &run_id, role]), "role": role, "content": text,
                "created_at": at, "from_history": false, "stop_after_tool_call": false})
        };
        let mut data = Map::new();
        let mut set = |key: &str, value: Value| data.insert(key.to_owned(), value);
        set("input", json!({"input_content": turn.input}));
        set("run_id", run_id.clone().into());
        set("status", turn.end.status().into());
        let mut messages = vec![message("user", turn.input, began)];
        if !turn.answer.is_empty() {
            set("content", turn.answer.into());
            if turn.end.status() == "COMPLETED" {
                messages.push(message("assistant", turn.answer, began + 1));
            }
        }
        set("messages", messages.into());
        let kind = self.runner.kind;
        set(&format!("{kind}_id"), self.runner.id.into());
        set(&format!("{kind}_name"), self.runner.name.into());
        set("created_at", began.into());
        set("session_id", self.session_id().into());
        set("content_type", "str".into());
        data
    }

    /// Carries a turn out and captures it; answers `metadata.sandbox` too.
    fn commit(
        &self,
        computer: &mut Computer,
        turn: &Turn,
        number: usize,
        work: &Path,
        resumed: bool,
    ) -> Result<(Value, Object)> {
        let run_id = self.run_id(number);
        let url = self.origin.as_ref().map(|origin| origin.url);
        let began = computer.files.clock();
        let repository = computer.checkout.as_ref().map(|checkout| {
            // In the order in which Agno's file has the keys.
            json!({"branch": "main", "commit": checkout.pin, "url": url})
        });
        if let (1, Some(repository)) = (number, &repository) {
            let text = python(repository)?;
            computer.files.write("native/repository.json", text);
        }
        if self.fixture {
            let files = &mut computer.files;
            files.write("native/fixture-session", token(&["fixture", self.key]));
            let effects = "workspace/fixture-effects.txt";
            files.append(effects, &format!("{run_id}\n"), 0o644);
            let names = "AGNO_SANDBOX_RUNTIME_DIR\nAGNO_SANDBOX_WORKSPACE";
            files.write("workspace/fixture-env.txt", names);
        }
        let told = computer.carry_out(&turn.steps)?;
        if let Some(home) = self.home {
            let exchange = Exchange {
                session: self.key,
                number,
                session_began: self.began,
                began,
                input: turn.input,
                told: &told,
                answer: turn.answer,
                url,
            };
            home.write(computer, &exchange);
        }
        if let Some(checkout) = &computer.checkout {
            checkout.save_index(&mut computer.files, work)?;
        }
        let number = number.to_string();
        let execution = token(&["execution", self.key, &number]);
        let generation = u64::from_str_radix(&token(&["generation", self.key])[..12], 16).ok();
        let binding = json!({"binding": {
            "agent_id": self.runner.id, "session_id": self.session_id(), "user_id": self.user,
            "incarnation": token(&["incarnation", self.key]), "run_id": run_id,
            "execution_id": execution, "generation": generation,
        }, "result_sha256": format!("{}{}", token(&["result", &run_id]), token(&["", &run_id]))});
        let archive = work.join(&number);
        let object = Object::capture(computer, &binding, self.plain, turn.end, archive)?;
        let reference = &object.reference;
        let mut sandbox = json!({
            "epoch": number.parse::<u64>().unwrap_or(0), "resumed": resumed,
            "checkpoint": {"size": reference.size(), "sha256": reference.sha256()},
            "generation": generation,
        });
        if let Some(repository) = &repository {
            sandbox["repository"] = json!({"url": repository["url"],
                "branch": repository["branch"], "commit": repository["commit"]});
        }
        sandbox["execution_id"] = execution.into();
        sandbox["native_metadata"] = json!({});
        Ok((sandbox, object))
    }
}
