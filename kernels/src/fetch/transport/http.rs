//! HTTP requests.
//!
//! TLS is rustls with Graviola's cryptography, which needs no C compiler to build. Graviola is for x86-64 and
//! arm64 processors with certain instructions. Elsewhere, and without the feature `fetch-tls`, only `http:`
//! and `file:` mirrors can be read.

use super::OpenedFile;
use crate::{
    fetch::{address::Address, date::parse_date, error::MirrorDefect},
    limits::MAX_REDIRECTS,
};
use std::{
    io,
    time::{Duration, SystemTime},
};
use ureq::{
    Agent,
    config::Config,
    http::{StatusCode, header},
};

/// The time for a connection, and for each part of an answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The number of connections to a host.
const CONNECTIONS_PER_HOST: usize = 2;

/// A client of HTTP servers. It uses the proxy that the environment names.
#[derive(Debug)]
pub(super) struct HttpClient {
    agent: Agent,
    /// The reason why there is no TLS.
    without_tls: Option<&'static str>,
}

impl HttpClient {
    pub(super) fn new() -> Self {
        let config = Config::builder()
            .http_status_as_error(false)
            .max_idle_connections_per_host(CONNECTIONS_PER_HOST)
            .timeout_connect(Some(TIMEOUT))
            .timeout_recv_response(Some(TIMEOUT))
            .timeout_per_read(Some(TIMEOUT))
            .accept_encoding("identity")
            .user_agent(concat!("core-relo/", env!("CARGO_PKG_VERSION")));
        #[cfg(feature = "fetch-tls")]
        let (config, without_tls) = match tls::config() {
            Ok(tls) => (config.tls_config(tls), None),
            Err(reason) => (config, Some(reason)),
        };
        #[cfg(not(feature = "fetch-tls"))]
        let without_tls = Some("this build has no TLS (feature `fetch-tls` of core-relo-kernels)");
        // A redirection may lead to https.
        let redirects = if without_tls.is_some() { 0 } else { MAX_REDIRECTS };
        Self { agent: config.max_redirects(redirects).build().new_agent(), without_tls }
    }

    /// Requests a file, from an offset on.
    pub(super) fn open(
        &self,
        address: &Address,
        is_secure: bool,
        offset: u64,
    ) -> Result<OpenedFile, MirrorDefect> {
        if let (true, Some(reason)) = (is_secure, self.without_tls) {
            return Err(MirrorDefect::NoTls { reason });
        }
        // A redirection must not give up TLS, which may be all that protects an index.
        let request = self.agent.get(encode_path(address.as_str()));
        let mut request = request.config().https_only(is_secure).build();
        if offset > 0 {
            request = request.header(header::RANGE, format!("bytes={offset}-"));
        }
        let response = request.call().map_err(|error| connection(&error))?;
        let offset = match response.status() {
            StatusCode::OK => 0,
            StatusCode::PARTIAL_CONTENT if offset > 0 && starts_at(&response, offset) => offset,
            status => return Err(refusal(status, &response)),
        };
        Ok(OpenedFile { content: Box::new(response.into_body().into_reader()), offset })
    }
}

/// Returns an address with characters that URLs reserve encoded: `+` in the names of packages is a space for
/// some servers.
fn encode_path(address: &str) -> String {
    address.replace('+', "%2B").replace('~', "%7E")
}

/// Returns whether a partial answer begins at an offset.
fn starts_at<B>(response: &ureq::http::Response<B>, offset: u64) -> bool {
    let range = response.headers().get(header::CONTENT_RANGE).and_then(|range| range.to_str().ok());
    range.is_some_and(|range| range.starts_with(&format!("bytes {offset}-")))
}

/// Returns the defect of an answer without the file. Servers that are busy may ask for a pause.
fn refusal<B>(status: StatusCode, response: &ureq::http::Response<B>) -> MirrorDefect {
    let code = status.as_u16();
    let is_busy = matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
    let pause = response.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok());
    match pause.filter(|_| is_busy).and_then(|value| parse_pause(value, SystemTime::now())) {
        Some(seconds) => MirrorDefect::Busy { code, seconds },
        None => MirrorDefect::Status { code },
    }
}

/// Parses the value of `Retry-After`: seconds, or a date (RFC 9110, 10.2.3). Returns the seconds from `now`.
fn parse_pause(value: &str, now: SystemTime) -> Option<u64> {
    if let Ok(seconds) = value.trim().parse() {
        return Some(seconds);
    }
    let pause = parse_date(value)?.duration_since(now);
    Some(pause.map_or(0, |pause| pause.as_secs()))
}

fn connection(error: &ureq::Error) -> MirrorDefect {
    let message = match error {
        ureq::Error::HostNotFound => "the host is unknown".to_owned(),
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            "the server refuses the connection".to_owned()
        }
        error => error.to_string(),
    };
    MirrorDefect::Connection { message }
}

#[cfg(all(feature = "fetch-tls", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tls {
    use std::sync::Arc;
    use ureq::tls::{Certificate, RootCerts, TlsConfig};

    /// Returns the configuration of TLS with the certificates of the system, or the reason why there is none.
    pub(super) fn config() -> Result<TlsConfig, &'static str> {
        if !is_supported() {
            return Err("the processor lacks instructions of the cryptography in this build");
        }
        let system = rustls_native_certs::load_native_certs();
        let certificates: Vec<_> =
            system.certs.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect();
        if certificates.is_empty() {
            return Err("the system has no certificates of authorities (package ca-certificates)");
        }
        let provider = Arc::new(rustls_graviola::default_provider());
        let config = TlsConfig::builder().root_certs(RootCerts::new_with_certs(&certificates));
        Ok(config.unversioned_rustls_crypto_provider(provider).build())
    }

    /// Returns whether the processor has the instructions that Graviola uses. Without them, Graviola panics.
    #[cfg(target_arch = "x86_64")]
    fn is_supported() -> bool {
        std::arch::is_x86_feature_detected!("aes")
            && std::arch::is_x86_feature_detected!("ssse3")
            && std::arch::is_x86_feature_detected!("avx")
            && std::arch::is_x86_feature_detected!("avx2")
            && std::arch::is_x86_feature_detected!("adx")
            && std::arch::is_x86_feature_detected!("bmi1")
            && std::arch::is_x86_feature_detected!("bmi2")
            && std::arch::is_x86_feature_detected!("pclmulqdq")
    }

    /// Returns whether the processor has the instructions that Graviola uses. Without them, Graviola panics.
    #[cfg(target_arch = "aarch64")]
    fn is_supported() -> bool {
        std::arch::is_aarch64_feature_detected!("neon")
            && std::arch::is_aarch64_feature_detected!("aes")
            && std::arch::is_aarch64_feature_detected!("pmull")
            && std::arch::is_aarch64_feature_detected!("sha2")
    }
}

#[cfg(all(feature = "fetch-tls", not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod tls {
    use ureq::tls::TlsConfig;

    pub(super) fn config() -> Result<TlsConfig, &'static str> {
        Err("builds for this architecture have no TLS")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_seconds_or_dates() {
        let now = parse_date("Thu, 29 Feb 2024 12:00:00 GMT").unwrap();
        assert_eq!(parse_pause("120", now), Some(120));
        assert_eq!(parse_pause("Thu, 29 Feb 2024 12:00:30 GMT", now), Some(30));
        assert_eq!(parse_pause("Thu, 29 Feb 2024 11:00:00 GMT", now), Some(0), "a date in the past");
        assert_eq!(parse_pause("soon", now), None);
    }
}
