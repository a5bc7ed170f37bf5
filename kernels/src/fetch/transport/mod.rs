//! Reads files of mirrors: by HTTP, or from a directory of this machine.
//!
//! | file | contents |
//! |---|---|
//! | `http` | requests, with TLS where the processor has what it needs |
//! | `download` | a file of known size and hash as a stream: retries, resumes, checks |
//! | `pace` | mirrors that send next to nothing |
//! | `progress` | what a caller hears of downloads |

mod download;
mod http;
mod pace;
mod progress;

use super::{
    address::{Address, Scheme},
    error::{FetchError, MirrorDefect},
};
pub(crate) use download::{Download, Expected};
use http::HttpClient;
use pace::Pace;
pub use progress::{NoProgress, Progress};
use std::{
    fs::File,
    io::{self, Read, Seek as _, SeekFrom},
    path::Path,
    sync::OnceLock,
    time::Instant,
};

/// The number of bytes that are read at once.
const READ_BYTES: usize = 64 << 10;

/// The transport of one fetch. All its connections share one pool.
#[derive(Debug, Default)]
pub(crate) struct Transport {
    http: OnceLock<HttpClient>,
}

/// An opened file of a mirror.
pub(crate) struct OpenedFile {
    pub(crate) content: Box<dyn Read + Send>,
    /// The offset of the first byte of the content: that of the request, or 0 if the server has no ranges.
    pub(crate) offset: u64,
}

impl Transport {
    /// Opens a file, from an offset on if the server supports it.
    pub(crate) fn open(&self, address: &Address, offset: u64) -> Result<OpenedFile, FetchError> {
        let is_secure = match address.scheme() {
            Scheme::File(path) => return open_file(address, &path, offset),
            Scheme::Http => false,
            Scheme::Https => true,
        };
        let http = self.http.get_or_init(HttpClient::new);
        http.open(address, is_secure, offset).map_err(|defect| FetchError::mirror(address, defect))
    }

    /// Reads a whole file of at most `limit` bytes whose size and hash are not known. Retries as a download
    /// does.
    pub(crate) fn read(&self, address: &Address, limit: u64) -> Result<Vec<u8>, FetchError> {
        let mut retries = download::Retries::default();
        loop {
            match self.read_once(address, limit) {
                Err(error) if retries.may_retry(&error) => retries.wait(),
                result => return result,
            }
        }
    }

    fn read_once(&self, address: &Address, limit: u64) -> Result<Vec<u8>, FetchError> {
        let mut content = self.open(address, 0)?.content.take(limit.saturating_add(1));
        let (mut bytes, mut pace, mut part) = (Vec::new(), Pace::default(), vec![0; READ_BYTES]);
        loop {
            let start = Instant::now();
            let count = content.read(&mut part).map_err(|error| {
                FetchError::mirror(address, MirrorDefect::Connection { message: error.to_string() })
            })?;
            let Some(read) = part.get(..count).filter(|read| !read.is_empty()) else { break };
            bytes.extend_from_slice(read);
            let advanced = pace.advance(start.elapsed(), u64::try_from(count).unwrap_or(u64::MAX));
            advanced.map_err(|defect| FetchError::mirror(address, defect))?;
        }
        match u64::try_from(bytes.len()) {
            Ok(len) if len <= limit => Ok(bytes),
            _ => Err(FetchError::mirror(address, MirrorDefect::TooLarge { limit })),
        }
    }
}

/// Opens a file of a local mirror.
fn open_file(address: &Address, path: &Path, offset: u64) -> Result<OpenedFile, FetchError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => FetchError::mirror(address, MirrorDefect::NoFile),
        _ => FetchError::store(path, &error),
    };
    // A FIFO would block.
    if !path.metadata().map_err(failed)?.is_file() {
        return Err(FetchError::mirror(address, MirrorDefect::NoFile));
    }
    let mut file = File::open(path).map_err(failed)?;
    file.seek(SeekFrom::Start(offset)).map_err(failed)?;
    Ok(OpenedFile { content: Box::new(file), offset })
}
