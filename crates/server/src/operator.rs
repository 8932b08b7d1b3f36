//! Commands that ask a running server as its operator: `lazuli explain`, `lazuli lab`, `lazuli clock advance`, `lazuli reset`.

use serde_json::{Map, Value};

use crate::admin::{self, Door};
use crate::cli::{Flags, LabCommand};
use crate::settings::Settings;

/// The server that uses --location; or, with --operator-token, the one whose console is at --console-port.
fn server(flags: &Flags) -> Result<Door, String> {
    if let Some(token) = &flags.operator_token {
        let console = Settings::resolve(flags)?.console.at;
        return Ok(Door::new(console, token.clone()));
    }
    Door::of(&flags.location).ok_or_else(|| {
        format!(
            "no server uses {}: give its --location, or --operator-token and --console-port of one in memory",
            flags.location.display()
        )
    })
}

fn ask(flags: &Flags, method: &str, path: &str, body: Option<&Value>) -> Result<Value, String> {
    let text = body.map(Value::to_string).unwrap_or_default();
    let (status, answer) = admin::ask(&server(flags)?, method, path, text.as_bytes())?;
    let answer: Value = serde_json::from_str(&answer).unwrap_or(Value::Null);
    if (200..300).contains(&status) {
        return Ok(answer);
    }
    let message = answer["error"]["message"].as_str().unwrap_or("it gave no reason");
    Err(format!("the server refused ({status}): {message}"))
}

pub fn explain(flags: &Flags, request_id: &str) -> Result<String, String> {
    let plain = request_id.trim().trim_matches('"');
    if plain.is_empty() || plain.contains(|c: char| !c.is_ascii_alphanumeric() && c != '-') {
        return Err(
            "a request id is the x-ms-request-id of an answer, or smb-SESSION-MESSAGE as the access log has them"
                .into(),
        );
    }
    let answer = ask(flags, "GET", &format!("/api/explain/{plain}"), None)?;
    let mut text = format!("{}\n", answer["text"].as_str().unwrap_or_default());
    if let Some(winner) = answer["winner"].as_object() {
        text.push_str(&format!("\nThe winner:\n{}\n", pretty(&Value::Object(winner.clone()))));
    }
    Ok(text)
}

pub fn lab(flags: &Flags, command: &LabCommand) -> Result<String, String> {
    match command {
        LabCommand::List => Ok(pretty(&ask(flags, "GET", "/api/lab", None)?) + "\n"),
        LabCommand::Add { what, settings } => {
            let rule = rule(what, settings)?;
            Ok(pretty(&ask(flags, "POST", "/api/lab/rules", Some(&rule))?) + "\n")
        }
        LabCommand::Remove { id } => {
            ask(flags, "DELETE", &format!("/api/lab/rules/{id}"), None).map(|_| format!("removed rule {id}\n"))
        }
        LabCommand::Clear => ask(flags, "DELETE", "/api/lab/rules", None).map(|_| "removed all rules\n".into()),
    }
}

/// `lose-race operation=PutBlob count=1` as JSON.
fn rule(what: &str, settings: &[String]) -> Result<Value, String> {
    let mut rule = Map::new();
    rule.insert("do".into(), what.into());
    for setting in settings {
        let (name, value) = setting
            .split_once('=')
            .ok_or_else(|| format!("{setting}: write NAME=VALUE, as in operation=PutBlob or count=1"))?;
        let texts = ["operation", "account", "container", "prefix", "note"];
        let value = match texts.contains(&name) {
            true => Value::String(value.into()),
            false => {
                serde_json::from_str(value).map_err(|_| format!("{setting}: {name} is a number, true or false"))?
            }
        };
        rule.insert(name.replace('-', "_"), value);
    }
    Ok(Value::Object(rule))
}

pub fn advance(flags: &Flags, by: &str) -> Result<String, String> {
    let seconds = seconds(by)?;
    let answer = ask(flags, "POST", "/api/lab/clock", Some(&serde_json::json!({"advance_seconds": seconds})))?;
    Ok(format!(
        "It is {} now; both clocks are {} seconds ahead of the machine's.\n",
        answer["now"].as_str().unwrap_or_default(),
        answer["moved_seconds"]
    ))
}

/// `61s`, `15m`, `2h`, `3d`, `1.5`.
pub fn seconds(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let (number, unit) = match text.char_indices().last() {
        Some((at, unit)) if unit.is_ascii_alphabetic() => (&text[..at], unit),
        _ => (text, 's'),
    };
    let scale = match unit {
        's' => 1.0,
        'm' => 60.0,
        'h' => 3600.0,
        'd' => 86400.0,
        _ => 0.0,
    };
    let number: Option<f64> = number.parse().ok();
    let seconds = number.map(|number| number * scale).filter(|seconds| *seconds > 0.0 && seconds.is_finite());
    seconds.ok_or_else(|| format!("{text}: write a time such as 61s, 15m, 2h or 3d; clocks only go forward"))
}

pub fn reset(flags: &Flags, account: Option<&str>) -> Result<String, String> {
    let answer = ask(flags, "POST", "/api/lab/reset", Some(&serde_json::json!({"account": account})))?;
    Ok(format!(
        "Gone: {} containers, {} queues, {} tables, {} shares.\n",
        answer["containers"], answer["queues"], answer["tables"], answer["shares"]
    ))
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_never_go_back() {
        for (text, expected) in [("61s", 61.0), ("61", 61.0), ("15m", 900.0), ("2h", 7200.0), ("1.5d", 129_600.0)] {
            assert_eq!(seconds(text), Ok(expected), "{text}");
        }
        for text in ["", "-5s", "0", "5y", "inf", "nan", "s", "1e999d"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_rule_is_written_as_words() {
        let rule = rule("fail", &["operation=PutBlob".into(), "apply=true".into(), "count=2".into()]).unwrap();
        assert_eq!(rule, serde_json::json!({"do": "fail", "operation": "PutBlob", "apply": true, "count": 2}));
        assert!(super::rule("fail", &["count".into()]).is_err() && super::rule("fail", &["count=two".into()]).is_err());
    }
}
