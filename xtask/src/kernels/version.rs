//! Versions of kernels: their series and their order.

/// Returns whether a version belongs to a series: `6.1.192` belongs to `6.1` and `6`, not to `6.12`.
pub fn is_in_series(version: &str, series: &str) -> bool {
    version.strip_prefix(series).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
}

/// Returns a key that sorts versions by their numbers. A release candidate comes before its release.
pub fn version_key(version: &str) -> (Vec<u32>, u32) {
    let (release, candidate) = version.split_once("-rc").unwrap_or((version, ""));
    let numbers = release.split(['.', '-']).map_while(|part| part.parse().ok()).collect();
    (numbers, candidate.parse().unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_series() {
        assert!(is_in_series("6.1.192", "6.1"));
        assert!(!is_in_series("6.12.43", "6.1"));
        assert!(is_in_series("7.3-rc7", "7"));
        assert!(version_key("6.1.20") < version_key("6.1.192"));
        assert!(version_key("7.3-rc7") < version_key("7.3"));
        assert!(version_key("7.2.13") < version_key("7.3-rc7"));
    }
}
