//! Predictions and real loads of programs, and how they are read from the command's JSON lines.

use std::collections::BTreeMap;

use serde_json::Value;

use super::classify::{Cause, Refusal};
use crate::system::Outcome;

/// A program: the object's path, and the program's name.
pub type ProgramKey = (String, String);

/// The verdict of `core-relo check` on a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prediction {
    /// `loads`, `unknown`, `needs_input`, `refused`.
    pub verdict: String,
    /// The kinds of the reasons, worst first.
    pub kinds: Vec<String>,
    /// The text of the first reason.
    pub text: String,
}

/// The outcome of a real load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reality {
    Loaded,
    Refused {
        cause: Cause,
        message: String,
    },
    /// The program was not loaded, for example because the kernel crashed before.
    Unknown(String),
}

impl Prediction {
    /// Returns the verdict with the kind of its first reason, such as `refused helper`.
    pub fn label(&self) -> String {
        match self.kinds.first() {
            Some(kind) => format!("{} {kind}", self.verdict),
            None => self.verdict.clone(),
        }
    }
}

/// Reads the predictions from the lines of `check --format json`.
pub fn read_predictions(text: &str) -> Outcome<BTreeMap<ProgramKey, Prediction>> {
    let mut predictions = BTreeMap::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).map_err(|error| format!("check: {error}: {line}"))?;
        let object = string(&line, "object");
        let Some(programs) = line.get("programs").and_then(Value::as_array) else {
            if line.get("error").is_some_and(|error| !error.is_null()) {
                // The object cannot be read. The real load reports the same.
                continue;
            }
            return Err(
                "check: no key `programs` in its JSON lines: this build of core-relo gives no verdicts"
                    .into(),
            );
        };
        for program in programs {
            let reasons = program.get("reasons").and_then(Value::as_array).cloned().unwrap_or_default();
            let prediction = Prediction {
                verdict: string(program, "verdict"),
                kinds: reasons.iter().map(|reason| string(reason, "kind")).collect(),
                text: reasons.first().map(|reason| string(reason, "text")).unwrap_or_default(),
            };
            predictions.insert((object.clone(), string(program, "name")), prediction);
        }
    }
    Ok(predictions)
}

/// Reads the outcomes from the lines of `vm --format json`, or from those of `load --each --format json`.
pub fn read_realities(text: &str) -> Outcome<BTreeMap<ProgramKey, Reality>> {
    let mut realities = BTreeMap::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).map_err(|error| format!("load: {error}: {line}"))?;
        let word = ["reality", "status"].iter().find_map(|key| line.get(key)?.as_str());
        let (Some(word), Some(program)) = (word, line.get("program").and_then(Value::as_str)) else {
            continue;
        };
        let reality = match (word, line.get("error")) {
            ("loaded", _) => Reality::Loaded,
            ("refused", Some(error)) => {
                let refusal = Refusal {
                    stage: string(error, "stage"),
                    text: string(error, "text"),
                    errno_name: string(error, "errno_name"),
                    lacks: string(error, "lacks"),
                    verifier_log: string(error, "verifier_log"),
                };
                Reality::Refused { cause: refusal.cause(), message: refusal.message() }
            }
            _ => Reality::Unknown(string(&line, "reason")),
        };
        realities.insert((string(&line, "object"), program.to_owned()), reality);
    }
    Ok(realities)
}

/// Returns the text of a key. The text is empty if the value is `null` or missing.
fn string(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(object: &str, program: &str) -> ProgramKey {
        (object.to_owned(), program.to_owned())
    }

    #[test]
    fn predictions_come_from_the_programs_of_check() {
        let line = r#"{"object":"a.o","target":"k","programs":[{"name":"p","verdict":"refused","autoload":true,"reasons":[{"kind":"helper","text":"helper bpf_loop is missing"},{"kind":"kfunc","text":""}]},{"name":"q","verdict":"loads","autoload":true,"reasons":[]}]}"#;
        let predictions = read_predictions(line).unwrap();
        let p = &predictions[&key("a.o", "p")];
        assert_eq!((p.label(), p.text.as_str()), ("refused helper".to_owned(), "helper bpf_loop is missing"));
        assert_eq!(predictions[&key("a.o", "q")].label(), "loads");
    }

    #[test]
    fn a_build_without_verdicts_is_named() {
        let error = read_predictions(r#"{"object":"a.o","target":"k","verdict":"ok"}"#).unwrap_err();
        assert!(error.to_string().contains("no key `programs`"), "{error}");
        assert_eq!(read_predictions(r#"{"object":"a.o","error":{"what":"no ELF"}}"#).unwrap().len(), 0);
    }

    #[test]
    fn realities_come_from_vm_and_from_load() {
        let text = r#"{"object":"a.o","kernel":"k","program":"p","reality":"loaded","error":null}
{"object":"a.o","program":"q","status":"refused","error":{"stage":"map","text":"a: map `m`: EINVAL","errno_name":"EINVAL"}}
{"object":"a.o","program":"r","reality":"unknown","reason":"the kernel crashed","error":null}
{"error":{"file":"b.o","what":"no ELF"}}"#;
        let realities = read_realities(text).unwrap();
        assert_eq!(realities.len(), 3);
        assert_eq!(realities[&key("a.o", "p")], Reality::Loaded);
        assert!(matches!(realities[&key("a.o", "q")], Reality::Refused { cause: Cause::Map, .. }));
        assert_eq!(realities[&key("a.o", "r")], Reality::Unknown("the kernel crashed".to_owned()));
    }
}
