//! A session: the objects that the user gave, the kernel in work, and the verdicts so far.

use crate::{
    kernel::PageKernel,
    limits::MAX_OBJECT_BYTES,
    message::Request,
    object::{CheckedObject, GivenObject},
    request_error::{ErrorJson, RequestError},
};
use core_relo_report::{FleetReport, ReportFormat, Row, UnjudgedInput};
use core_relo_verdict::loaders::LoaderKind;
use serde::Serialize;
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc};

/// The name and version of the module. `core-relo site` finds it in the file, so that it writes no module of
/// another version.
const MODULE: &str = concat!("core-relo-web ", env!("CARGO_PKG_VERSION"));

/// The objects that the user gave, the kernel in work, and the verdicts so far.
#[derive(Debug, Default)]
pub struct Session {
    objects: Vec<GivenObject>,
    kernel: Option<PageKernel>,
    /// The verdicts, by the number of the object and the name of the kernel.
    rows: BTreeMap<(usize, String), Row>,
}

/// The JSON of an answer.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Ok(Value),
    Error(ErrorJson),
}

impl Session {
    /// Answers a message with JSON: `{"ok": …}` or `{"error": {"message": …, "help": …}}`.
    pub fn answer(&mut self, message: &[u8]) -> Vec<u8> {
        let answer = match self.handle(message) {
            Ok(value) => Answer::Ok(value),
            Err(error) => Answer::Error(ErrorJson::from(&error)),
        };
        serde_json::to_vec(&answer).unwrap_or_else(|error| {
            let message = error.to_string();
            json!({ "error": { "message": message, "help": null } }).to_string().into_bytes()
        })
    }

    fn handle(&mut self, message: &[u8]) -> Result<Value, RequestError> {
        let (request, payload) = Request::parse(message)?;
        match request {
            Request::About => {
                let loaders: Vec<_> =
                    LoaderKind::ALL.iter().map(|loader| (loader.word(), loader.name())).collect();
                to_json(json!({ "module": MODULE, "max_object_bytes": MAX_OBJECT_BYTES, "loaders": loaders }))
            }
            Request::Object { name } => {
                let object = GivenObject::new(name, payload)?;
                let description = object.describe(self.objects.len())?;
                self.objects.push(object);
                to_json(description)
            }
            Request::Kernel { facts, parts } => {
                // The memory of the last kernel is free before the next one is parsed.
                self.kernel = None;
                self.kernel = Some(PageKernel::new(*facts, &parts, payload)?);
                Ok(Value::Null)
            }
            Request::Modules => {
                self.kernel.as_mut().ok_or(RequestError::NoKernel)?.add_modules(payload)?;
                Ok(Value::Null)
            }
            Request::Check { object, loader } => {
                let unknown = || RequestError::Message(format!("unknown loader `{loader}`").into());
                let loader = LoaderKind::from_word(&loader).ok_or_else(unknown)?;
                to_json(self.check(object, loader)?)
            }
            Request::Report => self.report().map(Value::String),
        }
    }

    /// Judges an object on the kernel, and keeps the verdict for a report.
    fn check(&mut self, number: usize, loader: LoaderKind) -> Result<CheckedObject, RequestError> {
        let object = self.objects.get(number).ok_or(RequestError::UnknownObject(number))?;
        let kernel = self.kernel.as_ref().ok_or(RequestError::NoKernel)?;
        let checked = object.check(kernel, loader);
        let outcome = match &checked {
            Ok(checked) => Ok(Arc::new(checked.verdict.clone())),
            Err(error) => Err(UnjudgedInput::new(&*kernel.name, error)),
        };
        let mut row = Row::new(&*object.name, &*kernel.name, outcome);
        row.kernel_version = kernel.label_version;
        row.architecture.clone_from(&kernel.architecture);
        self.rows.insert((number, kernel.name.clone()), row);
        checked
    }

    /// Returns the report of the verdicts as HTML.
    fn report(&self) -> Result<String, RequestError> {
        let mut report = FleetReport::default();
        self.rows.values().for_each(|row| report.push(row.clone()));
        let mut html = Vec::new();
        report
            .write(ReportFormat::Html, &mut html)
            .map_err(|error| RequestError::Report(error.to_string().into()))?;
        String::from_utf8(html).map_err(|error| RequestError::Report(error.to_string().into()))
    }
}

/// Returns the JSON of a value.
fn to_json(value: impl Serialize) -> Result<Value, RequestError> {
    serde_json::to_value(value).map_err(|error| RequestError::Message(error.to_string().into()))
}
