//! The homes that Claude Code and Codex leave under `native/`: their files, names and record
//! shapes, around invented conversations.

use serde_json::{Value, json};

use super::rows::{identifier, token};
use super::steps::{Computer, Step, Told};

/// Whose home a session's computer has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Home {
    Claude,
    Codex,
}

/// One exchange, as it goes into a transcript.
pub(super) struct Exchange<'a> {
    /// The session's name in the script; ids come from it.
    pub(super) session: &'a str,
    pub(super) number: usize,
    pub(super) session_began: i64,
    pub(super) began: i64,
    pub(super) input: &'a str,
    pub(super) told: &'a [Told<'a>],
    pub(super) answer: &'a str,
    pub(super) url: Option<&'a str>,
}

impl Home {
    /// What Agno calls the harness's own session on its session row.
    pub(super) fn session_key(self) -> &'static str {
        match self {
            Self::Claude => "claude_sdk_session_id",
            Self::Codex => "codex_thread_id",
        }
    }

    /// The harness's own id of the session.
    pub(super) fn session_id(self, session: &str) -> String {
        identifier(&[self.session_key(), session])
    }

    /// Adds one exchange to the home.
    pub(super) fn write(self, computer: &mut Computer, exchange: &Exchange<'_>) {
        match self {
            Self::Claude => claude(computer, exchange),
            Self::Codex => codex(computer, exchange),
        }
    }
}

fn stamp(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds)
        .map(|time| time.strftime("%Y-%m-%dT%H:%M:%S.000Z").to_string())
        .unwrap_or_default()
}

fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

fn claude(computer: &mut Computer, exchange: &Exchange<'_>) {
    let cwd = computer.cwd();
    let conversation = Home::Claude.session_id(exchange.session);
    let mut writer = Claude {
        exchange,
        cwd: &cwd,
        conversation: &conversation,
        records: Vec::new(),
    };
    writer.all();
    let text = lines(&writer.records);
    let slug = cwd.replace('/', "-");
    let files = &mut computer.files;
    let path = format!("native/.claude/projects/{slug}/{conversation}.jsonl");
    files.append(&path, &text, 0o600);
    let entry = json!({"display": exchange.input, "pastedContents": {},
        "timestamp": exchange.began * 1000, "project": cwd});
    files.append("native/.claude/history.jsonl", &lines(&[entry]), 0o600);
    let todos = format!("native/.claude/todos/{conversation}-agent-{conversation}.json");
    files.put(&todos, "[]", 0o600);
    let settings = "{\"permissions\":{\"defaultMode\":\"bypassPermissions\"}}\n";
    files.put("native/.claude/settings.json", settings, 0o644);
    let state = json!({"numStartups": exchange.number, "projects": {cwd: {"allowedTools": []}}});
    files.put("native/.claude.json", format!("{state:#}\n"), 0o600);
}

struct Claude<'a> {
    exchange: &'a Exchange<'a>,
    cwd: &'a str,
    conversation: &'a str,
    records: Vec<Value>,
}

impl Claude<'_> {
    fn id(&self, number: usize, step: usize) -> String {
        identifier(&[
            "claude record",
            self.exchange.session,
            &number.to_string(),
            &step.to_string(),
        ])
    }

    fn push(&mut self, kind: &str, at: i64, body: Value) {
        let step = self.records.len();
        let number = self.exchange.number;
        let parent = match (step, number) {
            (0, 1) => Value::Null,
            // The first record of a later turn follows the last of the turn before.
            (0, number) => self.id(number - 1, usize::MAX).into(),
            (step, _) => self.records[step - 1]["uuid"].clone(),
        };
        let mut record = json!({
            "parentUuid": parent, "isSidechain": false, "userType": "external", "cwd": self.cwd,
            "sessionId": self.conversation, "version": "2.0.61", "gitBranch": "HEAD", "type": kind,
        });
        if let (Value::Object(record), Value::Object(body)) = (&mut record, body) {
            record.extend(body);
            record.insert("uuid".into(), self.id(number, step).into());
            record.insert("timestamp".into(), stamp(at).into());
        }
        self.records.push(record);
    }

    fn assistant(&mut self, at: i64, content: &Value, stop: &Value) {
        let step = self.records.len();
        let id = self.id(self.exchange.number, step).replace('-', "");
        let message = json!({
            "model": "claude-sonnet-4-5", "id": format!("msg_{}", &id[..24]), "type": "message",
            "role": "assistant", "content": [content], "stop_reason": stop,
            "usage": {"input_tokens": 900 + 40 * step, "output_tokens": 60 + 3 * step},
        });
        self.push(
            "assistant",
            at,
            json!({"message": message, "requestId": format!("req_{}", &id[8..24])}),
        );
    }

    fn all(&mut self) {
        let exchange = self.exchange;
        let user = json!({"message": {"role": "user", "content": exchange.input}});
        self.push("user", exchange.began, user);
        let mut last = exchange.began;
        for told in exchange.told {
            last = told.at;
            let file = |path: &str| format!("{}/{path}", self.cwd);
            let (name, input) = match told.step {
                Step::Say(text) => {
                    let content = json!({"type": "text", "text": text});
                    self.assistant(told.at, &content, &Value::Null);
                    continue;
                }
                Step::Read(path) => ("Read", json!({"file_path": file(path)})),
                Step::Edit { path, old, new } => (
                    "Edit",
                    json!({"file_path": file(path), "old_string": old, "new_string": new}),
                ),
                Step::Write { path, text } => {
                    ("Write", json!({"file_path": file(path), "content": text}))
                }
                Step::Shell { command, .. } => ("Bash", json!({"command": command})),
            };
            let id = self.id(exchange.number, self.records.len());
            let id = format!("toolu_{}", &id.replace('-', "")[..24]);
            let call = json!({"type": "tool_use", "id": id, "name": name, "input": input});
            self.assistant(told.at, &call, &json!("tool_use"));
            let text = match told.step {
                Step::Read(_) => numbered(&told.result),
                _ => told.result.clone(),
            };
            let result = json!({"tool_use_id": id, "type": "tool_result", "content": text});
            let result = json!({"role": "user", "content": [result]});
            let extra = match told.step {
                Step::Shell { .. } => {
                    json!({"stdout": told.result, "stderr": "", "interrupted": false})
                }
                _ => json!({"filePath": input["file_path"]}),
            };
            let body = json!({"message": result, "toolUseResult": extra});
            self.push("user", told.at + 2, body);
        }
        let content = json!({"type": "text", "text": exchange.answer});
        self.assistant(last + 5, &content, &json!("end_turn"));
        let id = self.id(exchange.number, usize::MAX);
        if let Some(last) = self.records.last_mut() {
            last["uuid"] = id.into();
        }
    }
}

fn numbered(text: &str) -> String {
    let numbered = text.lines().zip(1..);
    let lines: Vec<_> = numbered.map(|(line, n)| format!("{n:6}→{line}")).collect();
    lines.join("\n")
}

fn codex(computer: &mut Computer, exchange: &Exchange<'_>) {
    let cwd = computer.cwd();
    let thread = Home::Codex.session_id(exchange.session);
    let files = &mut computer.files;
    let entry = json!({"session_id": thread, "ts": exchange.began, "text": exchange.input});
    files.append("native/codex/history.jsonl", &lines(&[entry]), 0o600);
    let config =
        "model = \"gpt-5-codex\"\n\n[projects.\"/workspace\"]\ntrust_level = \"trusted\"\n";
    files.put("native/codex/config.toml", config, 0o600);
    let version = "{\"latest_version\":\"0.98.0\"}";
    files.put("native/codex/version.json", version, 0o644);
    // Folder and name say when the thread began, whichever turn writes to it.
    let began = &stamp(exchange.session_began)[..19];
    let (day, name) = (began[..10].replace('-', "/"), began.replace(':', "-"));
    let path = format!("native/codex/sessions/{day}/rollout-{name}-{thread}.jsonl");
    files.append(
        &path,
        &lines(&codex_records(exchange, &cwd, &thread)),
        0o644,
    );
}

fn codex_records(exchange: &Exchange<'_>, cwd: &str, thread: &str) -> Vec<Value> {
    let item = |at: i64, kind: &str, payload: Value| json!({"timestamp": stamp(at), "type": kind, "payload": payload});
    let message = |role: &str, kind: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]});
    let began = exchange.began;
    let mut records = Vec::new();
    if exchange.number == 1 {
        let mut meta = json!({
            "id": thread, "timestamp": stamp(began), "cwd": cwd, "originator": "codex_python_sdk",
            "cli_version": "0.98.0", "instructions": null, "source": "exec",
            "model_provider": "openai",
        });
        if let Some(url) = exchange.url {
            meta["git"] = json!({"branch": "HEAD", "repository_url": url});
        }
        records.push(item(began, "session_meta", meta));
    }
    let context = json!({"cwd": cwd, "approval_policy": "never",
        "sandbox_policy": {"type": "danger-full-access"}, "model": "gpt-5-codex"});
    records.push(item(began, "turn_context", context));
    let input = exchange.input;
    records.push(item(
        began,
        "response_item",
        message("user", "input_text", input),
    ));
    let event = json!({"type": "user_message", "message": input});
    records.push(item(began, "event_msg", event));
    let mut last = began;
    for (told, step) in exchange.told.iter().zip(0_usize..) {
        last = told.at;
        let parts = [
            exchange.session,
            &exchange.number.to_string(),
            &step.to_string(),
        ];
        let call = format!("call_{}", &token(&parts)[..24]);
        let patch = |body: String| {
            let input = format!("*** Begin Patch\n{body}*** End Patch");
            json!({"type": "custom_tool_call", "status": "completed", "call_id": call,
                "name": "apply_patch", "input": input})
        };
        let shell = |command: &str| {
            let command = json!({"command": ["bash", "-lc", command], "workdir": cwd});
            json!({"type": "function_call", "name": "shell", "arguments": command.to_string(),
                "call_id": call})
        };
        let payload = match told.step {
            Step::Say(text) => {
                let said = message("assistant", "output_text", text);
                records.push(item(told.at, "response_item", said));
                continue;
            }
            Step::Read(path) => shell(&format!("cat '{path}'")),
            Step::Shell { command, .. } => shell(command),
            Step::Edit { path, old, new } => patch(format!(
                "*** Update File: {path}\n@@\n{}{}",
                marked('-', old),
                marked('+', new)
            )),
            Step::Write { path, text } => {
                patch(format!("*** Add File: {path}\n{}", marked('+', text)))
            }
        };
        let output = match payload["type"].as_str() {
            Some("function_call") => "function_call_output",
            _ => "custom_tool_call_output",
        };
        records.push(item(told.at, "response_item", payload));
        let text = json!({"output": told.result, "metadata": {"exit_code": 0}});
        let payload = json!({"type": output, "call_id": call, "output": text.to_string()});
        records.push(item(told.at + 1, "response_item", payload));
    }
    let spent = json!({"total_token_usage": {"input_tokens": 1800 * exchange.number,
        "output_tokens": 150 * exchange.number}});
    let spent = json!({"type": "token_count", "info": spent});
    records.push(item(last + 4, "event_msg", spent));
    let answer = message("assistant", "output_text", exchange.answer);
    records.push(item(last + 5, "response_item", answer));
    let event = json!({"type": "agent_message", "message": exchange.answer});
    records.push(item(last + 5, "event_msg", event));
    records
}

fn marked(mark: char, text: &str) -> String {
    text.lines().map(|line| format!("{mark}{line}\n")).collect()
}
