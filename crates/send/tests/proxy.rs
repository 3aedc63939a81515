//! A server between a sender and an engine that does what networks and engines do.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use testkit::Random;

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It arrives, and so does the answer.
    Arrives,
    /// It arrives, and its answer is lost.
    AnswerLost,
    /// It arrives, and its answer ends in the middle.
    AnswerTorn,
    /// It does not arrive: this is the answer.
    Answered(&'static str),
    /// It does not arrive, and there is no answer.
    Lost,
}

/// Answers that mean: later.
const LATER: [&str; 4] = [
    "500 Internal Server Error",
    "503 Service Unavailable",
    "429 Too Many Requests\r\nRetry-After: 0",
    "404 Not Found",
];

/// A running proxy.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    ends: Arc<AtomicBool>,
    requests: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Between senders and an engine; of `outage` requests from the first on none arrives, and of the
    /// others a third has a fate that chance decides.
    pub(crate) fn start(engine: SocketAddr, seed: u64, outage: u64) -> Self {
        let mut random = Random::from_seed(seed);
        Self::with(engine, move |number| match random.below(9) {
            _ if number < outage => Fate::Answered(LATER[1]),
            0 => Fate::Answered(LATER[random.below(4) as usize]),
            1 => Fate::AnswerLost,
            2 => [Fate::AnswerTorn, Fate::Lost][random.below(2) as usize],
            _ => Fate::Arrives,
        })
    }

    /// Between senders and an engine: what happens to the request of a number is as given.
    pub(crate) fn with(
        engine: SocketAddr,
        mut fate: impl FnMut(u64) -> Fate + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (ends, requests) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (asked, count) = (ends.clone(), requests.clone());
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if asked.load(Ordering::SeqCst) {
                    return;
                }
                let number = count.fetch_add(1, Ordering::SeqCst);
                let fate = fate(number);
                // A client that was killed is no error.
                let _ = pass(stream.unwrap(), engine, fate);
            }
        });
        Proxy { address, ends, requests, thread: Some(thread) }
    }

    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        self.thread.take().unwrap().join().unwrap();
    }
}

fn pass(mut client: TcpStream, engine: SocketAddr, fate: Fate) -> std::io::Result<()> {
    let request = request(&mut client)?;
    match fate {
        Fate::Lost => return Ok(()),
        Fate::Answered(status) => {
            let answer =
                format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
            return client.write_all(answer.as_bytes());
        }
        Fate::Arrives | Fate::AnswerLost | Fate::AnswerTorn => {}
    }
    let mut server = TcpStream::connect(engine)?;
    server.write_all(&request)?;
    let mut answer = Vec::new();
    server.read_to_end(&mut answer)?;
    match fate {
        Fate::AnswerLost => Ok(()),
        Fate::AnswerTorn => client.write_all(&answer[..answer.len().min(20)]),
        _ => client.write_all(&answer),
    }
}

/// A request, whose connection the engine ends after its answer.
fn request(client: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let (mut head, mut one) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        client.read_exact(&mut one)?;
        head.push(one[0]);
    }
    let text = String::from_utf8_lossy(&head).to_ascii_lowercase();
    let length = text.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    client.read_exact(&mut body)?;
    head.truncate(head.len() - 2);
    head.extend_from_slice(b"Connection: close\r\n\r\n");
    Ok([head, body].concat())
}
