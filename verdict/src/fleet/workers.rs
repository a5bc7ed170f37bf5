//! The threads on which objects are planned.

/// Threads that share work. This crate starts none by itself.
pub trait Workers: Sync {
    /// Maps chunks of the items, as many chunks as there may be threads. The results have the order of the
    /// items.
    fn map_chunks<'i, I: Sync, R: Send>(
        &self,
        items: &'i [I],
        work: impl Fn(&'i [I]) -> Vec<R> + Sync,
    ) -> Vec<R>;
}

/// The thread that calls the judge.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct CallingThread;

impl Workers for CallingThread {
    fn map_chunks<'i, I: Sync, R: Send>(
        &self,
        items: &'i [I],
        work: impl Fn(&'i [I]) -> Vec<R> + Sync,
    ) -> Vec<R> {
        work(items)
    }
}

impl<W: Workers> Workers for &W {
    fn map_chunks<'i, I: Sync, R: Send>(
        &self,
        items: &'i [I],
        work: impl Fn(&'i [I]) -> Vec<R> + Sync,
    ) -> Vec<R> {
        (**self).map_chunks(items, work)
    }
}
