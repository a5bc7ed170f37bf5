//! The report as JSON.

use super::rejection::Rejection;
use super::{
    AlternativeReport, CapabilityReport, ConstantReport, GroupReport, LinkReport, MapReport, ProgramReport,
    StartupReport,
};
use core::fmt;
use core_relo_verdict::{
    judge::{KernelFeature, Verdict},
    kernel::{Answer, Evidence},
};

/// A JSON value.
enum Json<'r> {
    Null,
    Bool(bool),
    Number(i128),
    Text(&'r str),
    List(Vec<Self>),
    Object(Vec<(&'static str, Self)>),
}

impl StartupReport {
    /// Returns the report as a JSON object in one line.
    pub fn to_json(&self) -> String {
        let kernel = Json::Object(vec![
            ("release", text_or_null(self.kernel.release.as_deref())),
            ("architecture", text_or_null(self.kernel.architecture.as_deref())),
            ("btf_source", text_or_null(self.kernel.btf_source.as_deref())),
        ]);
        let report = Json::Object(vec![
            ("object", Json::Text(&self.object)),
            ("outcome", Json::Text(self.outcome.word())),
            ("kernel", kernel),
            ("groups", list(&self.groups, group)),
            ("programs", list(&self.programs, program)),
            ("maps", list(&self.maps, map)),
            ("constants", list(&self.constants, constant)),
            ("features", list(&self.features, feature)),
            ("links", list(&self.links, link)),
            ("capabilities", list(&self.capabilities, capability)),
            ("verdict", verdict(self.verdict)),
            ("unjudged", text_or_null(self.unjudged.as_deref())),
            ("attempts", count(self.attempts)),
        ]);
        report.to_string()
    }
}

fn group(group: &GroupReport) -> Json<'_> {
    Json::Object(vec![
        ("name", Json::Text(&group.name)),
        ("optional", Json::Bool(group.is_optional)),
        ("chosen", group.chosen.map_or(Json::Null, count)),
        ("alternatives", list(&group.alternatives, alternative)),
    ])
}

fn alternative(alternative: &AlternativeReport) -> Json<'_> {
    Json::Object(vec![
        ("programs", texts(&alternative.programs)),
        ("status", Json::Text(alternative.status.word())),
        ("rejections", list(&alternative.rejections, rejection)),
        ("verdict", verdict(alternative.verdict)),
        ("doubts", texts(&alternative.doubts)),
    ])
}

fn program(program: &ProgramReport) -> Json<'_> {
    Json::Object(vec![
        ("name", Json::Text(&program.name)),
        ("optional", Json::Bool(program.is_optional)),
        ("status", Json::Text(program.status.word())),
        ("rejection", program.rejection.as_ref().map_or(Json::Null, rejection)),
        ("verdict", verdict(program.verdict)),
        ("doubts", texts(&program.doubts)),
    ])
}

fn map(map: &MapReport) -> Json<'_> {
    Json::Object(vec![
        ("name", Json::Text(&map.name)),
        ("rejection", map.rejection.as_ref().map_or(Json::Null, rejection)),
    ])
}

fn rejection(rejection: &Rejection) -> Json<'_> {
    Json::Object(vec![
        ("name", Json::Text(&rejection.name)),
        ("stage", Json::Text(rejection.stage.word())),
        ("reasons", texts(&rejection.reasons)),
        ("log_line", text_or_null(rejection.log_line.as_deref())),
    ])
}

fn constant(constant: &ConstantReport) -> Json<'_> {
    Json::Object(vec![
        ("global", Json::Text(&constant.global)),
        ("meaning", Json::Text(&constant.meaning)),
        ("value", constant.value.map_or(Json::Null, Json::Number)),
        ("absence", text_or_null(constant.absence.as_deref())),
    ])
}

fn feature(feature: &KernelFeature) -> Json<'_> {
    let (is_present, evidence, question) = match &feature.answer {
        Answer::Present(evidence) => (Json::Bool(true), Some(evidence), None),
        Answer::Absent(evidence) => (Json::Bool(false), Some(evidence), None),
        Answer::Unknown(question) => (Json::Null, None, Some(question.as_str())),
    };
    let evidence = evidence.map(|Evidence { source, text }| {
        Json::Object(vec![("source", Json::Text(source.word())), ("text", Json::Text(text))])
    });
    Json::Object(vec![
        ("name", Json::Text(&feature.name)),
        ("present", is_present),
        ("evidence", evidence.unwrap_or(Json::Null)),
        ("question", text_or_null(question)),
        ("attaches", texts(&feature.attaches)),
    ])
}

fn link(link: &LinkReport) -> Json<'_> {
    Json::Object(vec![("label", Json::Text(&link.label)), ("kernel_link", Json::Bool(link.is_kernel_link))])
}

fn capability(needed: &CapabilityReport) -> Json<'_> {
    Json::Object(vec![
        ("name", Json::Text(needed.capability.name())),
        ("programs", count(needed.program_count)),
        ("held", needed.is_held.map_or(Json::Null, Json::Bool)),
        ("needs_token", Json::Bool(needed.needs_token)),
    ])
}

fn list<'r, T>(items: &'r [T], item: impl Fn(&'r T) -> Json<'r>) -> Json<'r> {
    Json::List(items.iter().map(item).collect())
}

fn texts(items: &[String]) -> Json<'_> {
    list(items, |item| Json::Text(item))
}

fn verdict<'r>(verdict: Option<Verdict>) -> Json<'r> {
    text_or_null(verdict.map(Verdict::word))
}

fn text_or_null(text: Option<&str>) -> Json<'_> {
    text.map_or(Json::Null, Json::Text)
}

fn count<'r>(count: usize) -> Json<'r> {
    i128::try_from(count).map_or(Json::Null, Json::Number)
}

impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Number(value) => write!(f, "{value}"),
            Self::Text(text) => write_text(f, text),
            Self::List(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if index == 0 { "" } else { "," })?;
                }
                f.write_str("]")
            }
            Self::Object(members) => {
                f.write_str("{")?;
                for (index, (name, value)) in members.iter().enumerate() {
                    write!(f, "{}\"{name}\":{value}", if index == 0 { "" } else { "," })?;
                }
                f.write_str("}")
            }
        }
    }
}

/// Writes a string with JSON's escapes.
fn write_text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for character in text.chars() {
        match character {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\t' => f.write_str("\\t")?,
            control if u32::from(control) < 0x20 => write!(f, "\\u{:04x}", u32::from(control))?,
            other => write!(f, "{other}")?,
        }
    }
    f.write_str("\"")
}
