//! A client of chromedriver, as far as these tests need it.

use serde_json::{Value, json};
use std::{
    env,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// A browser without a window. It ends with the value.
pub(crate) struct Browser {
    driver: Child,
    port: u16,
    session: String,
    _profile: tempfile::TempDir,
}

/// The key of an element's identity in WebDriver's JSON.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Returns the path of a program in `PATH`.
fn find_program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file())
}

impl Browser {
    /// Starts a browser. Returns `None` if chromedriver or Chromium is not installed.
    pub(crate) fn start() -> Option<Self> {
        let program = find_program("chromedriver")?;
        let browser =
            env::var_os("CORE_RELO_BROWSER").map(PathBuf::from).or_else(|| find_program("chromium"))?;
        let mut driver = Command::new(program)
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = lines
            .map(Result::unwrap)
            .find_map(|line| line.strip_suffix('.')?.split_once(" successfully on port ")?.1.parse().ok());
        let profile = tempfile::tempdir().unwrap();
        let mut started = Self { driver, port: port.unwrap(), session: String::new(), _profile: profile };
        let arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--window-size=1200,900",
        ];
        let profile = format!("--user-data-dir={}", started._profile.path().display());
        let arguments: Vec<_> = arguments.iter().map(|text| (*text).to_owned()).chain([profile]).collect();
        let options = json!({ "args": arguments, "binary": browser });
        let capabilities = json!({ "capabilities": { "alwaysMatch": { "goog:chromeOptions": options } } });
        let session = started.request("POST", "/session", &capabilities);
        started.session = session["sessionId"].as_str().unwrap().to_owned();
        Some(started)
    }

    /// Sends a request to chromedriver, and returns the value of its answer.
    fn request(&self, method: &str, path: &str, body: &Value) -> Value {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        let body = if method == "POST" { body.to_string() } else { String::new() };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all((head + &body).as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let mut len = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                len = value.trim().parse().unwrap();
            }
            if line.is_empty() {
                break;
            }
        }
        let mut content = vec![0; len];
        reader.read_exact(&mut content).unwrap();
        let answer: Value = serde_json::from_slice(&content).unwrap();
        assert!(answer["value"]["error"].is_null(), "{path}: {answer:#}");
        answer["value"].clone()
    }

    fn command(&self, method: &str, path: &str, body: &Value) -> Value {
        self.request(method, &format!("/session/{}{path}", self.session), body)
    }

    /// Opens a page.
    pub(crate) fn open(&self, address: &str) {
        self.command("POST", "/url", &json!({ "url": address }));
    }

    /// Runs a script in the page, and returns its result.
    pub(crate) fn run(&self, script: &str) -> Value {
        self.command("POST", "/execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Runs the body of an asynchronous function in the page, and returns its result.
    pub(crate) fn run_async(&self, body: &str) -> Value {
        let script = format!("const done = arguments[0]; (async () => {{ {body} }})().then(done);");
        self.command("POST", "/execute/async", &json!({ "script": script, "args": [] }))
    }

    /// Waits until an expression is true in the page.
    pub(crate) fn wait_for(&self, expression: &str) {
        let start = Instant::now();
        while self.run(&format!("return Boolean({expression});")) != true {
            let text = || self.run("return document.body.innerText;");
            assert!(start.elapsed() < Duration::from_secs(120), "{expression}: {}", text());
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Returns the identity of an element.
    fn element(&self, selector: &str) -> String {
        let found = self.command("POST", "/element", &json!({ "using": "css selector", "value": selector }));
        found[ELEMENT].as_str().unwrap().to_owned()
    }

    /// Chooses files in an input.
    pub(crate) fn choose_files(&self, selector: &str, files: &[&Path]) {
        let paths: Vec<_> = files.iter().map(|file| file.to_str().unwrap()).collect();
        let path = format!("/element/{}/value", self.element(selector));
        self.command("POST", &path, &json!({ "text": paths.join("\n") }));
    }

    /// Clicks on an element.
    pub(crate) fn click(&self, selector: &str) {
        self.command("POST", &format!("/element/{}/click", self.element(selector)), &json!({}));
    }

    /// Presses keys.
    pub(crate) fn press(&self, keys: &str) {
        let mut actions = Vec::new();
        for key in keys.chars() {
            actions.extend([
                json!({ "type": "keyDown", "value": key }),
                json!({ "type": "keyUp", "value": key }),
            ]);
        }
        let source = json!({ "type": "key", "id": "keyboard", "actions": actions });
        self.command("POST", "/actions", &json!({ "actions": [source] }));
    }

    /// Calls a function of Chromium's debugging protocol.
    pub(crate) fn debug(&self, name: &str, parameters: &Value) {
        self.command("POST", "/goog/cdp/execute", &json!({ "cmd": name, "params": parameters }));
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !thread::panicking() && !self.session.is_empty() {
            self.command("DELETE", "", &Value::Null);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
