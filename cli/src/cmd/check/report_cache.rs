//! A cache of reports by file. In a collection of kernels such as BTFHub, many names are links to the same
//! file.

use core_relo_kernels::FileId;
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The maximum number of reports in the cache.
const CACHED_REPORTS: usize = 1024;

/// The maximum size of all reports in memory, in bytes.
const CACHED_BYTES: usize = 16 << 20;

/// Reports by the identity of the kernel's file. New reports evict the oldest ones.
pub(super) struct ReportCache<R> {
    reports: Mutex<Reports<R>>,
}

struct Reports<R> {
    by_file: HashMap<FileId, CachedReport<R>>,
    /// The files from the oldest report to the newest.
    order: VecDeque<FileId>,
    memory_bytes: usize,
}

struct CachedReport<R> {
    report: Arc<R>,
    memory_bytes: usize,
}

impl<R> ReportCache<R> {
    pub(super) fn new() -> Self {
        let reports = Reports { by_file: HashMap::new(), order: VecDeque::new(), memory_bytes: 0 };
        Self { reports: Mutex::new(reports) }
    }

    /// Returns the report of a file.
    pub(super) fn get(&self, file: &FileId) -> Option<Arc<R>> {
        self.lock().by_file.get(file).map(|cached| Arc::clone(&cached.report))
    }

    /// Stores the report of a file. The report takes `memory_bytes` of memory.
    pub(super) fn insert(&self, file: FileId, report: &Arc<R>, memory_bytes: usize) {
        // A report larger than the limit would evict all others.
        if memory_bytes > CACHED_BYTES {
            return;
        }
        let mut reports = self.lock();
        let cached = CachedReport { report: Arc::clone(report), memory_bytes };
        match reports.by_file.insert(file, cached) {
            // Two threads have checked the file under different names.
            Some(replaced) => reports.memory_bytes -= replaced.memory_bytes,
            None => reports.order.push_back(file),
        }
        reports.memory_bytes += memory_bytes;
        while reports.order.len() > CACHED_REPORTS || reports.memory_bytes > CACHED_BYTES {
            let Some(oldest) = reports.order.pop_front() else { break };
            if let Some(evicted) = reports.by_file.remove(&oldest) {
                reports.memory_bytes -= evicted.memory_bytes;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Reports<R>> {
        self.reports.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use std::{
        fs,
        time::{Duration, SystemTime},
    };

    /// Returns the identities of `n` different files.
    fn file_ids(n: usize) -> Vec<FileId> {
        let dir = tempfile::tempdir().unwrap();
        let later = SystemTime::now() + Duration::from_secs(10);
        let id = |n: usize| {
            let path = dir.path().join(n.to_string());
            fs::write(&path, "x").unwrap();
            FileId::new(&path, &fs::metadata(&path).unwrap(), later).unwrap()
        };
        (0..n).map(id).collect()
    }

    fn state<R>(cache: &ReportCache<R>) -> (usize, usize, usize) {
        let reports = cache.lock();
        (reports.by_file.len(), reports.order.len(), reports.memory_bytes)
    }

    #[test]
    fn files_have_their_own_reports() {
        let (cache, files) = (ReportCache::new(), file_ids(2));
        assert_eq!(cache.get(&files[0]), None);
        cache.insert(files[0], &Arc::new('x'), 1);
        assert_eq!((cache.get(&files[0]).as_deref(), cache.get(&files[1])), (Some(&'x'), None));
        cache.insert(files[0], &Arc::new('y'), 5);
        assert_eq!((cache.get(&files[0]).as_deref(), state(&cache)), (Some(&'y'), (1, 1, 5)));
    }

    #[test]
    fn the_number_of_reports_is_limited() {
        let (cache, files) = (ReportCache::new(), file_ids(CACHED_REPORTS + 10));
        files.iter().for_each(|file| cache.insert(*file, &Arc::new(()), 1));
        assert_eq!(state(&cache), (CACHED_REPORTS, CACHED_REPORTS, CACHED_REPORTS));
        assert!(cache.get(&files[9]).is_none() && cache.get(&files[10]).is_some());
    }

    #[test]
    fn the_memory_of_reports_is_limited() {
        let (cache, files) = (ReportCache::new(), file_ids(5));
        cache.insert(files[0], &Arc::new(()), CACHED_BYTES + 1);
        assert_eq!(state(&cache), (0, 0, 0));
        for file in &files[1..4] {
            cache.insert(*file, &Arc::new(()), CACHED_BYTES / 3);
        }
        assert_eq!(state(&cache).0, 3);
        cache.insert(files[4], &Arc::new(()), CACHED_BYTES);
        assert_eq!(state(&cache), (1, 1, CACHED_BYTES));
        assert!(cache.get(&files[4]).is_some(), "the newest report stays");
    }
}
