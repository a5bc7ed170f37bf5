//! All answers about a kernel, and their JSON line.

use super::{
    answer::{Callers, FeatureAnswer, Support},
    catalog::Entry,
};
use core_relo_verdict::kernel::EvidenceSource;
use serde::{Serialize, Serializer};

/// A feature and the answer of a kernel.
#[derive(Clone, Debug)]
pub(super) struct AnsweredFeature {
    pub(super) entry: Entry,
    pub(super) answer: FeatureAnswer,
}

/// The way in which the answers are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// By probes of the running kernel.
    Probe,
    /// By probes without capabilities.
    ProbeUnprivileged,
    /// By probes with a BPF token.
    ProbeWithToken,
    /// By the evidence of another kernel.
    Evidence,
}

/// All answers about a kernel.
#[derive(Clone, Debug)]
pub(super) struct KernelFeatures {
    pub(super) kernel: String,
    pub(super) method: Method,
    pub(super) features: Vec<AnsweredFeature>,
}

impl Serialize for KernelFeatures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Line<'a> {
            target: &'a str,
            method: &'static str,
            unprivileged: bool,
            token: bool,
            features: Vec<FeatureJson<'a>>,
        }
        let features = self.features.iter().map(FeatureJson::new).collect();
        let method = if self.method == Method::Evidence { "evidence" } else { EvidenceSource::Probe.word() };
        let unprivileged = self.method == Method::ProbeUnprivileged;
        let token = self.method == Method::ProbeWithToken;
        Line { target: &self.kernel, method, unprivileged, token, features }.serialize(serializer)
    }
}

/// An element of the key `features`.
#[derive(Serialize)]
struct FeatureJson<'a> {
    section: &'static str,
    name: &'a str,
    answer: Support,
    source: Option<&'static str>,
    evidence: &'a str,
    value: Option<&'a str>,
    release: Option<String>,
    first_observed: Option<String>,
    program_types: Option<&'a Callers>,
}

impl<'a> FeatureJson<'a> {
    fn new(feature: &'a AnsweredFeature) -> Self {
        let AnsweredFeature { entry, answer } = feature;
        Self {
            section: entry.section.name(),
            name: &entry.name,
            answer: answer.support(),
            source: answer.source(),
            evidence: answer.evidence(),
            value: answer.value.as_deref(),
            release: entry.release().map(|version| version.to_string()),
            first_observed: entry.first_observed().map(|version| version.to_string()),
            program_types: answer.callers.as_ref(),
        }
    }
}
