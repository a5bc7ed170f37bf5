//! A file server on this machine whose faults a test chooses.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    thread,
};

/// A fault of the server. It concerns paths that contain a text.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// Answers with a status.
    Status(u16),
    /// Closes the connection after some bytes of each answer.
    CutAfter(usize),
    /// Changes a byte of the file.
    ChangedByte(usize),
    /// Adds bytes to the file.
    Longer,
    /// Answers some times with a status, and asks for a pause.
    Busy { code: u16, seconds: u64, times: usize },
    /// Sends bytes without an end.
    Endless,
    /// Ignores ranges, and closes each connection but the last after some bytes.
    CutWithoutRanges { bytes: usize, times: usize },
}

/// The faults, with the texts in paths, and the requests so far.
#[derive(Debug, Default)]
struct State {
    faults: Vec<(String, Fault)>,
    requests: Vec<String>,
}

/// A file server.
pub(crate) struct Server {
    address: String,
    state: Arc<Mutex<State>>,
}

impl Server {
    /// Serves a directory.
    pub(crate) fn new(root: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State::default()));
        let (root, shared) = (root.to_path_buf(), Arc::clone(&state));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (root, shared) = (root.clone(), Arc::clone(&shared));
                thread::spawn(move || serve(&stream, &root, &shared));
            }
        });
        Self { address, state }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn add_fault(&self, path_part: &str, fault: Fault) {
        self.state.lock().unwrap().faults.push((path_part.to_owned(), fault));
    }

    pub(crate) fn clear_faults(&self) {
        self.state.lock().unwrap().faults.clear();
    }

    /// Takes the paths that were requested, with the offset of a range.
    pub(crate) fn take_requests(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().unwrap().requests)
    }
}

/// Answers one request, and closes the connection.
fn serve(stream: &TcpStream, root: &Path, state: &Mutex<State>) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let Some(first) = lines.next() else { return };
    let path = first.split(' ').nth(1).unwrap_or("/").replace("%2B", "+").replace("%7E", "~");
    let headers: Vec<_> = lines.take_while(|line| !line.is_empty()).collect();
    let offset = headers.iter().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let value = value.trim().strip_prefix("bytes=")?.strip_suffix('-')?;
        name.eq_ignore_ascii_case("range").then(|| value.parse::<usize>().ok())?
    });
    let fault = {
        let mut state = state.lock().unwrap();
        let request = offset.map_or_else(|| path.clone(), |offset| format!("{path} from {offset}"));
        state.requests.push(request);
        let fault = state.faults.iter_mut().find(|(part, _)| path.contains(part.as_str()));
        fault.map(|(_, fault)| {
            let now = fault.clone();
            if let Fault::CutWithoutRanges { times, .. } | Fault::Busy { times, .. } = fault {
                *times = times.saturating_sub(1);
            }
            now
        })
    };
    // The client may be gone.
    let _: std::io::Result<()> = answer(stream, &root.join(path.trim_start_matches('/')), offset, fault);
}

fn answer(
    mut stream: &TcpStream,
    path: &PathBuf,
    offset: Option<usize>,
    fault: Option<Fault>,
) -> std::io::Result<()> {
    let Ok(mut content) = fs::read(path) else {
        return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    };
    let mut offset = offset;
    let mut sent = usize::MAX;
    match fault {
        Some(Fault::Status(code)) => {
            let head = format!("HTTP/1.1 {code} x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            return stream.write_all(head.as_bytes());
        }
        Some(Fault::Busy { code, seconds, times }) if times > 0 => {
            let head = format!(
                "HTTP/1.1 {code} x\r\nRetry-After: {seconds}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            );
            return stream.write_all(head.as_bytes());
        }
        Some(Fault::Endless) => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")?;
            // The client closes the connection.
            loop {
                stream.write_all(&content)?;
            }
        }
        Some(Fault::CutAfter(bytes)) => sent = bytes,
        Some(Fault::CutWithoutRanges { bytes, times }) => {
            offset = None;
            if times > 0 {
                sent = bytes;
            }
        }
        Some(Fault::ChangedByte(at)) => content[at] ^= 1,
        Some(Fault::Longer) => content.extend(b"more"),
        Some(Fault::Busy { .. }) | None => {}
    }
    let (start, total) = (offset.unwrap_or(0).min(content.len()), content.len());
    let body = &content[start..];
    let status = match offset {
        Some(start) => {
            format!("206 Partial Content\r\nContent-Range: bytes {start}-{}/{total}", total.saturating_sub(1))
        }
        None => "200 OK".to_owned(),
    };
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    stream.write_all(head.as_bytes())?;
    stream.write_all(&body[..body.len().min(sent)])
}
