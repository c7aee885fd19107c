//! What a list keeps of a row. `run_data` holds whole conversations, and a list holds thousands of
//! rows: it keeps what the gate asks and what is shown, and the row is read anew for anything else.

use super::model::{RunData, RunRow};
use crate::json::Json;

/// Characters of the input that are kept.
pub(super) const INPUT: usize = 2_000;

impl RunRow {
    /// The row without what no list shows and no gate asks; its answers stay the same.
    #[must_use]
    pub fn listed(mut self) -> Self {
        if let RunData::Value(Json::Object(fields)) = self.data {
            let kept = only(fields, &["status", "agent_name", "input", "metadata"]);
            let kept = kept.into_iter().map(|(key, value)| match key.as_str() {
                "input" => (key, input(value)),
                "metadata" => (key, within(value, "sandbox", &["checkpoint", "repository"])),
                _ => (key, value),
            });
            self.data = RunData::Value(Json::Object(kept.collect()));
        }
        self
    }
}

fn only(fields: Vec<(String, Json)>, keys: &[&str]) -> Vec<(String, Json)> {
    let mut fields = fields;
    fields.retain(|(key, _)| keys.contains(&key.as_str()));
    fields
}

/// `value` with nothing but `key`, and of that nothing but `keys`; odd values stay as they are.
fn within(value: Json, key: &str, keys: &[&str]) -> Json {
    let Json::Object(fields) = value else {
        return value;
    };
    let kept = only(fields, &[key])
        .into_iter()
        .map(|(key, value)| match value {
            Json::Object(fields) => (key, Json::Object(only(fields, keys))),
            value => (key, value),
        });
    Json::Object(kept.collect())
}

fn input(value: Json) -> Json {
    let Json::Object(fields) = value else {
        // Only an object is asked for its content.
        return Json::Null;
    };
    let kept = only(fields, &["input_content"]).into_iter();
    let kept = kept.map(|(key, value)| match value {
        Json::Text(text) => (key, Json::Text(text.chars().take(INPUT).collect())),
        _ => (key, Json::Null),
    });
    Json::Object(kept.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::{Opening, gate};

    fn row(data: &str) -> RunRow {
        RunRow {
            run_id: "r".into(),
            session_id: "s".into(),
            agent_id: Some("a".into()),
            user_id: None,
            run_type: None,
            status: None,
            run_index: Some(0),
            created_at: None,
            updated_at: None,
            data: RunData::Value(Json::parse(data).expect("JSON")),
        }
    }

    #[test]
    fn answers_stay_the_same_and_the_rest_goes() {
        let sha = "0".repeat(64);
        for data in [
            format!(
                r#"{{"status":"completed","messages":["{}"],"agent_name":"A",
                "input":{{"input_content":"Fix","images":[1]}},"metadata":{{"x":1,"sandbox":{{
                "checkpoint":{{"sha256":"{sha}","size":7}},"repository":{{"url":"u","commit":"c"}},"y":2}}}}}}"#,
                "x".repeat(1000)
            ),
            r#"{"status":"COMPLETED","metadata":{"sandbox":{"checkpoint":{"sha256":"x"}}}}"#.into(),
            r#"{"status":"COMPLETED","metadata":[],"input":"text"}"#.into(),
            r#"{"status":["COMPLETED"],"metadata":{"sandbox":null}}"#.into(),
            r#"{"status":"ERROR","status":"COMPLETED","metadata":{"sandbox":"text"}}"#.into(),
            "[1, 2]".into(),
            "\"text\"".into(),
        ] {
            let (whole, listed) = (row(&data), row(&data).listed());
            let answer = |row: &RunRow| {
                gate("r", Some(row), &Opening::Own).map_err(|error| error.message().to_owned())
            };
            assert_eq!(answer(&whole), answer(&listed), "{data}");
            assert_eq!(whole.effective_status(), listed.effective_status());
            assert_eq!(whole.repository(), listed.repository());
            assert_eq!(whole.agent_name(), listed.agent_name());
            assert_eq!(whole.input(), listed.input());
        }
        let listed = row(r#"{"messages":[1],"metadata":{"x":1,"sandbox":{"y":1}}}"#).listed();
        let RunData::Value(left) = listed.data else {
            panic!("a value");
        };
        assert_eq!(
            left,
            Json::parse(r#"{"metadata":{"sandbox":{}}}"#).expect("JSON")
        );
    }
}
